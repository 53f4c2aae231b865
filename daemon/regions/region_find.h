/* SPDX-License-Identifier: MIT */
/* Finds the functions of a file that match a specification. */
#ifndef REGIONS_REGION_FIND_H
#define REGIONS_REGION_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "daemon/regions/function_exits.h"
#include "daemon/regions/file_traits.h"
#include "daemon/regions/region_spec.h"
#include "elf/elf_file.h"
#include "runtime/runtime.h"
#include "sym/debug_file.h"

/* A function that matches. */
struct found_region {
	char *name;	 /* readable; owned */
	char *linked;	 /* linkage name; owned */
	char *source;	 /* of a local function: the name of its source file; else NULL; owned */
	uint64_t offset; /* file offset */
	struct function_exits exits;
	VEC(struct code_part) parts;
	struct stackd_mpi_call mpi;	   /* how to read the arguments, if it is a function of
					    * MPI */
	struct stackd_mpi_library library; /* of a function of MPI: its library */
	bool is_weak;			   /* its symbol is weak */
	bool is_like;			   /* REGION_LIKE */
	bool is_left_out; /* the specification means another function (region_choice.h);
			   * region_find() does not set this */
	bool is_once;	/* it is a function of MPI: a pass through it within a pass through another
			 * one is not counted by itself */
	int error;	/* why its exits are not known; 0: they are */
	uint64_t place; /* bits of its entry's cookie; set by the caller */
	size_t spec;	/* index */
	size_t file;	/* index; set by the caller */
};

struct found_regions {
	VEC(struct found_region) found; /* by offset within a file, each once */
	const struct runtime *runtime;	/* the runtime of the last file, if it is a program of one
					 * (Go); NULL: none */
	bool has_symbols;		/* the last file has symbols */
	struct file_traits traits;	/* traits of the last file */
	unsigned n_libraries;		/* files with functions of MPI */
};

/* Adds the functions of a file that match any of the specifications to *found, each once, even if
 * several symbols have its address. `path` is the file's name, `debug` finds its debug file. 0;
 * -E2BIG: more than STACKD_MOST_REGIONS; -ENOMEM. The caller frees. */
int region_find(const struct region_spec *specs, size_t n_specs, const struct elf_file *file,
		const char *path, const struct debug_source *debug, struct found_regions *found);

/* Returns whether the specifications ask for functions of a file with that path. */
bool region_find_wants(const struct region_spec *specs, size_t n_specs, const char *path);

void found_regions_free(struct found_regions *found); /* empties it */

#endif
