/* SPDX-License-Identifier: MIT */
/*
 * Sums up instances of regions, by region and by call path.
 *
 * An instance is one pass through a region. The store has two times of each instance: its own time,
 * and the time of the instances nested in it. A row's total, mean, least and most are of the sum of
 * both. If a region is nested in itself (recursion), its total has the time of the outermost
 * instances only, but the bytes of all instances.
 *
 * In a range of time, total and own times have the parts of instances that are within the range.
 * But an instance counts as a visit, with its bytes and its whole duration, only in the range in
 * which it ended. So the figures of all ranges add up to those of the whole recording.
 *
 * For a region whose probes were taken off (--region-limit), the times since then are estimated
 * (region_rest.h), for each of its paths.
 */
#ifndef MODEL_REGION_ROWS_H
#define MODEL_REGION_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "model/profile.h"

struct region_figures {
	uint64_t visits;
	uint64_t left; /* of the visits, those that did not return */
	/* the part of total_ns and cpu_ns that is an estimate (region_rest.h) */
	uint64_t estimated_ns;
	double estimated_variance;
	/* total_ns: wall time including nested instances; own_ns: without them; cpu_ns: CPU time
	 * including nested instances */
	uint64_t total_ns, own_ns, cpu_ns;
	uint64_t least_ns, most_ns; /* whole wall time of the shortest and the longest visit */
	uint64_t ended_ns;	    /* whole wall time of all visits together */
	uint64_t sent, received;    /* bytes that calls of MPI sent and received */
	uint64_t read, written;	    /* bytes that calls of MPI read from and wrote to files */
	/* the part of `received` and `read` that is only an upper limit, the size of a buffer */
	uint64_t at_most;
	uint64_t unknown; /* calls of MPI whose bytes are not known */
};

/* The instances with one call path. */
struct region_path {
	struct region_figures figures;
	uint32_t node;	    /* in profile_tables() */
	uint32_t region;    /* index of the path's region */
	uint32_t part;	    /* part that the path's threads belong to */
	bool is_within;	    /* The path is nested in another instance of its region. */
	uint8_t end_reason; /* of its first pass; all passes have the same mark, or none has one */
	uint32_t origin;
	uint32_t n_threads; /* threads that have passed through it */
};

struct region_row {
	struct region_figures figures;
	const struct profile_symbol *symbol; /* of one of the region's clones (sym/clone_name.h) */
	char *name;			     /* without a clone's suffix; owned */
	uint32_t part;
	uint32_t first, count; /* its paths: index of the first one, and how many */
	uint32_t n_threads;    /* the largest number of threads of any path */
	bool is_off; /* Its probes were taken off (--region-limit) before the end of the range. */
	uint64_t off_ns; /* when: the latest region_rest_off_ns() of its clones */
};

struct region_rows {
	VEC(struct region_row) regions; /* by part, largest total first */
	VEC(struct region_path) paths;	/* by region, largest total first */
	/* Samples are of a clock, so regions whose probes were taken off have estimates. */
	bool is_estimated;
};

/* Divides a profile into parts: `part_of` returns the part to which a thread on a CPU belongs. */
struct region_parts {
	uint32_t (*part_of)(const void *arg, uint32_t thread, uint16_t cpu);
	const void *arg;
};

/* Makes the rows of a profile of METRIC_REGION_TIME, for each part (`parts` NULL: one part), from
 * the instances that the filter selects. Returns 0, -ENOMEM, or an error of store_reader_records().
 * The caller frees the rows in any case. */
int region_rows_make(struct profile *profile, const struct region_parts *parts,
		     struct region_rows *ret_rows);
void region_rows_free(struct region_rows *rows);

#endif
