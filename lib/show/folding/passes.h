/* SPDX-License-Identifier: MIT */
/*
 * Collects the passes through one region, with the samples within each and the counters' values at
 * these samples (readings): the input of folding.
 *
 *   instances of the region ─► passes ◄─ samples of the same thread and time
 *                                ▲
 *                  readings of counters at samples, and at the passes' ends
 *
 * Times are normalised: a sample is at x, from 0 to 1, of its pass, and has for each counter a y,
 * the share of the pass's total that had been counted by then. A pass within another pass of the
 * same region and thread is a part of that pass.
 *
 * The probes at the ends of a pass cost time outside of their BPF programs
 * (daemon/capture/probe_cost.h). If the recording knows that cost, it is subtracted from the pass
 * and its CPU time, and samples in it are not samples of the pass. Passes of less than eight times
 * the cost stay as they are, since the error of the cost would be a large part of the rest (eight
 * was chosen by hand). For several recordings, the cost is the mean.
 */
#ifndef FOLDING_PASSES_H
#define FOLDING_PASSES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "model/profile.h"

struct pass {
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	uint64_t cpu_ns;	   /* CPU time of its thread within the pass */
	uint32_t thread;	   /* number in the store's tables */
	uint32_t node;		   /* node of its path; 0: the pass is a period */
	uint32_t samples;
	uint64_t total[METRIC_COUNTERS]; /* by counter: total over the pass */
	uint8_t known;			 /* counters whose total is known, as bits */
	uint8_t falls;	 /* bits: the counters that are lower at the pass's end than at its start */
	bool is_shorter; /* the cost of the probes was subtracted */
};

struct pass_sample {
	uint64_t time_ns;
	uint32_t pass; /* index of its pass */
	uint32_t node, origin;
	uint8_t end_reason;
	uint8_t known; /* counters whose y is known, as bits */
	float y[METRIC_COUNTERS];
};

/* The increment of a multiplexed counter between two readings. */
struct pass_increment {
	uint64_t since_ns, until_ns; /* CLOCK_MONOTONIC: the times of the readings */
	uint64_t outside_ns;	     /* the part of that time between passes */
	uint64_t value;
	/* place of the first reading in pass `first`, and of the second reading in pass `last` */
	double from, to;
	/* indices of the passes in which it begins and ends; it includes the passes between them */
	uint32_t first, last;
	/* share of the increment's time in which the counter counted, in parts of METRIC_COUNTED;
	 * not 0 */
	uint32_t counted;
};

struct pass_increments {
	struct pass_increment *items; /* used as a VEC */
	size_t count, cap;
};

/* A region that has instances. */
struct pass_region {
	const struct profile_symbol *symbol;
	uint64_t visits;
};

struct passes {
	VEC(struct pass) all;		     /* by thread, then start */
	VEC(struct pass_sample) samples;     /* in order of time */
	const struct profile_symbol *region; /* NULL: the passes are periods (folding/periods.h) */
	char *name;			     /* name of the region, or description of the period */
	uint32_t node;			     /* node of the first pass */
	bool are_bursts;		     /* the passes are bursts (folding/bursts.h) */
	char *counters[METRIC_COUNTERS];     /* names; NULL: there is none */
	struct pass_increments increments[METRIC_COUNTERS]; /* by pass, then time */
	uint64_t within;    /* passes nested in other passes, which are parts of these */
	uint64_t left;	    /* passes that did not return, which are left out */
	uint64_t probes_ns; /* cost of the probes at both ends of a pass; 0: unknown */
	uint64_t shorter;   /* passes that probes_ns was subtracted from */
	uint64_t in_probes; /* samples left out because they hit in the time of probes_ns */
	/* readings that are lower than the one before them, or higher than the one after them */
	uint64_t impossible;
};

/* Lists the regions that the profile's filter and `pattern` (a name or pattern; NULL: any) select,
 * those with most visits first. The caller frees *ret_regions with free(). Returns 0, -ENOMEM, or
 * an error of store_reader_records(). */
int passes_regions(struct profile *profile, const char *pattern, struct pass_region **ret_regions,
		   size_t *ret_count);

/* Collects the passes through a region, with their samples, that the filter of `profile`, which
 * must be of METRIC_CPU, selects. Errors as passes_regions(); the caller frees the passes in any
 * case. */
int passes_make(struct profile *profile, const struct profile_symbol *region,
		struct passes *ret_passes);
/* Collects the samples of the passes, in order of time. Errors as passes_regions(). */
int passes_fill(struct profile *profile, struct passes *passes);
/* Adds the readings of counters to the samples of passes whose totals are known. ends[i] has the
 * sum of SERIES_READING of counter i up to each pass's end (NULL: there is no such counter). Then
 * subtracts the cost of the probes at the passes' ends. Errors as passes_regions(). */
int passes_fill_counters(struct profile *profile, struct passes *passes,
			 uint64_t *const ends[METRIC_COUNTERS]);

/* Copies the passes whose number in `group_of`, an array by pass, is `group`, with their samples.
 * Returns 0 or -ENOMEM; the caller frees the copy in any case. */
int passes_pick(const struct passes *passes, const uint32_t *group_of, uint32_t group,
		struct passes *ret_passes);
void passes_free(struct passes *passes);

/* Gives the time that the probes cost within a pass: before its end, and after its begin; 0:
 * unknown. */
void passes_probe_cost(const struct store_tables *tables, uint64_t *ret_before_ns,
		       uint64_t *ret_after_ns);

/* Returns whether a pass is long enough, compared with the cost of its probes, for the cost to be
 * subtracted. Its wall time must be, and also its CPU time if that is known. */
bool passes_outlast_probes(uint64_t ns, bool has_cpu, uint64_t cpu_ns, uint64_t cost_ns);

/* Returns the place of a sample in its pass by wall time, from 0 to 1. */
double passes_x(const struct passes *passes, const struct pass_sample *sample);

#endif
