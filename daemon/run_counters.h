/* SPDX-License-Identifier: MIT */
/*
 * The counters of a run, as they stand in the store by name (`stackctl stats`): with them the
 * kernel half, the daemon's parts and the store prove to each other that nothing was dropped.
 */
#ifndef RUN_COUNTERS_H
#define RUN_COUNTERS_H

#include "daemon/archive/batch.h"
#include "daemon/model/recorder.h"
#include "daemon/capture/sampler.h"
#include "daemon/tables/tables.h"

struct run_counters {
	struct sampler_counts sampled;
	struct recorder_counts recorded;
	struct tables_counts tables;
	uint64_t waiting, late; /* in the queue; events that came too late for it */
};

/* Gives them to a batch that has none. 0 or -ENOMEM. */
int run_counters_put(const struct run_counters *counters, struct batch *batch);

/* Logs what looks like a mistake, of ours or in how the program was built. */
void run_counters_warn(const struct run_counters *counters, bool tags_only);

#endif
