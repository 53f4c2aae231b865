/* SPDX-License-Identifier: MIT */
/*
 * Alignment held against the truth: a recording's whole paths are cut, aligned, and compared with
 * what they were.
 *
 * All are cut to their top frames, but for the anchors that stackd --depth walks whole; or a share
 * of them, at random, as walks fail. A frame is right if it is the same place in code.
 */
#ifndef REPORT_COMPARE_H
#define REPORT_COMPARE_H

#include "report/report.h"

struct compare_options {
	uint32_t frames;  /* that are left: the function that was hit and its callers; at least 1 */
	uint32_t percent; /* of the samples that are cut: 1 to 100 */
	bool no_anchors;  /* with 100 percent: cut these as well */
	bool no_heights;  /* go by routines alone */
};

struct compare_routine {
	const struct profile_symbol *symbol;
	uint64_t truth;	  /* samples with it anywhere in their path */
	uint64_t aligned; /* the same of the aligned ones */
	uint64_t self;	  /* samples that hit in it */
};

struct compare {
	struct compare_options options;
	uint64_t samples; /* with whole paths: those that are compared */
	uint64_t cut;
	uint64_t aligned;  /* of the cut ones: got a frame */
	uint64_t complete; /* of all: with what was inferred, begin at the entry */
	uint64_t right;	   /* of the cut ones: have exactly their true path */
	uint64_t wrong;	   /* of the cut ones: have a frame that is not theirs, or a false end */
	uint64_t inferred; /* frames */
	uint64_t wrong_frames;	 /* of these */
	uint64_t wrong_routines; /* of these: not even the routine is right */
	double align_seconds;
	struct compare_routine *routines; /* most time first */
	size_t n_routines;
	struct names *names; /* what the symbols live in */
};

/* The profile's filter holds. 0; -ENODATA: no whole path is longer than that; -ENOMEM, or what
 * store_reader_samples() says. */
int compare_new(struct profile *profile, const struct compare_options *options,
		struct compare **ret_compare);
void compare_free(struct compare *compare);

/* With the recording's header. 0, -ENOMEM, -EIO. `routines`: how many rows. */
int compare_write_text(const struct compare *compare, struct profile *profile,
		       const struct report_options *options, size_t routines, FILE *out);
int compare_write_json(const struct compare *compare, struct profile *profile, FILE *out);

#endif
