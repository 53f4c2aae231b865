/* SPDX-License-Identifier: MIT */
/*
 * Where the records of a metric lie in time. A record is stored once, at its end; but a wait, a
 * pass through a region, or what a sample stands for lasted, and a range of time, or a bin, has the
 * part of it that lies there:
 *
 *        ├── blocked ──┤ ├ runnable ┤      ├────── pass ──────┤
 *   ─────────┼─────────────┼─────────────────┼───┼─────────────────► time
 *          from            to                 inner pass
 *
 * - A wait lasted until its record. A sampled one stands for more than it lasted (docs/WAITS.md):
 *   the share of it in a range is that of its length, of what it stands for as well.
 * - A pass's own time is its time without the passes within it.
 * - A sample of a clock stands for CPU time before it. With METRIC_WALL this is the time since the
 *   thread's sample before, less its waits. Where all waits are counted, it is all of that time,
 *   and a thread's samples and waits add up to its life to the nanosecond, in any range. Where
 *   waits are sampled, waits that were not kept are a part of that time; so a sample stands for no
 *   more than its period, at the end of that time.
 * - All else is a moment: a sample of an event, an allocation, the bytes of a call, a visit.
 */
#ifndef MODEL_LASTING_H
#define MODEL_LASTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stack/metric.h"
#include "store/store_reader.h"

struct span {
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC; of a moment both are the same */
};

/* Where a record lies: one or more spans, in order of time. */
struct lasting {
	const struct span *spans;
	size_t n;
	uint64_t ns;	  /* of all spans; 0: it is a moment */
	double variance;  /* of what the record stands for, by its sampling */
	bool is_stored;	  /* false: CPU time of a thread without a sample, which no record is of */
	bool is_estimate; /* a sample in a region that was taken off (region_rest.h), not a pass */
	const struct store_tables *tables; /* whose range cuts the spans; NULL: nothing does */
};

typedef int (*lasting_each)(void *arg, const struct store_sample *record,
			    const struct lasting *lasting);

/* Returns whether records of a metric last, and are not moments. */
bool lasting_is(enum metric metric);

/* Calls `each` for each record of a metric, with its place in time, also outside of the reader's
 * range. The period of a sample is what it stands for. Records are in the order of time for each
 * thread and series only. 0, what `each` returned if that is not 0, -ENOMEM, or an error of
 * store_reader_records(). */
int lasting_records(struct store_reader *reader, enum metric metric, lasting_each each, void *arg);

/* Returns whether any of it lies in [from_ns, to_ns) and in the reader's range, and in *ret_part
 * how much of the value. */
bool lasting_within(const struct lasting *lasting, uint64_t value, uint64_t from_ns, uint64_t to_ns,
		    uint64_t *ret_part);

/* Returns how long a wait lasted that stands for so much, if waits are sampled by this mean (0: all
 * are kept). */
uint64_t lasting_wait_ns(uint64_t stands_for_ns, uint64_t mean_ns);

#endif
