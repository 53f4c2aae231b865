/* SPDX-License-Identifier: MIT */
/*
 * Folding shows what happens within one pass through a region, from the few samples of each of many
 * passes (Servat et al., "Bio-inspired call-stack reconstruction for performance analysis", 2016,
 * section 4). The samples of all passes are put on one normalised time axis, from 0 (the pass
 * begins) to 1 (it ends). There they show how counters grow (fold_math/curve.h), and which routines
 * run when.
 *
 * The routine of a sample is the function at a certain depth below the region. The depth is the
 * same for all samples: the least one at which no single function has nearly all samples.
 */
#ifndef FOLDING_FOLDING_H
#define FOLDING_FOLDING_H

#include "fold_math/curve.h"
#include "fold_math/modes.h"
#include "fold_math/uniform.h"
#include "folding/passes.h"
#include "report/report.h"

#define FOLDING_COLUMNS	 100u /* columns of the time axis, for routines */
#define FOLDING_ROUTINES 12u  /* routines with a row of their own; all others share one */

/* lines that are shown: as many as fit on a page */
#define FOLDING_LINES	     40u
#define FOLDING_LINE_COLUMNS 500u /* columns for lines: two pixels of a wide page each */

enum folding_time {
	FOLDING_BEST, /* CPU time if the recording has a counter of it, else wall time */
	FOLDING_CPU,
	FOLDING_WALL,
};

struct folding_options {
	enum folding_time time;
	uint64_t seed; /* seed of the resampling for bands */
};

/* The course of a counter. */
struct folding_counter {
	const char *name;	  /* owned by the passes */
	struct fold_curve *curve; /* NULL: see `error` */
	/* why there is no curve: an error of fold_curve_fit(); -ENODATA: too few points */
	int error;
	uint64_t passes;   /* passes with a known total */
	double mean;	   /* mean total of a pass */
	double per_second; /* counts per second of the axis that correspond to a rate of 1 */
	/* For a multiplexed counter (fold_math/increments.h): number of its increments; number of
	 * whole increments if the curve is made of these only, else 0. */
	size_t increments, whole;
};

struct folding_routine {
	const struct profile_symbol *symbol;
	uint64_t samples;
	uint64_t columns[FOLDING_COLUMNS];
};

/* A function in a path below the region, and the line there. */
struct folding_frame {
	const struct profile_symbol *symbol;
	const char *file; /* or NULL */
	uint32_t line;
};

/* A source line with its samples. A sample's line is that of its innermost frame that has one. */
struct folding_line {
	/* the function of the innermost frame that has a line */
	const struct profile_symbol *symbol;
	const char *file;
	uint32_t line;
	uint64_t samples;
	uint64_t columns[FOLDING_LINE_COLUMNS];
};

/* A phase of the first counter. Its path is the longest one, from the region on, that at least half
 * of the phase's samples share. */
struct folding_phase {
	struct fold_phase phase;
	/* samples in the phase; of these, samples with the path */
	uint64_t samples, of_path;
	const struct folding_frame *path;
	uint32_t depth;
	/* source file of the line that was sampled most in the path's last function, or NULL */
	const char *file;
	uint32_t line;
};

struct folding {
	struct passes passes;
	bool is_cpu_time; /* The axis is CPU time, not wall time. */
	double mean_ns;	  /* mean length of a pass on the axis */
	double mean_wall_ns;
	uint64_t samples;	     /* samples with a place on the axis */
	struct fold_uniform uniform; /* whether these samples are spread evenly over the axis */
	struct folding_counter counters[METRIC_COUNTERS];
	unsigned n_counters;
	struct folding_routine routines[FOLDING_ROUTINES + 1]; /* most samples first; others last */
	unsigned n_routines;
	struct folding_line *lines; /* the lines with most samples, most first */
	uint32_t n_lines;
	uint32_t lines_left;	      /* number of lines that are not shown */
	uint64_t in_lines_left;	      /* samples of these lines */
	uint64_t without_line;	      /* samples without a line */
	struct folding_phase *phases; /* of counters[0], if it has a curve */
	uint32_t n_phases;
	/* Used while the folding is made, and by the phases' paths. */
	/* by sample: its place on the axis; NAN: it has none */
	double *x;
	struct folding_frame *frames;
};

/* Folds passes, and takes ownership of them in any case. The profile must outlive the result.
 * Returns 0; -ENODATA: no pass has a sample; -ENOTSUP: CPU time is asked for, and the recording has
 * no counter of it; -ENOMEM. */
int folding_new(struct profile *profile, struct passes *passes,
		const struct folding_options *options, struct folding **ret_folding);
void folding_free(struct folding *folding); /* NULL is allowed */

/* Returns the word for the passes: "passes" or "bursts". */
const char *folding_unit(const struct folding *folding);

/* Groups passes by their length on the axis, their totals of counters and their callers, so that
 * passes of different kinds can be folded separately; see fold_math/modes.h. Returns 0; -ENODATA:
 * there are no passes; -ENOMEM. */
int folding_groups(const struct passes *passes, enum folding_time time,
		   struct fold_modes **ret_groups);

/* Write a folding: as text with sparklines (without the header of reports), as CSV, as an SVG
 * picture, and as a script for gnuplot 5 that contains its data. Return 0, -ENOMEM, or -EIO if the
 * stream failed. */
int folding_write_text(const struct folding *folding, const struct report_options *options,
		       FILE *out);
int folding_write_csv(const struct folding *folding, FILE *out);
int folding_write_svg(const struct folding *folding, FILE *out);
int folding_write_gnuplot(const struct folding *folding, FILE *out);

#endif
