/* SPDX-License-Identifier: MIT */
/*
 * Measures alignment against the truth: cuts a recording's complete paths, aligns them, and
 * compares the result with the original paths.
 *
 * Paths are cut to their top frames. Either all paths are cut, except for anchors, the samples that
 * `stackd --depth` would walk to the thread's entry; or a random share of them, as if walks had
 * failed. An inferred frame is right if it has the location of the original one.
 */
#ifndef REPORT_ALIGN_ACCURACY_H
#define REPORT_ALIGN_ACCURACY_H

#include "report/report.h"

struct align_accuracy_options {
	/* frames that a cut path keeps, at least 1: the function that was hit and its nearest
	 * callers */
	uint32_t frames;
	uint32_t percent; /* share of the samples that are cut: 1 to 100 */
	bool no_anchors;  /* With 100 percent: cuts the anchors as well. */
	bool no_heights;  /* Aligns by routines alone. */
};

struct align_accuracy_routine {
	const struct profile_symbol *symbol;
	uint64_t truth;	  /* samples that have it anywhere in their original path */
	uint64_t aligned; /* samples that have it anywhere in their aligned path */
	uint64_t self;	  /* samples that hit in it */
};

struct align_accuracy {
	struct align_accuracy_options options;
	uint64_t samples; /* samples that have complete paths, which are compared */
	uint64_t cut;	  /* of `samples`, those whose paths are cut */
	uint64_t aligned; /* of `cut`, those for which at least one frame was inferred */
	/* of `samples`, those whose paths begin at the thread's entry once they are aligned */
	uint64_t complete;
	uint64_t right;		 /* of `cut`, those that have exactly their original path again */
	uint64_t wrong;		 /* of `cut`, those with a wrong frame or a wrong entry */
	uint64_t inferred;	 /* inferred frames */
	uint64_t wrong_frames;	 /* inferred frames at a wrong location */
	uint64_t wrong_routines; /* of `wrong_frames`, those in a wrong routine */
	double align_seconds;
	struct align_accuracy_routine *routines; /* most time first */
	size_t n_routines;
	struct names *names; /* owns the symbols */
};

/* Cuts, aligns and compares the samples that the profile's filter selects. Returns 0; -ENODATA: no
 * complete path has more than options->frames frames, so that none could be cut; -ENOMEM; or an
 * error of store_reader_samples(). */
int align_accuracy_new(struct profile *profile, const struct align_accuracy_options *options,
		       struct align_accuracy **ret_compare);
void align_accuracy_free(struct align_accuracy *compare); /* NULL is allowed */

/* Writes the report's header, the counts and the first `routines` routines as text. Returns 0,
 * -ENOMEM, or -EIO if the stream failed. */
int align_accuracy_write_text(const struct align_accuracy *compare, struct profile *profile,
			      const struct report_options *options, size_t routines, FILE *out);

/* Writes everything as one JSON object; docs/JSON.md has its members. Returns as
 * align_accuracy_write_text() does. */
int align_accuracy_write_json(const struct align_accuracy *compare, struct profile *profile,
			      FILE *out);

#endif
