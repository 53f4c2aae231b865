/* SPDX-License-Identifier: MIT */
/*
 * The passes through one region, with the samples and readings of counters within each: what
 * folding works on.
 *
 *   instances of the region ─► passes ◄─ samples of the same thread and time
 *                                ▲
 *                  readings of counters at samples, and at the passes' ends
 *
 * Times are normalised: a sample is at x, from 0 to 1, of its pass, and of a counter it has y, the
 * share of the pass's total that had been reached. A pass within another one of the same region and
 * thread is a part of that.
 *
 * What the probes at a pass's ends cost outside of their programs (daemon/capture/probe_cost.h) is
 * no part of it, where the recording knows: it is taken off the pass, off its CPU time, and samples
 * that hit in it are no samples of the pass. In passes of less than eight times that, most of what
 * is left would be the error of it, so these stay as they are. Of several recordings it is the
 * mean.
 */
#ifndef FOLDING_PASSES_H
#define FOLDING_PASSES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "model/profile.h"

struct pass {
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	uint64_t cpu_ns;	   /* of its thread, within */
	uint32_t thread;	   /* number in the store's tables */
	uint32_t node;		   /* its path; 0: it is a period */
	uint32_t samples;
	uint64_t total[METRIC_COUNTERS]; /* of each counter, over the pass */
	uint8_t known;			 /* bits: counters whose total is known */
	uint8_t falls;	 /* bits: counters that are less at its end than at its start */
	bool is_shorter; /* what the probes at its ends cost was taken off */
};

struct pass_sample {
	uint64_t time_ns;
	uint32_t pass; /* index */
	uint32_t node, origin;
	uint8_t end_reason;
	uint8_t known; /* bits: counters of which it has y */
	float y[METRIC_COUNTERS];
};

/* By how much a counter that shares the processor's is more at one reading than at one before. */
struct pass_increment {
	uint64_t since_ns, until_ns; /* CLOCK_MONOTONIC: the times of the two */
	uint64_t outside_ns;	     /* of these, between passes */
	uint64_t value;
	double from, to;      /* x of the two in `first` and `last` */
	uint32_t first, last; /* passes; those between are within it */
	uint32_t counted;     /* for how much of the time, in parts of METRIC_COUNTED; not 0 */
};

struct pass_increments {
	struct pass_increment *items; /* as a VEC */
	size_t count, cap;
};

/* A region that there are instances of. */
struct pass_region {
	const struct profile_symbol *symbol;
	uint64_t visits;
};

struct passes {
	VEC(struct pass) all;		     /* by thread, then start */
	VEC(struct pass_sample) samples;     /* in order of time */
	const struct profile_symbol *region; /* NULL: they are periods (folding/periods.h) */
	char *name;			     /* of the region, or what the period is */
	uint32_t node;			     /* of the first pass: its path */
	bool are_bursts;		     /* they are bursts (folding/bursts.h) */
	char *counters[METRIC_COUNTERS];     /* names; NULL: there is none */
	struct pass_increments increments[METRIC_COUNTERS]; /* by pass, then time */
	uint64_t within;				    /* passes that are parts of others */
	uint64_t left;	     /* passes that did not return, which are left out */
	uint64_t probes_ns;  /* what the probes at a pass's ends cost; 0: it is not known */
	uint64_t shorter;    /* passes that this was taken off */
	uint64_t in_probes;  /* samples that were left out for it */
	uint64_t impossible; /* readings that do not lie between those before and after them */
};

/* Lists the regions of a recording, most visits first, that the profile's filter selects; a name or
 * pattern selects some (NULL: all). *ret_regions is for free(). 0, -ENOMEM, or an error of
 * store_reader_records(). */
int passes_regions(struct profile *profile, const char *pattern, struct pass_region **ret_regions,
		   size_t *ret_count);

/* Collects the passes through a region that the filter of the profile, which is of METRIC_CPU,
 * selects, with their samples. 0, or an error as above; the caller frees in any case. */
int passes_make(struct profile *profile, const struct profile_symbol *region,
		struct passes *ret_passes);
/* Collects the samples of passes that are known, in order. Errors as above. */
int passes_fill(struct profile *profile, struct passes *passes);
/* Adds the readings of the passes' counters to these samples. Which totals are known the passes
 * say; ends[i], of each counter i, has the sums of SERIES_READING at their ends, by pass (NULL:
 * there are none). Then takes off what the probes at the passes' ends cost. Errors as above. */
int passes_fill_counters(struct profile *profile, struct passes *passes,
			 uint64_t *const ends[METRIC_COUNTERS]);

/* Copies those of the passes whose number in `group_of`, an array by pass, is `group`, with their
 * samples. 0 or -ENOMEM; the caller frees in any case. */
int passes_pick(const struct passes *passes, const uint32_t *group_of, uint32_t group,
		struct passes *ret_passes);
void passes_free(struct passes *passes);

/* Tells how much of a pass the probes at its ends cost: before its end, and after its beginning.
 * 0: it is not known. */
void passes_probe_cost(const struct store_tables *tables, uint64_t *ret_before_ns,
		       uint64_t *ret_after_ns);

/* Whether a pass takes so much longer than the probes at its ends cost that this is taken off: by
 * wall time and, if it is known, by CPU time. */
bool passes_outlast_probes(uint64_t ns, bool has_cpu, uint64_t cpu_ns, uint64_t cost_ns);

/* Returns where in its pass a sample is by wall time, from 0 to 1. */
double passes_x(const struct passes *passes, const struct pass_sample *sample);

#endif
