/* SPDX-License-Identifier: MIT */
/*
 * Checks that the functions for which the options ask were found. Logs what was not found, what to
 * write instead, and which functions were left out because another one is meant.
 */
#ifndef REGIONS_REGION_CHECK_H
#define REGIONS_REGION_CHECK_H

#include "daemon/base/exit_status.h"
#include "daemon/regions/region_choice.h"
#include "daemon/regions/region_find.h"
#include "daemon/regions/region_spec.h"
#include "daemon/worker/worker.h"

/* A file that was searched for functions. */
struct known_file {
	const struct elf_file *elf; /* borrowed; it lives as long as the objects */
	const char *path;	    /* borrowed */
	uint64_t dev, inode; /* of the file when it was searched; since then, `elf` may have been
			      * reopened from another file */
	uint64_t identity;   /* elf_file_identity() */
	enum region_file kind;
	const struct runtime *runtime; /* NULL: none */
	bool has_symbols, starts_others;
};

struct region_check { /* all borrowed */
	const struct region_spec *specs;
	size_t n_specs;
	struct found_regions *found; /* functions that are not meant get is_left_out */
	const struct known_file *files;
	size_t n_files;
	struct worker *worker; /* searches for inlined functions */
	bool is_command;       /* the target is a command, which may start programs later */
	bool (*was_entered)(void *arg, size_t index); /* whether the function at an index in `found`
						       * was entered */
	void *arg;
};

/* Checks before the target starts, and sets is_left_out. Logs what is wrong; returns the status to
 * exit with. If a function may be in a program that the command will start, only warns. */
enum exit_status region_check_first(const struct region_check *check);

/* Checks again after more files were searched, whose functions begin at index `before` of `found`.
 * May set is_left_out of a function that is measured already, from which the caller then detaches.
 * 0 or -ENOMEM. */
int region_check_again(const struct region_check *check, size_t before);

/* Checks at the end. If the target was a command, a function that was in no file is an error. Logs
 * what is wrong; returns the status to exit with. */
enum exit_status region_check_last(const struct region_check *check);

#endif
