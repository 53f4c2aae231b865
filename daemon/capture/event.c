/* SPDX-License-Identifier: MIT */
/* Collects the fields that every record has, which are at another place in each kind of record; see
 * event.h. */
#include "daemon/capture/event.h"

#include "daemon/capture/record.h"

void event_decode(const struct stackd_header *record, struct event *ret_event)
{
	*ret_event = (struct event){
		.kind = (enum stackd_event)record->event,
		.pid = (pid_t)record_pid(record),
		.tid = (pid_t)record->tid,
		.time_ns = record->time_ns,
		.cgroup = record_cgroup(record),
		.cpu = record->cpu,
		.record = record,
	};
	record_measurement(record, &ret_event->measured);
}
