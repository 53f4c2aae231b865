/* SPDX-License-Identifier: MIT */
/*
 * Finds the time that each record of a metric covers. A record is stored once, at its end; but a
 * wait, a pass through a region, and the CPU time that a sample stands for have a length. A range
 * of time, or a bin, gets the part of them that is within it:
 *
 *        ├── blocked ──┤ ├ runnable ┤      ├────── pass ──────┤
 *   ─────────┼─────────────┼─────────────────┼───┼─────────────────► time
 *          from            to                 inner pass
 *
 * - A wait ends at its record. A sampled wait stands for more time than its own length
 *   (docs/WAITS.md). If a share of its length lies in a range, the range has the same share of the
 *   time that it stands for.
 * - A pass's own time is its time without the passes within it.
 * - A sample by a clock stands for CPU time before it. With METRIC_WALL this is the time since the
 *   thread's previous sample, less the thread's waits. If all waits are recorded, the sample stands
 *   for all of that time, so a thread's samples and waits add up to its life to the nanosecond, in
 *   any range. If waits are sampled, that time also contains waits that were not kept, so the
 *   sample stands for at most its period, at the end of that time.
 * - All other records are moments: samples of an event, allocations, the bytes of a call, visits.
 */
#ifndef MODEL_LASTING_H
#define MODEL_LASTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stack/metric.h"
#include "store/store_reader.h"

struct span {
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC; both are the same for a moment */
};

/* The time that a record covers: one or more spans, in order of time. */
struct lasting {
	const struct span *spans;
	size_t n;
	uint64_t ns;	 /* length of all spans together; 0: the record is a moment */
	double variance; /* variance, due to sampling, of the record's value */
	/* false: the record is not in the store, but made for CPU time of a thread that no sample
	 * covers */
	bool is_stored;
	/* the record is a sample in a region whose probes were taken off (region_rest.h), not a
	 * pass */
	bool is_estimate;
	/* the spans are cut to the tables' range; NULL: they are not */
	const struct store_tables *tables;
};

typedef int (*lasting_each)(void *arg, const struct store_sample *record,
			    const struct lasting *lasting);

/* Returns whether the records of a metric cover a time, and are not single moments. */
bool lasting_is(enum metric metric);

/* Calls `each` for each record of a metric, with the time that it covers, also for records outside
 * of the reader's range. A sample's `period` is the time or number of events that it stands for.
 * Records are in order of time only within one thread and series. Returns 0, a non-zero result of
 * `each`, -ENOMEM, or an error of store_reader_records(). */
int lasting_records(struct store_reader *reader, enum metric metric, lasting_each each, void *arg);

/* Returns whether any part of the time of a record is both in [from_ns, to_ns) and in the reader's
 * range. *ret_part receives the same share of `value`. */
bool lasting_within(const struct lasting *lasting, uint64_t value, uint64_t from_ns, uint64_t to_ns,
		    uint64_t *ret_part);

/* Returns how long a wait lasted that stands for `stands_for_ns`, given that waits are sampled with
 * the mean distance `mean_ns` (0: all waits are recorded, and last as long as they stand for). */
uint64_t lasting_wait_ns(uint64_t stands_for_ns, uint64_t mean_ns);

#endif
