/* SPDX-License-Identifier: MIT */
/*
 * Ranges of recordings: those of a span of numbers, or of a span of time by the wall clock, such as
 * the windows of a long run. Recordings that are added up must count the same event.
 */
#ifndef STORE_STORE_RANGE_H
#define STORE_STORE_RANGE_H

#include "store/store.h"

/* A zeroed range selects all recordings. */
struct store_range {
	int64_t first, last;   /* least and largest number; 0: no limit */
	uint64_t from_unix_ns; /* selects samples from this time on; 0: from the start */
	uint64_t to_unix_ns;   /* selects samples before this time; 0: to the end */
};

/* Returns the wall clock's time of a recording's end, or of its last commit. */
uint64_t store_range_end(const struct store_recording *recording);

/* At most so many windows after a range are searched for records that began in it. */
#define STORE_RANGE_LATER 24

struct store_range_choice {
	/* numbers of recordings, in order of their start by the wall clock; the caller frees them
	 */
	int64_t *ids;
	size_t n;
	/* If the range has limits of time: the windows of the same run after the last of `ids`, in
	 * order. A wait or a pass that ended in one of them may have begun in the range. */
	int64_t later[STORE_RANGE_LATER];
	size_t n_later;
	bool has_more_later; /* there are more such windows than `later` has */
	size_t left_out;
};

/* Chooses recordings of `all`, which are in order of their numbers. With limits of time, recordings
 * of another target, host or event than the newest in the range are left out, and counted. 0;
 * -ENOMEM; -ENODATA: none is in the range; -EXDEV: numbers alone were given, and their recordings
 * count different events. */
int store_range_choose(const struct store_range *range, const struct store_recording *all, size_t n,
		       struct store_range_choice *ret_choice);

/* Returns a malloc()ed sentence for the user about an error of store_range_choose(), with the
 * remedy, or NULL without memory. */
char *store_range_sentence(const struct store_range *range, const char *path,
			   const struct store_recording *all, size_t n, int err);

#endif
