/* SPDX-License-Identifier: MIT */
/*
 * Names for a recording that has not all of its own: one that is still being recorded, or was cut
 * off. Its reader finds them on this machine (late_objects.h) and adds them to its tables, within a
 * budget of time; the store is not written. What has no name, or was not reached in time, is
 * grouped by function through the file's unwind information.
 *
 * Names that were found are kept, so that the next look at the recording begins where the last one
 * ended.
 */
#ifndef SYM_READER_NAMES_H
#define SYM_READER_NAMES_H

#include <stdint.h>

#include "store/store_reader.h"

struct reader_names;

struct reader_names_options {
	const char *proc_root, *sys_root; /* "/proc" and "/sys" but for tests */
	uint64_t (*now_ns)(void *arg);	  /* the clock of the budget */
	void *now_arg;
};

/* The options are copied; the strings in them are borrowed until reader_names_free(). Returns 0 or
 * -ENOMEM. */
int reader_names_new(const struct reader_names_options *options, struct reader_names **ret_names);

/* After the readers that were given names: it has their strings. NULL is fine. */
void reader_names_free(struct reader_names *names);

/* Finds names for locations of an opened recording, as far as about `budget_ns` go: the tables of
 * one file more may be read than there was time for. A finished recording is left as it is: those
 * who could know its names were asked when it ended. 0 or -ENOMEM. */
int reader_names_find(struct reader_names *names, struct store_reader *reader, uint64_t budget_ns);

/* The locations that the last look had no time for. */
uint32_t reader_names_left(const struct reader_names *names);

#endif
