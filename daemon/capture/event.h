/* SPDX-License-Identifier: MIT */
/*
 * Decodes a record that was read (record.h): the kind of its event, its thread and time, and what
 * the kernel half has measured. The path stays in the record.
 */
#ifndef CAPTURE_EVENT_H
#define CAPTURE_EVENT_H

#include <stdint.h>
#include <sys/types.h>

#include "stackd_abi.h"

struct event {
	enum stackd_event kind;
	pid_t pid, tid;
	uint64_t time_ns; /* time of the record, CLOCK_MONOTONIC */
	uint64_t cgroup;  /* id of the thread's cgroup; 0: unchanged since the thread's previous
			   * record */
	uint16_t cpu;
	union stackd_measurement measured;  /* the member for `kind`; unused for a sample, and for
					     * events with a record of their own */
	const struct stackd_header *record; /* borrowed */
};

/* Decodes a record that record_read() has returned. *ret_event refers to the record, which must
 * live as long. */
void event_decode(const struct stackd_header *record, struct event *ret_event);

#endif
