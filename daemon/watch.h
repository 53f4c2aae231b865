/* SPDX-License-Identifier: MIT */
/*
 * Logs events that an administrator should know of when they happen: samples that were lost because
 * the ring was full, events of processes and mappings that were lost, files that were refused,
 * interpreters whose functions are not read, a rate that was lowered, a store that cannot be
 * written to. Each kind is reported at once, and then at most once a minute, with the count since
 * the last report.
 */
#ifndef WATCH_H
#define WATCH_H

#include <stdbool.h>

#include "daemon/archive/archive.h"
#include "daemon/budget.h"
#include "daemon/run_counters.h"

#define WATCH_MOST_BEHIND 10 /* batches, of a second each, that wait to be committed */

struct watch_kind {
	uint64_t told;	  /* the counter at the last report */
	uint64_t told_ns; /* time of the last report; 0: there was none */
};

/* Zeroed at the start. */
struct watch {
	struct watch_kind ring, events, files, processes, rate, interpreters, shares, mappings,
		numbers;
	struct watch_kind store; /* samples that could not be written */
	uint64_t behind_ns;	 /* when the log last said that commits are late; 0: never */
	bool store_fails, store_drops;
};

/* Checks the counters of the whole run. `now_ns`: CLOCK_MONOTONIC. */
void watch_look(struct watch *watch, const struct run_counters *counters, uint64_t now_ns);

/* Logs that the budget has lowered the rate, which was `before_hz`. */
void watch_rate(struct watch *watch, const struct budget *budget, uint64_t before_hz);

/* Logs, when it has changed: that the store cannot be written to, that samples are dropped because
 * writing has failed for long, or that it can be written to again. Also logs, at most once a
 * minute, that commits are WATCH_MOST_BEHIND seconds late. `now_ns`: CLOCK_MONOTONIC. */
void watch_store(struct watch *watch, const char *path, const struct archive_state *state,
		 uint64_t now_ns);

/* Logs why the store could not be written to. `sentence`: SQLite's, or NULL. */
void watch_store_failed(const char *path, int err, const char *sentence);

#endif
