/* SPDX-License-Identifier: MIT */
/*
 * Collects the counters of a run under the names that the store keeps (`stackctl stats`). The names
 * are in counter_list.h, and in the lists that it refers to. The sums of the kernel half, the
 * daemon and the store must agree, so a dropped sample shows.
 */
#ifndef RUN_COUNTERS_H
#define RUN_COUNTERS_H

#include "daemon/archive/batch.h"
#include "daemon/base/counter_spec.h"
#include "daemon/base/idle_time.h"
#include "daemon/capture/probe_cost.h"
#include "daemon/capture/sampler.h"
#include "daemon/recorder/recorder.h"
#include "daemon/status.h"
#include "daemon/tables/tables.h"
#include "daemon/worker/worker.h"

struct run_counters {
	struct sampler_counts sampled;
	struct recorder_counts recorded;
	struct tables_counts tables;
	struct workers_counts workers;
	struct idle_times idle; /* idle times of the whole machine; 0: only a part of it is
				 * recorded */
	uint64_t stolen_ns;	/* time that the host has taken from all CPUs */
	bool has_periods;	/* the samples' periods add up to CPU time */
	bool has_waking;	/* the time of CPUs that are about to switch to a woken task is
				 * known: samples hit it, or the events of a cgroup tell it */
	uint64_t own_cpu_ns, own_resident_bytes; /* CPU time and resident memory of stackd and its
						  * workers */
	uint64_t rate_hz;			 /* 0: a fixed period */
	uint64_t rate_changes;			 /* number of changes of the sampling rate to keep
						  * within --max-cpu */
	uint64_t regions_taken_off; /* regions that are not measured any more, because threads
				     * entered them too often */
	uint64_t alloc_until_ns; /* CLOCK_MONOTONIC: when the recording of allocations ended; 0: it
				  * did not */
	uint64_t full_windows;	 /* windows that ended early, to save memory */
	uint64_t objects;	 /* objects that have numbers now */
	uint64_t short_lived;	 /* processes that were not followed (short_lived.h) */
	uint64_t waiting, late;	 /* items in the queue that restores the order of time
				  * (recorder/reorder.h); events that came too late for it */
	uint64_t queue_full;	 /* times that it held so much that the ring was left unread */
};

/* Returns the counts since `start`. Members that say how many there are at a moment (rows of
 * tables, items in the queue) are not subtracted: they are those of `now`. */
struct run_counters run_counters_since(const struct run_counters *now,
				       const struct run_counters *start);

/* Allocates the counters of a batch that has none, and fills them in. The batch owns them. 0 or
 * -ENOMEM. */
int run_counters_put(const struct run_counters *counters, struct batch *batch);

/* Adds a counter "region_off.FUNC@FILE", whose value is the time at which a region or mark was
 * switched off because threads entered it too often. Cuts a name that is longer than a counter's
 * may be. Adds none if the batch has some dozens of them. */
void run_counters_put_off(const char *name, uint64_t since_ns, struct batch *batch);

/* Adds the names of the counters whose values the kernel half reads at the ends of passes through
 * regions, as "counter.0.cpu" (a longer name is cut), and the cost of the probes there, if it is
 * known. */
void run_counters_put_readings(const struct counter_spec *counters, size_t n,
			       const struct probe_cost *cost, struct batch *batch);

/* Returns the numbers that the status line shows, taken from `counters`. */
struct status_numbers run_counters_status(const struct run_counters *counters);

/* What the options ask for, of which warnings speak. */
struct run_counters_asked {
	bool tags_only;
	bool mpi, annotated;
};

/* Warns about counters that do not add up, about tags that differ from walks, and about what was
 * asked for and not recorded. */
void run_counters_warn(const struct run_counters *counters, const struct run_counters_asked *asked);

#endif
