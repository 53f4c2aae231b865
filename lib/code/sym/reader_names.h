/* SPDX-License-Identifier: MIT */
/*
 * Finds names for a recording that lacks some, because it is still being made, was cut off (kill
 * -9), or had no time for all names at its end. The program that reads it finds them on this
 * machine (reader_objects.h) and adds them to its copy of the tables, within a budget of time; the
 * store is not written. Locations without a name, or beyond the budget, get only the start of their
 * function, from the file's unwind information.
 *
 * Names that were found are kept, so the next call for the recording continues where the last one
 * ended.
 */
#ifndef SYM_READER_NAMES_H
#define SYM_READER_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "store/store_reader.h"

struct reader_names;

struct reader_names_options {
	const char *proc_root, *sys_root; /* "/proc" and "/sys" except in tests */
	uint64_t (*now_ns)(void *arg);	  /* the clock of the budget */
	void *now_arg;
	/* Reads files of any size, and asks debuginfod, if DEBUGINFOD_URLS is set. */
	bool is_thorough;
};

/* The options are copied; the strings in them are borrowed until reader_names_free(). Returns 0 or
 * -ENOMEM. */
int reader_names_new(const struct reader_names_options *options, struct reader_names **ret_names);

/* Frees the names. Readers that got names refer to their strings, so free those readers before.
 * NULL is fine. */
void reader_names_free(struct reader_names *names);

/* Returns whether all names that could be found for a recording were looked for when it was made.
 */
bool reader_names_are_all(const struct store_tables *tables);

/* Finds names for locations of an opened recording, within about `budget_ns`; it always finishes
 * reading the tables of a file that it has begun. It does not change a recording of which
 * reader_names_are_all(). Returns 0 or -ENOMEM. */
int reader_names_find(struct reader_names *names, struct store_reader *reader, uint64_t budget_ns);

/* Returns the number of locations for which the last call had no time. */
uint32_t reader_names_left(const struct reader_names *names);

#endif
