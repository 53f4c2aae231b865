/* SPDX-License-Identifier: MIT */
/*
 * Collects the events of a Paraver trace, in order of time: begins and ends of instances of
 * regions, readings of counters, and samples.
 *
 * A recording stores an instance at its end, with its duration and the increments of its counters.
 * So the begin is computed, with a reading of each counter there: the reading at the end less the
 * increment.
 */
#ifndef EXPORT_PARAVER_EVENTS_H
#define EXPORT_PARAVER_EVENTS_H

#include "base/vec.h"
#include "model/profile.h"

/* In the order in which events of one thread at one time are written. */
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
		uint64_t reading;  /* only differences between readings of a thread matter, modulo
				      2^64 */
		uint32_t instance; /* index */
		struct {
			uint32_t node, origin; /* in profile_tables() */
		} sample;
	};
	uint32_t thread;
	uint16_t cpu;
	uint8_t kind : 7;     /* enum paraver_kind */
	uint8_t is_shown : 1; /* the profile's filter selects it; a reading that is not shown is
				 still the base of the next one's increment */
	uint8_t detail;	      /* a reading's counter; a sample's end reason */
};

struct paraver_instance {
	uint64_t start_ns, end_ns;
	uint32_t thread, node;
	uint16_t cpu; /* at its end */
	bool is_shown;
};

struct paraver_events {
	VEC(struct paraver_event) all; /* by time, then thread, then kind; outer instances first */
	VEC(struct paraver_instance) instances;
};

/* Collects the events of a profile of METRIC_CPU. 0, -ENOMEM, or an error of
 * store_reader_records(); the caller frees in any case. */
int paraver_events_make(struct profile *profile, struct paraver_events *ret_events);
void paraver_events_free(struct paraver_events *events);

#endif
