/* SPDX-License-Identifier: MIT */
/*
 * The chronology of a recording's threads: which routines were at work from when to when, after
 * the representative routines of Servat et al. (2016); see model/frame_runs.h.
 *
 *   time ─►   main ────────────────────────────────────────
 *             main > adi ──────────────────────────────────       rows: what is inside what
 *             adi > compute_rhs ───  adi > x_solve ───────
 *
 * A run stands for a routine that a thread was in, sample after sample, for at least the threshold.
 * Of runs that take up one and the same time only the innermost is kept: its label names two of
 * the callers. A sample's path is as the profile has it: completed where that was possible.
 */
#ifndef REPORT_TIMELINE_H
#define REPORT_TIMELINE_H

#include "report/report.h"

struct timeline_options {
	uint64_t samples;     /* a run has at least so many, */
	uint64_t duration_ns; /* and lasts at least so long; 0: a 200th of the recording */
};

struct timeline_run {
	const struct profile_symbol *symbol;
	const struct profile_symbol *parent, *grandparent; /* or NULL */
	const char *file; /* of the line that was seen most; or NULL */
	uint32_t line;
	uint32_t row;		   /* from 0: how many kept runs it lies in */
	uint64_t start_ns, end_ns; /* since the recording's start */
	uint64_t samples;
	uint64_t inferred; /* of them: in which this routine is inferred */
	/* Used while it is made: */
	uint32_t depth;
	uint64_t first;
};

struct timeline_thread {
	uint32_t thread; /* number in the store's tables */
	uint32_t rows;
	uint64_t samples;
	uint64_t start_ns, end_ns;
	struct timeline_run *runs; /* by start, then row */
	size_t n_runs;
};

struct timeline {
	struct timeline_options options; /* with the threshold that was taken */
	uint64_t start_ns, end_ns;
	struct timeline_thread *threads; /* most samples first */
	size_t n_threads;
};

/* 0, -ENOMEM, or what store_reader_samples() says. The profile must outlive it. */
int timeline_new(struct profile *profile, const struct timeline_options *options,
		 struct timeline **ret_timeline);
void timeline_free(struct timeline *timeline);

/* "X > Y > Z [file.c:12]", escaped. */
struct buf;
void timeline_label(struct buf *b, const struct timeline_run *run);

/* "routines that a thread was in for at least 20.0 ms" */
void timeline_threshold(struct buf *b, const struct timeline *timeline);

/* Each 0, -ENOMEM, -EIO. */
int timeline_write_text(const struct timeline *timeline, struct profile *profile,
			const struct report_options *options, FILE *out);
int timeline_write_svg(const struct timeline *timeline, struct profile *profile, FILE *out);

#endif
