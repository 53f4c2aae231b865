/* SPDX-License-Identifier: MIT */
/*
 * Collects the events of a Paraver trace, in order of time: begins and ends of instances of regions
 * (passes), values of counters (readings), and samples.
 *
 * A recording has an instance at its end, with its duration and the increments of its counters. So
 * the begin is computed, with a reading of each counter there: the reading at the end minus the
 * increment.
 */
#ifndef EXPORT_PARAVER_EVENTS_H
#define EXPORT_PARAVER_EVENTS_H

#include "base/vec.h"
#include "model/profile.h"

/* The kinds of events. Events of one thread at one time are written in this order. */
enum paraver_kind {
	PARAVER_END,
	PARAVER_BEGIN,
	PARAVER_BRIEF, /* begin and end of an instance of duration 0 */
	PARAVER_READING,
	PARAVER_SAMPLE,
};

struct paraver_event {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	union {
		/* Only the difference between two readings of a thread is meaningful, modulo
		 * 2^64. */
		uint64_t reading;
		uint32_t instance; /* index in `instances` */
		struct {
			uint32_t node, origin; /* numbers in profile_tables() */
		} sample;
	};
	uint64_t amount; /* of a sample: what it stands for, in units of the event */
	uint32_t thread;
	uint16_t cpu;
	uint8_t kind : 7; /* enum paraver_kind */
	/* The profile's filter selects the event. Readings that are not shown are kept, too,
	 * because the next reading's increment counts from them. */
	uint8_t is_shown : 1;
	uint8_t detail; /* of a reading: its counter; of a sample: its end reason */
};

struct paraver_instance {
	uint64_t start_ns, end_ns;
	uint32_t thread, node;
	uint16_t cpu; /* CPU at the end of the instance */
	bool is_shown;
};

struct paraver_events {
	/* sorted by time, then thread, then kind; of equal ones, outer instances come first */
	VEC(struct paraver_event) all;
	VEC(struct paraver_instance) instances;
};

/* Collects the events of a profile of METRIC_CPU. Returns 0, -ENOMEM, or an error of
 * store_reader_records(); the caller frees *ret_events in any case. */
int paraver_events_make(struct profile *profile, struct paraver_events *ret_events);
void paraver_events_free(struct paraver_events *events);

#endif
