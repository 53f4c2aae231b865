/* SPDX-License-Identifier: MIT */
/* One record on its way to the batch: its thread, its call path, the path's node, its row. */
#include <errno.h>

#include "daemon/capture/record.h"
#include "daemon/model/recorder_parts.h"

/* *ret_end says whether it was a sample, and the end reason. 0; -ENOMEM; -EBADMSG: the record
 * cannot be used. */
static int take(struct recorder *r, const struct stackd_header *record, struct walks_end *ret_end)
{
	const struct thread *thread =
		process_table_thread(r->processes, (pid_t)record_pid(record), (pid_t)record->tid);
	struct store_sample sample;
	uint32_t node;
	int err;

	if (!thread)
		return -ENOMEM;
	err = recorder_request_table(r, record);
	if (!err)
		err = walks_take(r->walks, record, &r->path, ret_end);
	if (err || !ret_end->is_sample)
		return err;
	err = thread_paths_enter(r->paths, record, &r->path, &node);
	if (err)
		return err;
	sample = (struct store_sample){
		.time_ns = record->time_ns,
		.thread = thread->number,
		.node = node,
		.period = record_period(record, r->usual_period),
		.cpu = record->cpu,
		.end_reason = (uint8_t)ret_end->reason,
		.origin = ret_end->origin,
	};
	return outbox_keep(r->outbox, &sample);
}

int recorder_sample(struct recorder *r, const struct stackd_header *record)
{
	struct walks_end end = {.is_sample = true, .reason = STACKD_END_LOST_RECORD};
	int err = record ? take(r, record, &end) : 0;

	r->received++;
	if (end.is_sample)
		r->end_reasons[err ? STACKD_END_LOST_RECORD : end.reason]++;
	return err == -EBADMSG ? 0 : err;
}
