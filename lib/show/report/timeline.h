/* SPDX-License-Identifier: MIT */
/*
 * The timeline of a recording's threads: in which routines they were, and when. It shows the
 * representative routines of Servat et al. (2016); see model/frame_runs.h.
 *
 *   time ─►   main ────────────────────────────────────────
 *             main > adi ──────────────────────────────────       rows: nested runs
 *             adi > compute_rhs ───  adi > x_solve ───────
 *
 * A run is a time of at least the threshold in which every sample of a thread has one routine at
 * one depth. A run ends where the thread leaves the CPU, or where it has no sample for longer than
 * can happen by chance (some times the usual distance between samples). Of nested runs that cover
 * the same time only the innermost is kept, and its label names two of the callers. Paths are the
 * profile's, completed where that was possible.
 *
 * For a metric other than samples, runs consist of the metric's records, and a run also has the sum
 * of their values. A record that covers a time, such as a wait or a pass through a region, can be a
 * run by itself if it is long enough.
 */
#ifndef REPORT_TIMELINE_H
#define REPORT_TIMELINE_H

#include "report/report.h"

struct timeline_options {
	uint64_t samples; /* A run has at least so many samples. */
	/* the shortest run; if both are 0: a 200th of the recording */
	uint64_t duration_ns;
};

struct timeline_run {
	const struct profile_symbol *symbol;
	const struct profile_symbol *parent, *grandparent; /* or NULL */
	const char *file; /* of the line that was sampled most, or NULL */
	uint32_t line;
	uint32_t row;		   /* number of kept runs around it */
	uint64_t start_ns, end_ns; /* since the recording's start */
	uint64_t samples;	   /* or records of another metric */
	uint64_t amount;	   /* sum of their values */
	uint64_t inferred;	   /* of `samples`, those in which this routine is inferred */
	/* These are used while the timeline is made. */
	uint32_t depth;
	/* index of the first part of a record in the run, among those of the thread, and number of
	 * parts */
	uint64_t first, items;
};

struct timeline_thread {
	uint32_t thread; /* number in the store's tables */
	uint32_t rows;
	uint64_t samples, amount;
	uint64_t start_ns, end_ns;
	struct timeline_run *runs; /* by start, then row */
	size_t n_runs;
};

struct timeline {
	struct timeline_options options; /* with the threshold that was used */
	enum metric metric;
	uint64_t start_ns, end_ns;
	struct timeline_thread *threads; /* most samples first */
	size_t n_threads;
};

/* Makes the timeline of the samples, or records, that the profile's filter selects. The metric must
 * not be a state at a moment, such as heap.live (those with metric_info.less). The profile must
 * outlive it. Returns 0, -ENOMEM, or an error of profile_records(). */
int timeline_new(struct profile *profile, const struct timeline_options *options,
		 struct timeline **ret_timeline);
void timeline_free(struct timeline *timeline); /* NULL is allowed */

struct buf;

/* Appends the label of a run, escaped for display: "X > Y > Z [file.c:12]". */
void timeline_label(struct buf *b, const struct timeline_run *run);

/* Returns whether the sum of the records' values tells more than the number of records. */
bool timeline_has_amounts(const struct timeline *timeline);

/* Appends the number of records and, if timeline_has_amounts(), the sum of their values: "12
 * samples", "3 instances, 1.500 ms". */
void timeline_amount(struct buf *b, const struct timeline *timeline, uint64_t samples,
		     uint64_t amount);

/* Appends the threshold: "routines that a thread was in for at least 20.0 ms". */
void timeline_threshold(struct buf *b, const struct timeline *timeline);

/* Writes the timeline as text, with the report's header. Returns 0, -ENOMEM, or -EIO if the stream
 * failed. */
int timeline_write_text(const struct timeline *timeline, struct profile *profile,
			const struct report_options *options, FILE *out);

/* Writes the timeline as an SVG picture. Returns as timeline_write_text() does. */
int timeline_write_svg(const struct timeline *timeline, struct profile *profile, FILE *out);

#endif
