/* SPDX-License-Identifier: MIT */
/*
 * Ranges of recordings: those with numbers in a range, or those within a span of wall-clock time,
 * such as the windows of a long run. Recordings that are added up must count the same event.
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

/* At most so many windows (recordings) after a range are searched for records that began in it. */
#define STORE_RANGE_LATER 24

struct store_range_choice {
	/* numbers of recordings, in order of their start by the wall clock; the caller frees them
	 */
	int64_t *ids;
	size_t n;
	/* If the range has limits of time: the windows of the same run that come after the last of
	 * `ids`, in order. They may have the record of a wait or a pass that began in the range. */
	int64_t later[STORE_RANGE_LATER];
	size_t n_later;
	bool has_more_later; /* there are more such windows than `later` has */
	size_t left_out;
};

/* Chooses those of the recordings `all`, which are in order of their numbers, that are in a range.
 * With limits of time, a recording of another target, host or event than the newest in the range is
 * left out, and counted. Returns 0; -ENOMEM; -ENODATA: no recording is in the range; -EXDEV: the
 * range has numbers only, and its recordings count different events. */
int store_range_choose(const struct store_range *range, const struct store_recording *all, size_t n,
		       struct store_range_choice *ret_choice);

/* Returns a malloc()ed sentence for the user about an error of store_range_choose(), with the
 * remedy; NULL if memory is short. */
char *store_range_sentence(const struct store_range *range, const char *path,
			   const struct store_recording *all, size_t n, int err);

#endif
