/* SPDX-License-Identifier: MIT */
/*
 * Makes rows of the kinds of computing bursts (folding/bursts.h, fold_math/kinds.h): how many
 * bursts a kind has, how long they take, and what threads do in them.
 *
 * Kinds are found among all bursts of the selected threads, at any time, so a kind has the same
 * number in every range. In a range of time, part_ns adds up the parts of bursts that are in the
 * range; but a burst is counted, with its whole duration, only in the range in which it ended. So
 * the figures of all ranges add up to those of the whole recording.
 *
 * Bursts are compared by CPU time if the recording has a counter of it, so that a burst keeps its
 * kind when another program has the CPU for a while; else by wall time.
 */
#ifndef FOLDING_BURST_ROWS_H
#define FOLDING_BURST_ROWS_H

#include "fold_math/kinds.h"
#include "folding/bursts.h"
#include "report/report.h"

/* The amounts of a counter in bursts. */
struct burst_amount {
	uint64_t known; /* bursts whose amount is known; `sum` and `ns` are over these */
	double sum, ns; /* sum of the amounts; sum of these bursts' wall times */
};

struct burst_figures {
	uint64_t bursts; /* bursts that ended in the range */
	/* number of bursts whose time is known: CPU time if burst_rows.is_cpu_time, else wall time.
	 * mean_ns, deviation and squares are over these bursts */
	uint64_t timed;
	double mean_ns;
	double deviation;	    /* the standard deviation of their time */
	double squares;		    /* the sum of squares from which `deviation` is computed */
	uint64_t least_ns, most_ns; /* wall time, of all bursts that ended in the range */
	struct burst_amount amounts[METRIC_COUNTERS];
	uint64_t part_ns;	/* wall time of all bursts in the range */
	uint64_t samples;	/* samples in the time `part_ns` */
	double sampled_ns;	/* the time that these samples stand for */
	double sampled_squares; /* the sum of the squares of each sample's time */
};

struct burst_row {
	uint32_t kind, part; /* kind FOLD_NOISE: the bursts of no kind */
	struct burst_figures figures;
	uint32_t before, after; /* calls before and after the bursts: indices of bursts.calls */
	/* The longest path from the root, up to the first kernel function, that at least half of
	 * the row's samples share: burst_rows.symbols[first .. first + depth). Its first `shared`
	 * functions are also callers of the MPI calls before and after the burst. `of_path` samples
	 * have the path. */
	size_t first;
	uint32_t depth, shared;
	uint64_t of_path;
};

struct burst_rows {
	struct bursts bursts;
	struct fold_kinds *kinds;
	struct partition partition;
	bool is_cpu_time;	    /* Bursts are compared by CPU time, else by wall time. */
	VEC(struct burst_row) rows; /* by part, largest first, noise last */
	VEC(const struct profile_symbol *) symbols;
	uint64_t *part_ns; /* by part: wall time of all bursts in the range */
};

/* Finds the kinds, and makes their rows in each part of a profile of METRIC_CPU. The profile must
 * outlive the rows. Returns 0, -ENODATA if there is no burst, -ENOMEM, or an error of
 * store_reader_records(). The caller frees the rows in any case. */
int burst_rows_make(struct profile *profile, enum partition_by by, struct burst_rows *ret_rows);
void burst_rows_free(struct burst_rows *rows);

/* Returns the share of the bursts' time in which their threads were on a CPU; negative: unknown.
 * *ret_error receives its standard error (0 if CPU time was read by a counter). */
double burst_rows_on_cpu(const struct profile *profile, const struct burst_rows *rows,
			 const struct burst_row *row, double *ret_error);

/* Returns a title for the bursts of a kind, which the caller frees: "bursts of kind 2 of 7,
 * MPI_Recv > MPI_Send"; without the calls if no burst of the kind is in the range. NULL: memory is
 * short. */
char *burst_rows_name(struct profile *profile, const struct burst_rows *rows, uint32_t kind);

/* Write the rows as text with the header of reports, or as JSON (docs/JSON.md). Return 0, -ENOMEM,
 * or -EIO if the stream failed. */
int burst_view_text(struct profile *profile, const struct burst_rows *rows,
		    const struct report_options *options, FILE *out);
int burst_view_json(struct profile *profile, const struct burst_rows *rows, FILE *out);

#endif
