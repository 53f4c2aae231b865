/* SPDX-License-Identifier: MIT */
/*
 * Traces for Perfetto (ui.perfetto.dev, trace_processor): a stream of packets, in which
 *
 *   process, thread          a track each
 *   sample                   a PerfSample, whose stack is a number in interned tables
 *   instance of a region     a slice on the thread's own track
 *   wait, blocked or         a slice on the thread's track "Waits", named by its reason, with its
 *   runnable                 stack and the time that it stands for, since waits can be sampled
 *   wake-up                  a flow from a moment on the waker's track "Wakes" to the wait's end
 *   counter                  a track below its thread: the sum of its increments
 *   live heap                a track below its process, in bytes
 *
 * Waits are slices, not states of threads, because readers would take all the time between two
 * states for time on a CPU. A sample that stands for several periods is as many here.
 *
 * All packets are one sequence, so a function, frame or stack is written once, before its first
 * use. Readers sort packets by time and keep the order of those of equal time, so the
 * slices and values of a track must be in order; moments, and events of different tracks, need not
 * be. Slices of a track must nest:
 * a slice that does not fit goes to another track of the same name. Times are CLOCK_MONOTONIC, and
 * the first packet has the wall clock's time at the recording's start.
 */
#include "export/export.h"

#include <errno.h>
#include <stdlib.h>

#include "base/int_map.h"
#include "base/strings.h"
#include "base/text.h"
#include "export/paraver_events.h"
#include "export/perfetto_wire.h"
#include "model/counter_names.h"
#include "model/frame_kind.h"
#include "model/waits.h"
#include "model/waker_name.h"

#define DRAIN		 65536	      /* bytes after which a buffer is written out */
#define SAMPLE_COPIES	 10000	      /* the most that are written for a sample */
#define TRACK_OF_PROCESS 1	      /* track of process 0; the others follow */
#define TRACK_OF_THREAD	 (1ull << 32) /* track of thread 0 */
#define TRACK_OF_OTHERS	 (1ull << 33)

/* A wait, or an instance of a region. */
struct slice {
	uint64_t begin_ns, end_ns;
	uint32_t thread, node;
	/* of a wait: its index in its lane */
	uint32_t index;
	enum slice_kind { SLICE_REGION, SLICE_BLOCKED, SLICE_RUNNABLE } kind;
};

/* A track of slices, and those that have begun and not ended, innermost last. */
struct lane {
	uint64_t track;
	VEC(const struct slice *) open;
};

struct writer {
	struct profile *profile;
	const struct store_tables *tables;
	FILE *out;
	struct buf b; /* what is to be written out */
	struct buf packet, interned;
	struct buf message, part; /* a message of the packet or table, and one within it */

	struct strings *functions, *sources;
	struct int_map frames, stacks;
	uint32_t n_frames, n_stacks;
	VEC(uint64_t) ids; /* frames of a stack */

	struct paraver_events events;
	struct waits waits;
	VEC(struct slice) slices;
	VEC(struct lane) lanes; /* of one thread */
	bool *has_thread, *has_process;
	uint64_t *wakes;    /* by thread: its track "Wakes"; 0: none yet */
	uint64_t *counters; /* by thread * METRIC_COUNTERS + counter: its track; 0: none yet */
	uint64_t n_others, n_flows;
};

/* --- packets ---------------------------------------------------------------------------------- */

/* Appends `packet`, which it empties, to what is written out. */
static int put_packet(struct writer *w, struct buf *packet)
{
	perfetto_number(packet, PACKET_SEQUENCE, 1);
	perfetto_message(&w->b, TRACE_PACKET, packet);
	return w->b.len >= DRAIN || w->b.failed ? text_flush(&w->b, w->out) : 0;
}

/* Writes a packet that has `message` in a field, and empties the message. */
static int put_message(struct writer *w, uint64_t time_ns, enum perfetto_field field)
{
	perfetto_number(&w->packet, PACKET_TIMESTAMP, time_ns);
	perfetto_number(&w->packet, PACKET_FLAGS, FLAG_NEEDS_TABLES);
	perfetto_message(&w->packet, field, &w->message);
	return put_packet(w, &w->packet);
}

static void put_clock(struct writer *w, unsigned id, uint64_t time_ns)
{
	perfetto_number(&w->part, CLOCK_ID, id);
	perfetto_number(&w->part, CLOCK_TIME, time_ns);
	perfetto_message(&w->message, SNAPSHOT_CLOCK, &w->part);
}

static int put_head(struct writer *w)
{
	const struct store_recording *recording = &w->tables->recording;

	put_clock(w, CLOCK_IS_MONOTONIC, recording->start_ns);
	put_clock(w, CLOCK_IS_REALTIME, recording->start_unix_ns);
	perfetto_number(&w->message, SNAPSHOT_PRIMARY, CLOCK_IS_MONOTONIC);
	perfetto_message(&w->packet, PACKET_CLOCK_SNAPSHOT, &w->message);
	perfetto_number(&w->message, DEFAULTS_CLOCK, CLOCK_IS_MONOTONIC);
	perfetto_message(&w->packet, PACKET_DEFAULTS, &w->message);
	perfetto_number(&w->packet, PACKET_FLAGS, FLAG_BEGINS_TABLES | FLAG_NEEDS_TABLES);
	perfetto_number(&w->packet, PACKET_IS_FIRST, true);
	return put_packet(w, &w->packet);
}

/* --- tracks ----------------------------------------------------------------------------------- */

/* Writes the description of a track that `message` has, but for its number and parent. */
static int put_track(struct writer *w, uint64_t track, uint64_t parent)
{
	perfetto_number(&w->message, TRACK_UUID, track);
	if (parent)
		perfetto_number(&w->message, TRACK_PARENT, parent);
	perfetto_message(&w->packet, PACKET_TRACK, &w->message);
	return put_packet(w, &w->packet);
}

static int need_process(struct writer *w, uint32_t number)
{
	const struct store_process *process = &w->tables->processes[number];

	if (w->has_process[number])
		return 0;
	w->has_process[number] = true;
	perfetto_number(&w->part, PROCESS_PID, (uint64_t)(int64_t)process->pid);
	perfetto_text(&w->part, PROCESS_NAME, process->comm);
	if (process->exe)
		perfetto_text(&w->part, PROCESS_COMMAND, process->exe);
	perfetto_message(&w->message, TRACK_PROCESS, &w->part);
	return put_track(w, TRACK_OF_PROCESS + number, 0);
}

/* Describes a thread, unless it was described before. */
static int need_thread(struct writer *w, uint32_t number)
{
	const struct store_thread *thread = &w->tables->threads[number];
	int err;

	if (w->has_thread[number])
		return 0;
	w->has_thread[number] = true;
	err = need_process(w, thread->process);
	if (err)
		return err;
	perfetto_number(&w->part, THREAD_PID,
			(uint64_t)(int64_t)w->tables->processes[thread->process].pid);
	perfetto_number(&w->part, THREAD_TID, (uint64_t)(int64_t)thread->tid);
	perfetto_text(&w->part, THREAD_NAME, thread->comm);
	perfetto_message(&w->message, TRACK_THREAD, &w->part);
	return put_track(w, TRACK_OF_THREAD + number, TRACK_OF_PROCESS + thread->process);
}

/* Makes a track below another; *ret_track receives its number. */
static int new_track(struct writer *w, uint64_t parent, const char *name, unsigned unit,
		     uint64_t *ret_track)
{
	*ret_track = TRACK_OF_OTHERS + w->n_others++;
	perfetto_text(&w->message, TRACK_NAME, name);
	if (unit) {
		perfetto_number(&w->part, COUNTER_UNIT, unit);
		perfetto_message(&w->message, TRACK_COUNTER, &w->part);
	}
	return put_track(w, *ret_track, parent);
}

static void begin_event(struct writer *w, unsigned type, uint64_t track)
{
	perfetto_number(&w->message, EVENT_TYPE, type);
	perfetto_number(&w->message, EVENT_TRACK, track);
}

static int put_value(struct writer *w, uint64_t track, uint64_t time_ns, uint64_t value)
{
	begin_event(w, TYPE_VALUE, track);
	perfetto_number(&w->message, EVENT_VALUE, value);
	return put_message(w, time_ns, PACKET_TRACK_EVENT);
}

/* --- interned tables -------------------------------------------------------------------------- */

/* Finds the number of a string in its table, to which a new one is added. */
static int need_string(struct writer *w, struct strings *strings, enum perfetto_field field,
		       const char *text, uint64_t *ret_id)
{
	const uint32_t known = strings_count(strings);
	uint32_t number;
	int err = strings_intern(strings, text, &number);

	if (err)
		return err;
	*ret_id = (uint64_t)number + 1;
	if (number < known)
		return 0;
	perfetto_number(&w->part, STRING_ID, *ret_id);
	perfetto_text(&w->part, STRING_TEXT, text);
	perfetto_message(&w->interned, field, &w->part);
	return 0;
}

static void put_mapping(struct writer *w, uint64_t id, const char *path, const uint8_t *build_id,
			size_t len)
{
	perfetto_number(&w->part, STRING_ID, id);
	perfetto_text(&w->part, STRING_TEXT, path);
	perfetto_message(&w->interned, INTERNED_PATH, &w->part);
	if (len) {
		perfetto_number(&w->part, STRING_ID, id);
		perfetto_bytes(&w->part, STRING_TEXT, build_id, len);
		perfetto_message(&w->interned, INTERNED_BUILD_ID, &w->part);
	}
	perfetto_number(&w->part, MAPPING_ID, id);
	if (len)
		perfetto_number(&w->part, MAPPING_BUILD_ID, id);
	perfetto_number(&w->part, MAPPING_PATH, id);
	perfetto_message(&w->interned, INTERNED_MAPPING, &w->part);
}

/* Writes a mapping for each object, and one more for marks: older readers refuse a stack that has a
 * frame without a mapping. */
static int put_mappings(struct writer *w)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < w->tables->n_objects; i++) {
		const struct store_object *object = &w->tables->objects[i];

		put_mapping(w, (uint64_t)i + 1, object->path ? object->path : "[unknown]",
			    object->build_id, object->build_id_len);
	}
	put_mapping(w, (uint64_t)w->tables->n_objects + 1, "[stackd]", NULL, 0);
	perfetto_message(&w->packet, PACKET_INTERNED, &w->interned);
	perfetto_number(&w->packet, PACKET_FLAGS, FLAG_NEEDS_TABLES);
	return put_packet(w, &w->packet);
}

static void put_frame(struct writer *w, const struct profile_frame *frame, uint64_t function,
		      uint64_t source)
{
	static const uint8_t kinds[FRAME_KINDS] = {
		[FRAME_NATIVE] = KIND_NATIVE,	   [FRAME_INLINED] = KIND_NATIVE,
		[FRAME_KERNEL] = KIND_KERNEL,	   [FRAME_JIT] = KIND_JIT,
		[FRAME_PYTHON] = KIND_INTERPRETED, [FRAME_JAVA] = KIND_JIT,
		[FRAME_RUBY] = KIND_INTERPRETED,   [FRAME_PHP] = KIND_INTERPRETED,
		[FRAME_PERL] = KIND_INTERPRETED,   [FRAME_JAVASCRIPT] = KIND_JIT,
		[FRAME_ERLANG] = KIND_JIT,	   [FRAME_MANAGED] = KIND_INTERPRETED,
	};
	const bool has_code = frame->location != UINT32_MAX;
	const struct store_location *location =
		has_code ? &w->tables->locations[frame->location] : NULL;
	const uint8_t kind = kinds[frame_kind_of(frame)];

	perfetto_number(&w->part, FRAME_ID, w->n_frames);
	perfetto_number(&w->part, FRAME_FUNCTION, function);
	perfetto_number(&w->part, FRAME_MAPPING,
			(uint64_t)(has_code ? location->object : w->tables->n_objects) + 1);
	perfetto_number(&w->part, FRAME_PC, has_code ? location->offset : frame->symbol->number);
	if (source)
		perfetto_number(&w->part, FRAME_SOURCE, source);
	if (frame->line)
		perfetto_number(&w->part, FRAME_LINE, frame->line);
	if (kind)
		perfetto_number(&w->part, FRAME_KIND_OF, kind);
	perfetto_message(&w->interned, INTERNED_FRAME, &w->part);
}

static int need_frame(struct writer *w, const struct profile_frame *frame, uint64_t *ret_id)
{
	const uint64_t key = (uint64_t)frame->location << 32 |
			     (uint64_t)frame->symbol->number << 1 | frame->is_inferred;
	uint64_t function, source = 0;
	uint32_t number;
	int err = int_map_enter_wide(&w->frames, key, frame->line, w->n_frames + 1, &number);

	*ret_id = number;
	if (err || number <= w->n_frames)
		return err;
	w->n_frames++;
	err = need_string(w, w->functions, INTERNED_FUNCTION, frame->symbol->name, &function);
	if (!err && frame->file)
		err = need_string(w, w->sources, INTERNED_SOURCE, frame->file, &source);
	if (!err)
		put_frame(w, frame, function, source);
	return err;
}

static int put_stack(struct writer *w, const struct profile_frame *frames, size_t n)
{
	int err = 0;

	if (VEC_RESERVE(&w->ids, n))
		return -ENOMEM;
	for (size_t i = 0; i < n && !err; i++)
		err = need_frame(w, &frames[i], &w->ids.items[i]);
	if (err)
		return err;
	perfetto_number(&w->part, STACK_ID, w->n_stacks);
	for (size_t i = 0; i < n; i++)
		perfetto_number(&w->part, STACK_FRAMES, w->ids.items[i]);
	perfetto_message(&w->interned, INTERNED_STACK, &w->part);
	perfetto_message(&w->packet, PACKET_INTERNED, &w->interned);
	perfetto_number(&w->packet, PACKET_FLAGS, FLAG_NEEDS_TABLES);
	return put_packet(w, &w->packet);
}

/* Finds the number of a path's stack, which is written if it is new. */
static int need_stack(struct writer *w, uint32_t node, uint8_t end_reason, uint32_t origin,
		      uint64_t *ret_id)
{
	const struct profile_frame none = {.symbol = profile_no_frames(w->profile),
					   .location = UINT32_MAX};
	const struct profile_frame *frames;
	uint32_t number;
	size_t n;
	int err = int_map_enter_wide(&w->stacks, (uint64_t)node << 32 | origin, end_reason,
				     w->n_stacks + 1, &number);

	*ret_id = number;
	if (err || number <= w->n_stacks)
		return err;
	w->n_stacks++;
	frames = profile_frames(w->profile, node, end_reason, origin, &n);
	if (!frames)
		return -ENOMEM;
	return n ? put_stack(w, frames, n) : put_stack(w, &none, 1);
}

/* --- samples and counters --------------------------------------------------------------------- */

/* Writes a sample at a time. */
static int put_sample_at(struct writer *w, const struct paraver_event *event, uint64_t stack,
			 uint64_t time_ns)
{
	const struct store_thread *thread = &w->tables->threads[event->thread];

	perfetto_number(&w->message, SAMPLE_CPU, event->cpu);
	perfetto_number(&w->message, SAMPLE_PID,
			(uint32_t)w->tables->processes[thread->process].pid);
	perfetto_number(&w->message, SAMPLE_TID, (uint32_t)thread->tid);
	perfetto_number(&w->message, SAMPLE_STACK, stack);
	return put_message(w, time_ns, PACKET_PERF_SAMPLE);
}

/* Writes a sample for each period that a sample stands for, since the format's samples have no
 * weight: the last one at its own time, the others a period apart before it. */
static int put_sample(struct writer *w, const struct paraver_event *event)
{
	const uint64_t periods = profile_periods(w->profile, event->amount);
	const uint64_t period_ns =
		store_is_timed(&w->tables->recording) && periods ? event->amount / periods : 0;
	const uint64_t start = w->tables->recording.start_ns;
	const uint64_t room = event->time_ns > start ? event->time_ns - start : 0;
	uint64_t stack;
	int err = need_stack(w, event->sample.node, event->detail, event->sample.origin, &stack);

	for (uint64_t left = periods < SAMPLE_COPIES ? periods : SAMPLE_COPIES; !err && left--;) {
		const uint64_t back = left * period_ns;

		err = put_sample_at(w, event, stack, event->time_ns - (back < room ? back : room));
	}
	return err;
}

static int put_reading(struct writer *w, const struct paraver_event *event, char *const *names)
{
	uint64_t *track = &w->counters[(size_t)event->thread * METRIC_COUNTERS + event->detail];
	const bool is_ns = event->detail == counter_names_cpu(names);
	int err = 0;

	if (!*track)
		err = new_track(w, TRACK_OF_THREAD + event->thread, names[event->detail],
				is_ns ? UNIT_NS : UNIT_COUNT, track);
	return err ? err : put_value(w, *track, event->time_ns, event->reading);
}

static int put_events(struct writer *w)
{
	char *names[METRIC_COUNTERS] = {0};
	int err = counter_names_find(w->tables, names);

	for (size_t i = 0; i < w->events.all.count && !err; i++) {
		const struct paraver_event *event = &w->events.all.items[i];

		if (!event->is_shown)
			continue;
		err = need_thread(w, event->thread);
		if (!err && event->kind == PARAVER_SAMPLE)
			err = put_sample(w, event);
		else if (!err && event->kind == PARAVER_READING)
			err = put_reading(w, event, names);
	}
	counter_names_free(names);
	return err;
}

/* --- slices ----------------------------------------------------------------------------------- */

static int add_slice(struct writer *w, const struct slice *slice)
{
	if (VEC_RESERVE(&w->slices, 1))
		return -ENOMEM;
	w->slices.items[w->slices.count] = *slice;
	if (slice->begin_ns > slice->end_ns)
		w->slices.items[w->slices.count].begin_ns = slice->end_ns;
	w->slices.count++;
	return 0;
}

/* Returns whether the profile's filter selects an instance, or a part of its time. */
static bool is_region_shown(const struct writer *w, const struct paraver_instance *instance)
{
	const struct store_sample record = {.time_ns = instance->end_ns,
					    .thread = instance->thread,
					    .node = instance->node,
					    .cpu = instance->cpu};
	struct store_sample shown;

	if (instance->is_shown)
		return true;
	return instance->start_ns <= profile_end(w->profile) &&
	       instance->end_ns >= profile_begin(w->profile) &&
	       profile_sample_at_any_time(w->profile, &record, &shown);
}

static int add_regions(struct writer *w)
{
	int err = 0;

	for (size_t i = 0; i < w->events.instances.count && !err; i++) {
		const struct paraver_instance *instance = &w->events.instances.items[i];

		if (is_region_shown(w, instance))
			err = add_slice(w, &(struct slice){.begin_ns = instance->start_ns,
							   .end_ns = instance->end_ns,
							   .thread = instance->thread,
							   .node = instance->node});
	}
	return err;
}

static const struct wait *wait_of(const struct writer *w, const struct slice *slice)
{
	const struct wait_lane *lane = &w->waits.lanes[slice->thread];

	return slice->kind == SLICE_BLOCKED ? &lane->blocked.items[slice->index]
					    : &lane->runnable.items[slice->index];
}

static int add_waits(struct writer *w, uint32_t thread, enum slice_kind kind, size_t n)
{
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		struct slice slice = {.thread = thread, .index = (uint32_t)i, .kind = kind};
		const struct wait *wait = wait_of(w, &slice);

		slice.begin_ns = wait->begin_ns;
		slice.end_ns = wait->end_ns;
		if (wait->is_chosen)
			err = add_slice(w, &slice);
	}
	return err;
}

/* Orders slices by thread and begin; of those that begin together, the longest comes first. */
static int by_begin(const void *a, const void *b)
{
	const struct slice *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns > y->end_ns ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* Writes the moment at which a thread woke another, from which a flow begins. */
static int put_wake(struct writer *w, uint32_t waker, uint32_t woken, uint64_t time_ns)
{
	struct buf name = {0};
	int err = need_thread(w, waker);

	if (!err && !w->wakes[waker])
		err = new_track(w, TRACK_OF_THREAD + waker, "Wakes", 0, &w->wakes[waker]);
	if (err)
		return err;
	text_put_raw(&name, "wakes ");
	text_put(&name, w->tables->threads[woken].comm, NULL);
	begin_event(w, TYPE_INSTANT, w->wakes[waker]);
	perfetto_message(&w->message, EVENT_NAME, &name);
	perfetto_fixed64(&w->message, EVENT_FLOW, w->n_flows);
	buf_free(&name);
	return put_message(w, time_ns, PACKET_TRACK_EVENT);
}

/* Writes the moment at which a wait ended, named by its waker, where the waker is known. Wake-ups
 * are of another clock than waits, and a flow must not go back in time, so the wake is written no
 * later than the wait's end. */
static int put_woken(struct writer *w, uint64_t track, const struct slice *slice)
{
	const struct waking *waking = waits_waking(&w->waits.lanes[slice->thread], slice->index);
	struct buf name = {0}, raw = {0};
	uint32_t waker;
	int err = 0;

	if (!waking)
		return 0;
	waker = waits_waker(&w->waits, waking);
	w->n_flows++;
	if (waker != WAITS_NONE)
		err = put_wake(w, waker, slice->thread,
			       waking->time_ns < slice->end_ns ? waking->time_ns : slice->end_ns);
	if (waking->value == WAKER_OF_INTERRUPT)
		text_put_raw(&raw, "an interrupt");
	else if (!err)
		err = waker_name(w->profile, waker, waking, &raw);
	buf_put_u8(&raw, 0);
	if (!err && !raw.failed) {
		text_put_raw(&name, "woken by ");
		text_put(&name, (const char *)raw.data, NULL);
		begin_event(w, TYPE_INSTANT, track);
		perfetto_message(&w->message, EVENT_NAME, &name);
		if (waker != WAITS_NONE)
			perfetto_fixed64(&w->message, EVENT_FLOW_ENDS, w->n_flows);
		err = put_message(w, slice->end_ns, PACKET_TRACK_EVENT);
	}
	if (raw.failed)
		err = -ENOMEM;
	buf_free(&name);
	buf_free(&raw);
	return err;
}

/* Appends the name and the particulars of a region's instance to the event. */
static int put_region(struct writer *w, const struct slice *slice)
{
	const struct profile_frame *frames = NULL;
	size_t n;

	if (slice->node) {
		frames = profile_location_frames(w->profile, w->tables->nodes[slice->node].location,
						 &n);
		if (!frames)
			return -ENOMEM;
	}
	perfetto_text(&w->message, EVENT_NAME,
		      frames ? frames[0].symbol->name : profile_no_frames(w->profile)->name);
	perfetto_text(&w->message, EVENT_CATEGORY, "region");
	return 0;
}

/* Appends the name and the details of a wait to the event. */
static int put_wait(struct writer *w, const struct slice *slice, uint64_t stack)
{
	const struct wait *wait = wait_of(w, slice);
	const bool is_blocked = slice->kind == SLICE_BLOCKED;
	const char *name = is_blocked ? "blocked" : "runnable";
	const struct profile_frame *frames;
	size_t n;

	frames = profile_frames(w->profile, wait->record.node, wait->record.end_reason,
				wait->record.origin, &n);
	if (!frames)
		return -ENOMEM;
	n = profile_wait_depth(frames, n);
	perfetto_text(&w->message, EVENT_NAME, n ? frames[n - 1].symbol->name : name);
	perfetto_text(&w->message, EVENT_CATEGORY, is_blocked ? "wait.blocked" : "wait.runnable");
	perfetto_number(&w->message, EVENT_STACK, stack);
	perfetto_text(&w->part, ANNOTATION_NAME, "stands for ns");
	perfetto_number(&w->part, ANNOTATION_UINT, wait->ns);
	perfetto_message(&w->message, EVENT_ANNOTATION, &w->part);
	return 0;
}

static int put_begin(struct writer *w, uint64_t track, const struct slice *slice)
{
	const struct wait *wait = slice->kind == SLICE_REGION ? NULL : wait_of(w, slice);
	uint64_t stack = 0;
	int err = 0;

	if (wait)
		err = need_stack(w, wait->record.node, wait->record.end_reason, wait->record.origin,
				 &stack);
	if (err)
		return err;
	begin_event(w, TYPE_BEGIN, track);
	err = wait ? put_wait(w, slice, stack) : put_region(w, slice);
	return err ? err : put_message(w, slice->begin_ns, PACKET_TRACK_EVENT);
}

/* Ends the slices of a lane that end until `time_ns`. */
static int end_slices(struct writer *w, struct lane *lane, uint64_t time_ns)
{
	int err = 0;

	while (!err && lane->open.count &&
	       lane->open.items[lane->open.count - 1]->end_ns <= time_ns) {
		const struct slice *slice = lane->open.items[--lane->open.count];

		if (slice->kind == SLICE_BLOCKED)
			err = put_woken(w, lane->track, slice);
		if (err)
			return err;
		begin_event(w, TYPE_END, lane->track);
		err = put_message(w, slice->end_ns, PACKET_TRACK_EVENT);
	}
	return err;
}

/* Adds a lane to those of a thread. The first one of regions is the thread's own track. */
static int new_lane(struct writer *w, const struct slice *slice)
{
	const uint64_t thread = TRACK_OF_THREAD + slice->thread;
	const bool is_region = slice->kind == SLICE_REGION;
	struct lane *lane;

	if (VEC_RESERVE(&w->lanes, 1))
		return -ENOMEM;
	lane = &w->lanes.items[w->lanes.count++];
	*lane = (struct lane){.track = thread};
	if (is_region && w->lanes.count == 1)
		return 0;
	return new_track(w, thread, is_region ? "Regions" : "Waits", 0, &lane->track);
}

/* Writes the begin of a slice on the first lane where it is within the innermost open one. */
static int begin_slice(struct writer *w, const struct slice *slice)
{
	struct lane *lane = NULL;
	int err = need_thread(w, slice->thread);

	for (size_t i = 0; i < w->lanes.count && !err && !lane; i++) {
		struct lane *one = &w->lanes.items[i];

		err = end_slices(w, one, slice->begin_ns);
		if (!one->open.count ||
		    one->open.items[one->open.count - 1]->end_ns >= slice->end_ns)
			lane = one;
	}
	if (!err && !lane) {
		err = new_lane(w, slice);
		lane = err ? NULL : &w->lanes.items[w->lanes.count - 1];
	}
	if (err)
		return err;
	if (VEC_RESERVE(&lane->open, 1))
		return -ENOMEM;
	lane->open.items[lane->open.count++] = slice;
	return put_begin(w, lane->track, slice);
}

/* Ends all slices of a thread, and forgets its lanes. */
static int end_lanes(struct writer *w)
{
	int err = 0;

	for (size_t i = 0; i < w->lanes.count; i++) {
		if (!err)
			err = end_slices(w, &w->lanes.items[i], UINT64_MAX);
		free(w->lanes.items[i].open.items);
	}
	w->lanes.count = 0;
	return err;
}

/* Writes the collected slices, and forgets them. */
static int put_slices(struct writer *w)
{
	int err = 0, end;

	if (w->slices.count)
		qsort(w->slices.items, w->slices.count, sizeof(*w->slices.items), by_begin);
	for (size_t i = 0; i < w->slices.count && !err; i++) {
		const struct slice *slice = &w->slices.items[i];

		if (i && slice[-1].thread != slice->thread)
			err = end_lanes(w);
		if (!err)
			err = begin_slice(w, slice);
	}
	end = end_lanes(w);
	w->slices.count = 0;
	return err ? err : end;
}

static int put_all_slices(struct writer *w)
{
	int err = add_regions(w);

	if (!err)
		err = put_slices(w);
	if (!err)
		err = waits_make(w->profile, true, &w->waits);
	for (uint32_t i = 0; i < w->waits.n_threads && !err; i++) {
		err = add_waits(w, i, SLICE_BLOCKED, w->waits.lanes[i].blocked.count);
		if (!err)
			err = add_waits(w, i, SLICE_RUNNABLE, w->waits.lanes[i].runnable.count);
	}
	return err ? err : put_slices(w);
}

/* --- the heap --------------------------------------------------------------------------------- */

/* A block that was made, or freed. */
struct change {
	uint64_t time_ns, bytes;
	uint32_t process;
	bool is_end;
};

struct changes {
	const struct writer *w;
	bool *is_shown; /* by process: the profile's filter selects one of its allocations */
	VEC(struct change) all;
	bool is_end;
};

static int add_change(void *arg, const struct store_sample *record)
{
	struct changes *c = arg;
	const uint32_t process = c->w->tables->threads[record->thread].process;

	if (VEC_RESERVE(&c->all, 1))
		return -ENOMEM;
	if (!c->is_end && profile_includes(c->w->profile, record))
		c->is_shown[process] = true;
	c->all.items[c->all.count++] = (struct change){
		.time_ns = record->time_ns,
		.bytes = record->period,
		.process = process,
		.is_end = c->is_end,
	};
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (int)x->is_end - (int)y->is_end;
}

/* Writes the live bytes of each process that is shown, after each sampled allocation and end of
 * one. */
static int put_changes(struct writer *w, const struct changes *c)
{
	uint64_t *tracks = calloc((size_t)w->tables->n_processes + 1, sizeof(*tracks));
	uint64_t *live = calloc((size_t)w->tables->n_processes + 1, sizeof(*live));
	int err = tracks && live ? 0 : -ENOMEM;

	for (size_t i = 0; i < c->all.count && !err; i++) {
		const struct change *change = &c->all.items[i];
		const uint32_t process = change->process;

		if (!c->is_shown[process])
			continue;
		if (!tracks[process])
			err = need_process(w, process);
		if (!err && !tracks[process])
			err = new_track(w, TRACK_OF_PROCESS + process, "Live heap", UNIT_BYTES,
					&tracks[process]);
		live[process] += change->is_end ? -change->bytes : change->bytes;
		if (!err)
			err = put_value(w, tracks[process], change->time_ns, live[process]);
	}
	free(tracks);
	free(live);
	return err;
}

static int put_heap(struct writer *w)
{
	struct store_reader *reader = profile_reader(w->profile);
	struct changes c = {.w = w};
	int err;

	c.is_shown = calloc((size_t)w->tables->n_processes + 1, sizeof(*c.is_shown));
	err = c.is_shown ? store_reader_records(reader, SERIES_ALLOC_BYTES, add_change, &c)
			 : -ENOMEM;
	c.is_end = true;
	if (!err)
		err = store_reader_records(reader, SERIES_FREED_BYTES, add_change, &c);
	if (c.all.count)
		qsort(c.all.items, c.all.count, sizeof(*c.all.items), by_time);
	if (!err)
		err = put_changes(w, &c);
	free(c.all.items);
	free(c.is_shown);
	return err;
}

/* ---------------------------------------------------------------------------------------------- */

static int make_tables(struct writer *w)
{
	const size_t threads = (size_t)w->tables->n_threads + 1;
	int err = strings_new(&w->functions);

	if (!err)
		err = strings_new(&w->sources);
	w->has_thread = calloc(threads, sizeof(*w->has_thread));
	w->has_process = calloc((size_t)w->tables->n_processes + 1, sizeof(*w->has_process));
	w->wakes = calloc(threads, sizeof(*w->wakes));
	w->counters = calloc(threads, METRIC_COUNTERS * sizeof(*w->counters));
	if (!w->has_thread || !w->has_process || !w->wakes || !w->counters)
		return -ENOMEM;
	return err ? err : paraver_events_make(w->profile, &w->events);
}

static void free_tables(struct writer *w)
{
	paraver_events_free(&w->events);
	waits_free(&w->waits);
	strings_free(w->functions);
	strings_free(w->sources);
	int_map_fini(&w->frames);
	int_map_fini(&w->stacks);
	buf_free(&w->packet);
	buf_free(&w->interned);
	buf_free(&w->message);
	buf_free(&w->part);
	free(w->ids.items);
	free(w->slices.items);
	free(w->lanes.items);
	free(w->has_thread);
	free(w->has_process);
	free(w->wakes);
	free(w->counters);
}

int export_perfetto(struct profile *profile, FILE *out)
{
	static int (*const parts[])(struct writer *) = {put_head, put_mappings, put_events,
							put_all_slices, put_heap};
	struct writer w = {.profile = profile, .tables = profile_tables(profile), .out = out};
	int err = make_tables(&w);

	for (size_t i = 0; !err && i < sizeof(parts) / sizeof(*parts); i++)
		err = parts[i](&w);
	free_tables(&w);
	return text_end(&w.b, out, err);
}
