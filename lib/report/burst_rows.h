/* SPDX-License-Identifier: MIT */
/*
 * The kinds of computing bursts (model/bursts.h, fold/kinds.h) as rows: how many each has, how long
 * they take, and what threads do in them.
 *
 * Kinds are those of all bursts of the threads that are selected, at any time, so a kind has the
 * same number in every range. In a range, times are the parts that lie there; a burst is counted,
 * with its whole duration, in the range that it ended in. So what ranges have adds up to what all
 * of the recording has.
 *
 * How long bursts are compared as: in CPU time where it was read, since another program that has
 * the CPU for a while makes no other kind of them, else in wall time.
 */
#ifndef REPORT_BURST_ROWS_H
#define REPORT_BURST_ROWS_H

#include "fold/kinds.h"
#include "model/bursts.h"
#include "report/report.h"

/* What bursts have of a counter. */
struct burst_amount {
	uint64_t known; /* bursts of which that is known */
	double sum, ns; /* of them; their wall time */
};

struct burst_figures {
	uint64_t bursts;  /* that ended in the range; of these are */
	uint64_t timed;	  /* of these, those whose time is known; the rest is of them: */
	double mean_ns;	  /* of their wall time, and */
	double deviation; /* of CPU time if the kinds are of that; its standard deviation, */
	double squares;	  /* from a sum of squares */
	uint64_t least_ns, most_ns;
	struct burst_amount amounts[METRIC_COUNTERS];
	uint64_t part_ns;  /* in the range, of all */
	uint64_t samples;  /* in these, */
	double sampled_ns; /* and what they stand for */
};

struct burst_row {
	uint32_t kind, part; /* FOLD_NOISE: of none */
	struct burst_figures figures;
	uint32_t before, after; /* indexes of bursts.calls */
	/* The longest path from the root, outside of the kernel, that half of its samples have:
	 * `depth` functions of burst_rows.symbols from `first` on, of which the first `shared` ones
	 * are callers of both calls; and the samples that have it. */
	size_t first;
	uint32_t depth, shared;
	uint64_t of_path;
};

struct burst_rows {
	struct bursts bursts;
	struct fold_kinds *kinds;
	struct partition partition;
	bool is_cpu_time;	    /* how long bursts are compared as */
	VEC(struct burst_row) rows; /* by part, largest first, noise last */
	VEC(const struct profile_symbol *) symbols;
	uint64_t *part_ns; /* by part: of all of its bursts */
};

/* Finds the kinds, and makes their rows in each part of a profile of METRIC_CPU. The profile must
 * outlive them. 0; -ENODATA: there is no burst; -ENOMEM, or an error of store_reader_records(). The
 * caller frees in any case. */
int burst_rows_make(struct profile *profile, enum partition_by by, struct burst_rows *ret_rows);
void burst_rows_free(struct burst_rows *rows);

/* Returns which share of its bursts' time a row's threads were on a CPU, and in *ret_error its
 * standard error; 0: it is counted. Negative: it is not known. */
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
