/* SPDX-License-Identifier: MIT */
/*
 * The way of a record into the store; see import.h.
 *
 * The recording is begun at the first sample: before that, it is not known what it is of. Then
 * all that is new (objects, processes, locations, nodes) goes to the writer before the sample
 * that refers to it, so the writer always has a whole recording. Names come at the end, once for
 * each location.
 */
#include "perf/import.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/vec.h"
#include "perf/import_event.h"
#include "perf/import_missing.h"
#include "perf/import_note.h"
#include "perf/import_stack.h"
#include "perf/import_processes.h"
#include "sym/naming.h"
#include "proc/object_elsewhere.h"
#include "stack/end_reason.h"
#include "stack/trie.h"

#define COMMIT_SAMPLES (1u << 18)

struct import {
	struct perfdata *reader;
	const struct import_options *options;
	struct import_processes *world;
	struct import_stack *stack;
	struct trie *trie;
	struct origin_table *origins;

	struct store_writer *writer; /* NULL: no sample has come yet */
	struct store_recording info;
	const struct perfdata_event *first; /* of the first sample */
	const char *event;		    /* the chosen one's name */
	char *target, *note, *missing;
	uint32_t sent_objects, sent_locations, sent_processes, sent_threads, sent_nodes,
		sent_origins;

	uint64_t ends[STACKD_END_COUNT];
	uint64_t inferred_whole, stale, other_samples;
	char *error;
};

/* Notes the sentence of a failure. */
static int fail(struct import *im, int r, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int fail(struct import *im, int r, const char *format, ...)
{
	va_list args;

	if (im->error)
		return r;
	va_start(args, format);
	if (vasprintf(&im->error, format, args) < 0)
		im->error = NULL;
	va_end(args);
	return r;
}

/* --- which event ----------------------------------------------------------------------------- */

static int several_events(struct import *im, const char *name)
{
	return fail(im, -EINVAL,
		    "samples of several events, '%s' and '%s': choose one with --event NAME, or "
		    "several if they count the same",
		    im->event, name);
}

/* 1: the sample is wanted; 0: it is not; -EINVAL: nobody said which of several. */
static int choose(struct import *im, const char *name)
{
	if (im->options->n_events)
		return import_event_is_among(name, im->options->events, im->options->n_events);
	if (!im->event || import_event_is_same(im->event, name))
		return 1;
	return several_events(im, name);
}

/* --- the recording --------------------------------------------------------------------------- */

static uint64_t wall_clock(const struct import *im, uint64_t start_ns)
{
	const struct perfdata_info *info = perfdata_info(im->reader);
	uint64_t span = info->last_ns > start_ns ? info->last_ns - start_ns : 0;

	if (info->unix_ns)
		return info->unix_ns + (start_ns - info->clock_ns);
	return im->options->unix_ns > span ? im->options->unix_ns - span : 0;
}

static int describe(struct import *im, const struct perfdata_event *e, uint64_t start_ns)
{
	const struct perfdata_info *info = perfdata_info(im->reader);

	if (asprintf(&im->target, "import %s", im->options->target) < 0)
		im->target = NULL;
	if (!im->target)
		return -ENOMEM;
	im->info = (struct store_recording){
		.start_unix_ns = wall_clock(im, start_ns),
		.start_ns = start_ns,
		.end_ns = start_ns,
		.host = info->host,
		.kernel = info->kernel,
		.arch = info->arch,
		.command = info->command,
		.target = im->target,
		.event = im->event,
		.frequency_hz = e->is_frequency ? e->period_or_hz : 0,
		.period = e->is_frequency ? 0 : e->period_or_hz,
		.cpus = info->cpus,
	};
	return 0;
}

static int begin(struct import *im, const struct perfdata_event *e, uint64_t start_ns)
{
	int r = describe(im, e, start_ns);

	im->first = e;
	return r ? r : store_writer_new(im->options->store, &im->info, &im->writer, &im->error);
}

/* --- what is new ----------------------------------------------------------------------------- */

static int send_objects(struct import *im)
{
	int r = 0;

	for (; !r && im->sent_objects < object_table_count(im->world->objects);) {
		const struct object *o = object_table_at(im->world->objects, im->sent_objects++);
		const struct store_object row = {
			.number = o->number,
			.kind = o->kind,
			.file_id = o->file_id,
			.path = o->path,
			.build_id = o->build_id,
			.build_id_len = o->build_id_len,
			.problem = o->error ? strerror(-o->error) : NULL,
		};

		r = store_writer_object(im->writer, &row);
	}
	return r;
}

static int send_locations(struct import *im)
{
	int r = 0;

	for (; !r && im->sent_locations < location_count(im->world->locations);) {
		const struct location *l = location_at(im->world->locations, im->sent_locations);
		const struct store_location row = {
			.number = im->sent_locations++,
			.object = l->object,
			.offset = l->offset,
			.is_return = l->is_return,
		};

		r = store_writer_location(im->writer, &row);
	}
	return r;
}

static int send_processes(struct import *im)
{
	int r = 0;

	for (; !r && im->sent_processes < process_table_process_count(im->world->table);) {
		const struct process *p =
			process_table_process_at(im->world->table, im->sent_processes++);
		const struct store_process row = {
			.number = p->number,
			.pid = p->pid,
			.parent = p->parent,
			.comm = p->comm,
			.exe = p->exe,
		};

		r = store_writer_process(im->writer, &row);
	}
	return r;
}

static int send_threads(struct import *im)
{
	int r = 0;

	for (; !r && im->sent_threads < process_table_thread_count(im->world->table);) {
		const struct thread *t =
			process_table_thread_at(im->world->table, im->sent_threads++);
		const struct store_thread row = {
			.number = t->number, .process = t->process, .tid = t->tid, .comm = t->comm};

		r = store_writer_thread(im->writer, &row);
	}
	return r;
}

static int send_paths(struct import *im)
{
	int r = 0;

	for (; !r && im->sent_nodes < trie_count(im->trie); im->sent_nodes++) {
		const struct trie_node *node = trie_at(im->trie, im->sent_nodes);
		const struct store_node row = {.parent = node->parent, .location = node->location};

		r = store_writer_node(im->writer, &row);
	}
	for (; !r && im->sent_origins < origin_count(im->origins); im->sent_origins++) {
		const struct origin origin = origin_at(im->origins, im->sent_origins);

		r = store_writer_origin(im->writer, im->sent_origins, &origin);
	}
	return r;
}

static int send_new(struct import *im)
{
	int r = send_objects(im);

	if (!r)
		r = send_locations(im);
	if (!r)
		r = send_processes(im);
	if (!r)
		r = send_threads(im);
	return r ? r : send_paths(im);
}

static int commit(struct import *im, bool is_last)
{
	int r;

	im->info.lost = perfdata_counts(im->reader)->lost;
	im->info.finished = is_last;
	r = store_writer_commit(im->writer, &im->info);
	return r ? fail(im, r, "cannot write %s: %s", im->options->store,
			store_writer_error(im->writer))
		 : 0;
}

/* --- samples --------------------------------------------------------------------------------- */

static bool same_frame(const struct import_frame *a, const struct import_frame *b)
{
	return a->address == b->address && a->flags == b->flags;
}

/* Enters a path into the trie; what it shares with the thread's last one is not looked up again. */
static int enter_path(struct import *im, struct import_thread *thread,
		      const struct import_stack_frames *path, uint32_t *ret_node)
{
	const struct import_frame *root = path->frames + path->count;
	uint32_t node = TRIE_ROOT, location;
	size_t i = 0;
	int r = vec_reserve((void **)&thread->steps, &thread->steps_cap, path->count,
			    sizeof(*thread->steps));

	while (i < path->count && i < thread->n_steps &&
	       same_frame(&thread->steps[i].frame, root - 1 - i))
		node = thread->steps[i++].node;
	for (; !r && i < path->count; i++) {
		const struct import_frame *frame = root - 1 - i;
		const struct location *l;

		r = import_processes_locate(im->world, thread, frame, &location);
		if (r)
			break;
		l = location_at(im->world->locations, location);
		r = trie_child(im->trie, node, location, location_id(l->file_id, l->offset), &node);
		thread->steps[i] = (struct import_step){.frame = *frame, .node = node};
	}
	thread->n_steps = r ? 0 : path->count;
	*ret_node = node;
	return r;
}

static void count(struct import *im, const struct import_stack_frames *path)
{
	const struct origin origin = origin_at(im->origins, path->origin);

	im->ends[path->end]++;
	im->stale += path->stale;
	im->inferred_whole += origin.is_complete && origin_inferred(&origin);
}

static int keep(struct import *im, const struct perfdata_record *record)
{
	struct import_stack_frames path;
	struct import_thread *thread;
	struct store_sample sample = {
		.time_ns = record->time_ns,
		.period = record->sample.period,
		.cpu = record->cpu < UINT16_MAX ? (uint16_t)record->cpu : UINT16_MAX,
	};
	int r = import_processes_thread(im->world, record->pid, record->tid, &thread);

	if (!r)
		r = import_stack_take(im->stack, record, &path);
	if (!r)
		r = enter_path(im, thread, &path, &sample.node);
	if (r)
		return r;
	sample.thread = thread->number;
	sample.origin = path.origin;
	sample.end_reason = (uint8_t)path.end;
	if (record->time_ns > im->info.end_ns)
		im->info.end_ns = record->time_ns;
	count(im, &path);
	r = send_new(im);
	if (!r)
		r = store_writer_sample(im->writer, &sample);
	if (!r && ++im->info.samples % COMMIT_SAMPLES == 0)
		r = commit(im, false);
	return r;
}

static int take_sample(struct import *im, const struct perfdata_record *record)
{
	const struct perfdata_event *e = perfdata_event(im->reader, record->event);
	int r = choose(im, e->name);

	if (r <= 0) {
		im->other_samples += r == 0;
		return r;
	}
	if (!im->event)
		im->event = e->name;
	if (!im->writer)
		r = begin(im, e, record->time_ns);
	else
		r = 0;
	return r ? r : keep(im, record);
}

static int take(struct import *im, const struct perfdata_record *record)
{
	int r;

	if (record->kind == PERFDATA_SAMPLE) {
		r = take_sample(im, record);
	} else {
		import_stack_event(im->stack, record);
		r = import_processes_event(im->world, record);
	}
	if (r == -E2BIG)
		return fail(im, -EBADMSG,
			    "at offset %" PRIu64 ": more threads, or mappings of one process, than "
			    "a machine can have",
			    record->offset);
	return r;
}

/* --- the end --------------------------------------------------------------------------------- */

static int keep_line(void *arg, const struct store_line *line)
{
	struct import *im = arg;

	return store_writer_line(im->writer, line);
}

static int name_location(struct import *im, struct naming *naming, uint32_t number)
{
	const struct location *l = location_at(im->world->locations, number);
	const struct object *object = object_table_at(im->world->objects, l->object);
	const struct store_location location = {.number = number,
						.object = l->object,
						.offset = l->offset,
						.is_return = l->is_return};
	struct store_line line = {.location = number};

	line.function =
		import_kernel_name(im->world->kernel, object, l->offset, &line.function_start);
	if (line.function)
		return keep_line(im, &line);
	return naming_resolve(naming, object, &location, keep_line, im);
}

static int name_locations(struct import *im)
{
	struct naming *naming;
	int r = naming_new("/nonexistent", &naming);

	if (r)
		return r;
	naming_set_kallsyms(naming, import_kernel_kallsyms(im->world->kernel));
	for (uint32_t i = 0; !r && i < location_count(im->world->locations); i++)
		r = name_location(im, naming, i);
	naming_free(naming);
	return r;
}

static int keep_counters(struct import *im)
{
	const struct perfdata_counts *c = perfdata_counts(im->reader);
	const struct {
		const char *name;
		uint64_t value;
	} counters[] = {
		{"perf_records", c->records},
		{"perf_aux_records", c->aux_records},
		{"perf_aux_bytes", c->aux_bytes},
		{"perf_other_records", c->other_records},
		{"perf_unknown_records", c->unknown_records},
		{"perf_out_of_order", c->out_of_order},
		{"perf_other_samples", im->other_samples},
		{"lbr_stale_entries", im->stale},
		{"branches_replayed", import_stack_counts(im->stack)->replayed},
		{"branches_unknown_code", import_stack_counts(im->stack)->unknown_code},
		{"end.lost_ring", c->lost},
	};
	char name[40];
	int r = 0;

	for (unsigned i = 0; i < STACKD_END_COUNT && !r; i++) {
		snprintf(name, sizeof(name), "end.%s", end_reason_name((uint8_t)i));
		r = store_writer_counter(im->writer, name, im->ends[i]);
	}
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]) && !r; i++)
		r = store_writer_counter(im->writer, counters[i].name, counters[i].value);
	return r;
}

static int no_samples(struct import *im)
{
	if (im->other_samples)
		return fail(im, -EINVAL,
			    "no sample is of the event that was asked for; %" PRIu64
			    " are of others",
			    im->other_samples);
	return fail(im, -ENODATA, "it holds no samples");
}

/* What is to be said of it is known at the end. */
static int keep_note(struct import *im)
{
	struct import_note_facts facts = {
		.info = perfdata_info(im->reader),
		.event = im->first,
		.branches = *import_stack_counts(im->stack),
		.samples = im->info.samples,
	};
	const char *host = facts.info->host;
	int r = import_missing(im->world,
			       strcmp(host, im->options->machine->nodename) ? host : NULL,
			       &im->missing);

	if (r)
		return r;
	facts.missing = im->missing;
	memcpy(facts.ends, im->ends, sizeof(facts.ends));
	im->info.note = im->note = import_note(&facts);
	return im->note ? 0 : -ENOMEM;
}

static int finish(struct import *im)
{
	int r = im->writer ? name_locations(im) : no_samples(im);

	if (!r)
		r = send_new(im);
	if (!r)
		r = keep_note(im);
	if (!r)
		r = keep_counters(im);
	return r ? r : commit(im, true);
}

static void sum_up(const struct import *im, struct import_result *ret_result)
{
	*ret_result = (struct import_result){
		.recording = store_writer_recording(im->writer),
		.event = im->event,
		.samples = im->info.samples,
		.lost = im->info.lost,
		.reconstructed = im->inferred_whole,
		.other_samples = im->other_samples,
		.missing = im->missing,
	};
	for (unsigned i = 0; i < STACKD_END_COUNT; i++) {
		if (end_reason_quality((uint8_t)i) == END_COMPLETE)
			ret_result->complete += im->ends[i];
		else
			ret_result->partial += im->ends[i];
	}
	ret_result->complete -= im->inferred_whole;
}

/* --- running --------------------------------------------------------------------------------- */

static int look_elsewhere(struct import *im)
{
	struct object_elsewhere *elsewhere;
	int r = object_elsewhere_new(im->options->symfs, im->options->cache, &elsewhere);

	if (r)
		return fail(im, r, "--symfs %s: %s", im->options->symfs, strerror(-r));
	object_table_look_in(im->world->objects, elsewhere);
	return 0;
}

/* What needs the file's header: of a pipe, that is there when the first record is. */
static int prepare(struct import *im)
{
	int r = import_processes_new(im->reader, im->options->machine, &im->world);

	if (!r)
		r = look_elsewhere(im);
	if (!r)
		r = import_stack_new(im->reader, im->world, im->origins, &im->stack);
	return r;
}

static int read_all(struct import *im)
{
	struct perfdata_record record;
	int r = perfdata_next(im->reader, &record);
	int failed = r == 1 ? prepare(im) : 0;

	while (!failed && r == 1) {
		failed = take(im, &record);
		if (failed)
			break;
		r = perfdata_next(im->reader, &record);
	}
	if (failed)
		return failed;
	return r ? fail(im, r, "%s", perfdata_error(im->reader)) : 0;
}

static void release(struct import *im)
{
	import_stack_free(im->stack);
	import_processes_free(im->world);
	origin_table_free(im->origins);
	trie_free(im->trie);
	store_writer_free(im->writer);
	free(im->target);
	free(im->note);
	free(im->missing);
	free(im->error);
}

int import_run(struct perfdata *reader, const struct import_options *options,
	       struct import_result *ret_result, char **ret_error)
{
	struct import im = {
		.reader = reader, .options = options, .sent_nodes = 1, .sent_origins = 1};
	int r = trie_new(&im.trie);

	if (!r)
		r = origin_table_new(&im.origins);
	if (!r)
		r = read_all(&im);
	if (!r)
		r = finish(&im);
	if (!r) {
		sum_up(&im, ret_result);
		im.missing = NULL;
	} else if (im.writer) {
		store_writer_discard(im.writer);
	}
	*ret_error = r ? im.error : NULL;
	if (r)
		im.error = NULL;
	release(&im);
	return r;
}
