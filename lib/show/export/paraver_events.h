/* SPDX-License-Identifier: MIT */
/*
 * What a Paraver trace tells of each thread, in order of time: instances of regions with their
 * beginnings, readings of counters, and samples.
 *
 * A recording has an instance at its end alone, with its time and what its counters advanced by.
 * So the beginning is put where it was, and a reading there: that of the end less the advance.
 */
#ifndef EXPORT_PARAVER_EVENTS_H
#define EXPORT_PARAVER_EVENTS_H

#include "base/vec.h"
#include "model/profile.h"

/* In the order in which events of one thread at one time are written. */
enum paraver_kind {
	PARAVER_END,
	PARAVER_BEGIN,
	PARAVER_BRIEF, /* an instance of no time: both */
	PARAVER_READING,
	PARAVER_SAMPLE,
};

struct paraver_event {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	union {
		uint64_t reading; /* differences between those of a thread are right, modulo 2^64 */
		uint32_t instance; /* index */
		struct {
			uint32_t node, origin; /* in profile_tables() */
		} sample;
	};
	uint32_t thread;
	uint16_t cpu;
	uint8_t kind : 7;     /* enum paraver_kind */
	uint8_t is_shown : 1; /* the profile's filter selects it; a reading that is not shown tells
			       * what the next one is more than */
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
