/* SPDX-License-Identifier: MIT */
/*
 * Has copied stacks walked before their records are taken in the order of time; see recorder.h.
 *
 * A worker makes these walks (worker/walks.h), and the loop does not wait for it. So walks are
 * requested for many records at a time: for the next REORDER_AHEAD of them. A record is taken when
 * it is the oldest and its walk is made, so the order of time is kept.
 *
 * A walk must use the mappings that the process had at the sample. So a walk is not requested while
 * an earlier event, which has not been taken yet, changes the mappings of the process, nor while
 * the process is not known yet. If the mappings change even so, the walk is made again
 * (worker/walk_queue.h).
 */
#include "daemon/capture/record.h"
#include "daemon/recorder/recorder_internal.h"

#define LOW_WATER    32 /* if fewer walks are pending, records for further walks are looked for */
#define SCAN_EVERY   32 /* but not before so many records were taken since the last time */
#define MOST_CHANGED 64 /* most processes */

/* Processes whose mappings are changed by queued events that are older than the record being
 * examined. */
struct changed {
	pid_t pids[MOST_CHANGED];
	size_t count;
};

static bool has_changed(const struct changed *c, pid_t pid)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->pids[i] == pid)
			return true;
	return false;
}

/* If an event changes the mappings of a process, adds the process to the list. false: the list is
 * full, or events were lost, so that the mappings of any process may have changed. */
static bool note(struct changed *c, const struct sideband_event *event)
{
	bool changes = event->kind == SIDEBAND_MMAP ||
		       (event->kind == SIDEBAND_COMM && event->is_exec) ||
		       (event->kind == SIDEBAND_FORK && event->pid != event->parent_pid);

	if (event->kind == SIDEBAND_LOST || c->count == MOST_CHANGED)
		return false;
	if (changes && !has_changed(c, event->pid))
		c->pids[c->count++] = event->pid;
	return true;
}

/* Returns whether the walk of a record that is not the next one to be taken can be requested
 * now. */
static bool can_be_walked(struct recorder *r, const struct stackd_header *record,
			  const struct changed *changed, bool awaits_tables)
{
	pid_t pid = (pid_t)record_pid(record);

	return !has_changed(changed, pid) && process_table_knows(r->tasks.processes, pid) &&
	       !(awaits_tables && recorder_awaits_table(r, record));
}

static void look_ahead(struct recorder *r, struct reorder *queue, uint64_t horizon_ns,
		       bool awaits_tables)
{
	struct changed changed = {.count = 0};
	const struct reorder_item *item;

	for (size_t n = 0; (item = reorder_ahead(queue, horizon_ns, n)); n++) {
		const struct stackd_header *record = item->sample;

		if (item->event && !note(&changed, item->event))
			break;
		if (!record || !path_builder_may_wait(r->paths.builder, record) ||
		    path_builder_has_asked(r->paths.builder, record) ||
		    (n && !can_be_walked(r, record, &changed, awaits_tables)))
			continue;
		if (!path_builder_ask(r->paths.builder, record, n == 0))
			break;
	}
	r->paths.taken_since_look = 0;
}

bool recorder_awaits_walk(struct recorder *r, struct reorder *queue, uint64_t horizon_ns,
			  bool awaits_tables)
{
	const struct reorder_item *next = reorder_peek(queue, horizon_ns);
	const struct stackd_header *record = next ? next->sample : NULL;
	bool is_low;

	if (!record || !path_builder_may_wait(r->paths.builder, record))
		return false;
	/* Reads the process from /proc if it is not known. That may be done now, because this
	 * record is the next one in the order of time. */
	if (recorder_settle(r, (pid_t)record_pid(record), record->time_ns))
		return false;
	if (!process_table_thread(r->tasks.processes, (pid_t)record_pid(record),
				  (pid_t)record->tid))
		return false;
	is_low = walks_pending(r->paths.walks) < LOW_WATER &&
		 r->paths.taken_since_look >= SCAN_EVERY;
	if (path_builder_has_walked(r->paths.builder, record) && !is_low)
		return false;
	if (is_low || !path_builder_has_asked(r->paths.builder, record))
		look_ahead(r, queue, horizon_ns, awaits_tables);
	walks_go_on(r->paths.walks);
	return !path_builder_has_walked(r->paths.builder, record);
}

void recorder_go_on(struct recorder *r)
{
	walks_go_on(r->paths.walks);
}

int recorder_poll_fd(const struct recorder *r)
{
	return walks_poll_fd(r->paths.walks);
}

bool recorder_walks(const struct recorder *r)
{
	return walks_is_busy(r->paths.walks);
}
