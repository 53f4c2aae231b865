/* SPDX-License-Identifier: MIT */
/*
 * The kinds of computing bursts (folding/bursts.h, fold/kinds.h) as rows: how many each has, how
 * long they take, and what threads do in them.
 *
 * Kinds are those of all bursts of the threads that are selected, at any time, so a kind has the
 * same number in every range. In a range, times are the parts that lie there; a burst is counted,
 * with its whole duration, in the range that it ended in. So the figures of ranges add up to those
 * of the whole recording.
 *
 * The length of bursts is compared in CPU time where that was read: a burst stays of its kind if
 * another program has the CPU for a while. Else it is compared in wall time.
 */
#ifndef FOLDING_BURST_ROWS_H
#define FOLDING_BURST_ROWS_H

#include "fold/kinds.h"
#include "folding/bursts.h"
#include "report/report.h"

/* What bursts have of a counter. */
struct burst_amount {
	uint64_t known; /* bursts whose amount is known; of these are: */
	double sum, ns; /* the sum of their amounts, and of their wall times */
};

struct burst_figures {
	uint64_t bursts; /* that ended in the range */
	uint64_t timed;	 /* those of them whose time is known, as the kinds have it: in CPU time
			  * if burst_rows.is_cpu_time, else in wall time. Of these are: */
	double mean_ns;
	double deviation;	    /* the standard deviation of their time, */
	double squares;		    /* from this sum of squares */
	uint64_t least_ns, most_ns; /* wall time, of all that ended in the range */
	struct burst_amount amounts[METRIC_COUNTERS];
	uint64_t part_ns;	/* wall time of all bursts in the range */
	uint64_t samples;	/* in that time */
	double sampled_ns;	/* the time that these samples stand for */
	double sampled_squares; /* the sum of its squares, each sample's by itself */
};

struct burst_row {
	uint32_t kind, part; /* a kind of FOLD_NOISE: bursts of no kind */
	struct burst_figures figures;
	uint32_t before, after; /* indexes of bursts.calls */
	/* The longest path from the root, outside of the kernel, that at least half of its samples
	 * have: `depth` functions of burst_rows.symbols from `first` on; the first `shared` ones
	 * are callers of both calls, too. `of_path` samples have it. */
	size_t first;
	uint32_t depth, shared;
	uint64_t of_path;
};

struct burst_rows {
	struct bursts bursts;
	struct fold_kinds *kinds;
	struct partition partition;
	bool is_cpu_time;	    /* bursts are compared in CPU time, not in wall time */
	VEC(struct burst_row) rows; /* by part, largest first, noise last */
	VEC(const struct profile_symbol *) symbols;
	uint64_t *part_ns; /* by part: the wall time of all of its bursts in the range */
};

/* Finds the kinds, and makes their rows in each part of a profile of METRIC_CPU. The profile must
 * outlive them. 0; -ENODATA: there is no burst; -ENOMEM, or an error of store_reader_records(). The
 * caller frees in any case. */
int burst_rows_make(struct profile *profile, enum partition_by by, struct burst_rows *ret_rows);
void burst_rows_free(struct burst_rows *rows);

/* Returns the share of its bursts' time in which a row's threads were on a CPU, and in *ret_error
 * its standard error (0: CPU time was read). Negative: the share is not known. */
double burst_rows_on_cpu(const struct profile *profile, const struct burst_rows *rows,
			 const struct burst_row *row, double *ret_error);

/* Returns what the bursts of a kind are called: "bursts of kind 2 of 7, MPI_Recv > MPI_Send",
 * without the calls if none is in the range; for free(). NULL without memory. */
char *burst_rows_name(struct profile *profile, const struct burst_rows *rows, uint32_t kind);

/* Write the rows as text with the header of reports, or as JSON (docs/JSON.md). 0, -ENOMEM, or -EIO
 * if the stream failed. */
int burst_view_text(struct profile *profile, const struct burst_rows *rows,
		    const struct report_options *options, FILE *out);
int burst_view_json(struct profile *profile, const struct burst_rows *rows, FILE *out);

#endif
