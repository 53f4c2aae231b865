/* SPDX-License-Identifier: MIT */
/*
 * Takes records: decodes them, and calls the handler of each kind of event, a row of a table; see
 * recorder.h.
 *
 *   kind of event     its handler's functions, in the order of calls; in brackets: if there is one
 *   with a path       [prefetch]   (the path is made and entered into the trie)   [place]   keep
 *   without           [prefetch]   take
 *
 * To add a kind of event: docs/ARCHITECTURE.md.
 */
#include <errno.h>

#include "daemon/capture/call_tables.h"
#include "daemon/capture/event.h"
#include "daemon/capture/record.h"
#include "daemon/recorder/machines_walked.h"
#include "daemon/recorder/recorder_internal.h"
#include "stack/end_reason.h"

struct handler {
	/* Called as soon as the record is read, before it is taken in the order of time. 0; 1: the
	 * record is done with; -ENOMEM. NULL: there is nothing to do. */
	int (*prefetch)(struct recorder *r, const struct event *event);

	/* Takes an event that has no path. 0 or -ENOMEM. NULL: it has one. */
	int (*take)(struct recorder *r, const struct event *event);

	/* Completes the row of an event: adds frames to its path, or changes its time or end
	 * reason. 0; -ENOMEM; -EBADMSG. NULL: the row is complete. */
	int (*place)(struct recorder *r, const struct event *event, struct store_sample *row);

	/* Stores the event: the row, with the values of the event's series. 0 or -ENOMEM. */
	int (*keep)(struct recorder *r, const struct event *event, struct store_sample *row);
};

/* --- events without a path -------------------------------------------------------------------- */

static int take_reading(struct recorder *r, const struct event *event)
{
	readings_take(r->readings, (const struct stackd_reading *)event->record);
	return 0;
}

static int take_launch(struct recorder *r, const struct event *event)
{
	return ranks_launched(r->mpi.ranks, (const struct stackd_launched *)event->record);
}

static int prefetch_code(struct recorder *r, const struct event *event)
{
	jit_tracker_keep(r->paths.jit, (const struct stackd_code_record *)event->record);
	return 0;
}

/* Does nothing: prefetch_code() has kept the pages already, and the reader (capture/record.h) has
 * added the CODE record to the next STACK record. */
static int take_code(struct recorder *r, const struct event *event)
{
	(void)r;
	(void)event;
	return 0;
}

static int prefetch_code_bytes(struct recorder *r, const struct event *event)
{
	jit_tracker_keep_bytes(r->paths.jit, (const struct stackd_code_bytes *)event->record);
	return 1;
}

static int prefetch_managed(struct recorder *r, const struct event *event)
{
	int err =
		managed_keep(r->paths.managed, (const struct stackd_managed_record *)event->record);

	return err ? err : 1;
}

/* --- samples ---------------------------------------------------------------------------------- */

/* Stores a sample; with regions, also the CPU time outside of regions that the sample stands
 * for. */
static int keep_sample(struct recorder *r, const struct event *event, struct store_sample *sample)
{
	const uint64_t interval = sample->period;
	int err;

	(void)event;
	if (r->with.has_intervals)
		sample->period = r->with.usual_period;
	r->taken.periods += sample->period;
	if (!r->with.has_intervals)
		return outbox_keep(r->outbox, sample);
	err = outbox_keep(r->outbox, sample);
	return err || !interval ? err : recorder_keep(r, SERIES_CPU_OUTSIDE, interval, *sample);
}

/* --- all events ------------------------------------------------------------------------------- */

static const struct handler handlers[STACKD_EVENT_COUNT] = {
	[STACKD_EVENT_SAMPLE] = {.keep = keep_sample},
	[STACKD_EVENT_REGION] = {.place = recorder_place_pass, .keep = recorder_pass},
	[STACKD_EVENT_LEFT] = {.place = recorder_place_pass, .keep = recorder_pass},
	[STACKD_EVENT_MARK] = {.place = recorder_place_mark, .keep = recorder_pass},
	[STACKD_EVENT_ALLOC] = {.keep = recorder_alloc},
	[STACKD_EVENT_FREE] = {.take = recorder_free_block},
	[STACKD_EVENT_FAULT] = {.keep = recorder_fault},
	[STACKD_EVENT_MAP] = {.keep = recorder_map},
	[STACKD_EVENT_WAIT] = {.prefetch = recorder_prefetch_wait, .keep = recorder_wait},
	[STACKD_EVENT_UNTRACED] = {.take = recorder_untraced},
	[STACKD_EVENT_WAKE] = {.keep = recorder_wake},
	[STACKD_EVENT_LIFE] = {.take = recorder_life},
	[STACKD_EVENT_CALL] = {.keep = recorder_call},
	[STACKD_EVENT_READING] = {.take = take_reading},
	[STACKD_EVENT_LAUNCH] = {.take = take_launch},
	[STACKD_EVENT_COMPLETE] = {.take = recorder_complete},
	[STACKD_EVENT_CODE] = {.prefetch = prefetch_code, .take = take_code},
	[STACKD_EVENT_CODE_BYTES] = {.prefetch = prefetch_code_bytes, .take = take_code},
	[STACKD_EVENT_MANAGED] = {.prefetch = prefetch_managed, .take = take_code},
	[STACKD_EVENT_BRANCHES] = {0}, /* path_builder_take() keeps them for the sample's walk */
};

/* Reads what a stack's frames will be found by. Not of a process whose start has not been taken
 * yet: to ask for its mappings would begin it without those that it has from its parent. */
static int prefetch_stack(struct recorder *r, const struct stackd_stack_record *record)
{
	int err;

	if (!process_table_knows(r->tasks.processes, (pid_t)record->pid))
		return 0;
	err = jit_tracker_note(r->paths.jit, record);
	return err || !r->paths.machines ? err : machines_note(r->paths.machines, record);
}

int recorder_prefetch_record(struct recorder *r, const struct stackd_header *record)
{
	const struct handler *handler;
	struct event event;
	int err = 0;

	event_decode(record, &event);
	handler = &handlers[event.kind];
	if (event.cgroup)
		err = cgroup_table_find(r->tasks.cgroups, event.cgroup, event.pid, event.time_ns);
	if (!err)
		err = ranks_prefetch(r->mpi.ranks, event.pid, r->tasks.processes);
	if (!err && handler->prefetch)
		err = handler->prefetch(r, &event);
	if (!err && record->kind == STACKD_RECORD_STACK)
		err = prefetch_stack(r, (const struct stackd_stack_record *)record);
	else if (!err && r->paths.machines && machines_walked_has(record))
		err = machines_walked_note(r->paths.machines, record, r->with.has_heights);
	return err ? err : recorder_request_table(r, record, true);
}

/* --- in the order of time -------------------------------------------------------------------- */

const struct thread *recorder_thread_of(struct recorder *r, const struct event *event,
					uint32_t *ret_process)
{
	const pid_t pid = event->pid, tid = event->tid;
	const struct thread *thread = process_table_thread(r->tasks.processes, pid, tid);

	if (thread && event->cgroup && thread->cgroup != event->cgroup) {
		thread = process_table_set_cgroup(r->tasks.processes, pid, tid, event->cgroup);
		if (thread && outbox_keep_cgroup(r->outbox, thread))
			return NULL;
	}
	return thread && !process_table_add_row(r->tasks.processes, thread, ret_process) ? thread
											 : NULL;
}

/* Keeps the rank of a process, once. */
static int keep_rank(struct recorder *r, uint32_t process, pid_t pid,
		     const struct store_sample *row)
{
	uint64_t value;
	int is = ranks_take(r->mpi.ranks, process, pid, &value);

	return is > 0 ? recorder_keep(r, SERIES_MPI_RANK, value, *row) : is;
}

/* Keeps the labels of a thread, once, and once more if names of its container are found later. */
static int keep_labels(struct recorder *r, const struct thread *thread, const struct event *event)
{
	const struct labels_of of = {
		.row = thread->row,
		.cgroup = thread->cgroup,
		.path = thread->cgroup ? cgroup_table_path(r->tasks.cgroups, thread->cgroup) : NULL,
		.environment = ranks_labels(r->mpi.ranks, event->pid),
		.time_ns = event->time_ns,
	};
	char *text;
	int is = labels_take(r->labels, &of, &text);

	return is > 0 ? outbox_keep_labels(r->outbox, thread->row, text) : is;
}

/* Begins the path of a stack that was too deep to be walked to its end with two frames: the
 * thread's entry, and one that says how much of the stack is left out (left_out.h). 0 or
 * -ENOMEM. */
static int begin_deep(struct recorder *r, const struct stackd_header *record,
		      const struct path_builder_end *end)
{
	const struct object *object;
	struct stackd_part part;
	int err;

	if (end->reason != STACKD_END_TOO_DEEP || !record_part(record, &part) || !part.left_bytes ||
	    r->paths.path.cut || r->paths.path.added)
		return 0;
	err = left_out_find(&r->paths.left_out, r->files.objects, part.left_bytes, &object);
	if (!err)
		err = thread_paths_entry(r->paths.threads, (pid_t)record->tid, &r->paths.path.node);
	return err ? err : recorder_add_frame(r, object, &r->paths.path.node);
}

/* Takes an event with a path; *ret_end is the result of path_builder_take(), with the end reason
 * that was stored. 0; -ENOMEM; -EBADMSG: the record cannot be used. */
static int take_path(struct recorder *r, const struct event *event,
		     struct path_builder_end *ret_end)
{
	const struct handler *handler = &handlers[event->kind];
	const struct stackd_header *record = event->record;
	uint32_t process;
	const struct thread *thread = recorder_thread_of(r, event, &process);
	struct store_sample row = {.time_ns = event->time_ns, .cpu = event->cpu};
	int err;

	if (!thread)
		return -ENOMEM;
	row.thread = thread->row;
	err = recorder_request_table(r, record, false);
	if (!err)
		err = path_builder_take(r->paths.builder, record, &r->paths.path, ret_end);
	r->taken.managed_unread += !err && r->paths.path.is_unread;
	if (err || !ret_end->is_sample)
		return err;
	err = begin_deep(r, record, ret_end);
	if (!err)
		err = thread_paths_enter(r->paths.threads, record, &r->paths.path, &row.node);
	if (err)
		return err;
	row.period = record_period(record, r->with.usual_period);
	row.end_reason = (uint8_t)ret_end->reason;
	row.origin = ret_end->origin;
	if (handler->place)
		err = handler->place(r, event, &row);
	ret_end->reason = (enum stackd_end_reason)row.end_reason;
	if (!err)
		err = readings_keep(r->readings, r->outbox, record, &row);
	if (!err)
		err = keep_rank(r, process, event->pid, &row);
	if (!err)
		err = keep_labels(r, thread, event);
	return err ? err : handler->keep(r, event, &row);
}

static bool is_sampling(enum stackd_event kind)
{
	return kind == STACKD_EVENT_SAMPLE || kind == STACKD_EVENT_BRANCHES;
}

/* Counts how an event with a path has ended. */
static void count_end(struct recorder *r, enum stackd_event kind, int err,
		      const struct path_builder_end *end)
{
	if (!is_sampling(kind))
		r->taken.partial[kind] +=
			err || (end->reason != STACKD_END_LEFT &&
				end_reason_quality((uint8_t)end->reason) != END_COMPLETE);
	else if (end->is_sample)
		r->taken.end_reasons[err ? STACKD_END_LOST_RECORD : end->reason]++;
}

static int take(struct recorder *r, const struct event *event)
{
	const struct handler *handler = &handlers[event->kind];
	struct path_builder_end end = {.is_sample = true, .reason = STACKD_END_LOST_RECORD};
	int err;

	r->taken.events[event->kind]++;
	err = recorder_settle(r, event->pid, event->time_ns);
	if (err)
		return err;
	if (handler->take)
		return handler->take(r, event);
	err = take_path(r, event, &end);
	count_end(r, event->kind, err, &end);
	return err == -EBADMSG ? 0 : err;
}

int recorder_sample(struct recorder *r, const struct stackd_header *record)
{
	struct event event;
	int err;

	r->paths.taken_since_look++;
	if (!record) {
		r->taken.unread++;
		r->taken.end_reasons[STACKD_END_LOST_RECORD]++;
		return 0;
	}
	event_decode(record, &event);
	err = take(r, &event);
	path_builder_drop(r->paths.builder, record);
	return err;
}

/* --- counters --------------------------------------------------------------------------------- */

/* Returns the sum of the counters of the given kinds of event. */
static uint64_t sum_of(const uint64_t counts[STACKD_EVENT_COUNT], const enum stackd_event *kinds,
		       size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += counts[kinds[i]];
	return sum;
}

void recorder_count_events(const struct recorder *r, struct recorder_counts *counts)
{
	static const enum stackd_event probed[] = {
		STACKD_EVENT_REGION, STACKD_EVENT_LEFT,	 STACKD_EVENT_MARK, STACKD_EVENT_ALLOC,
		STACKD_EVENT_FREE,   STACKD_EVENT_FAULT, STACKD_EVENT_MAP,  STACKD_EVENT_CALL,
	};
	const size_t n = sizeof(probed) / sizeof(probed[0]);

	counts->received = r->taken.events[STACKD_EVENT_SAMPLE] +
			   r->taken.events[STACKD_EVENT_BRANCHES] + r->taken.unread;
	counts->summed_calls = r->taken.summed_calls;
	counts->calls_cut = r->taken.calls_cut;
	counts->calls_unplaced = r->taken.calls_unplaced;
	counts->calls_open = r->taken.calls_open;
	counts->named_walked = r->taken.named_walked;
	counts->named_too_deep = r->taken.named_too_deep;
	counts->tables = call_tables_counts(r->with.calls);
	counts->instances = sum_of(r->taken.events, probed, n);
	counts->partial_instances = sum_of(r->taken.partial, probed, n);
	counts->waits = r->taken.events[STACKD_EVENT_WAIT];
	counts->partial_waits = r->taken.partial[STACKD_EVENT_WAIT];
	counts->wakers = r->taken.events[STACKD_EVENT_WAKE];
}
