/* SPDX-License-Identifier: MIT */
/*
 * The import's loop over records; see import.h.
 *
 * The recording is created at the first sample, because the event is not known before. Names are
 * resolved at the end, once for each location.
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
#include "perf/import_counters.h"
#include "perf/import_event.h"
#include "perf/import_missing.h"
#include "perf/import_note.h"
#include "perf/import_passes.h"
#include "perf/import_processes.h"
#include "perf/import_rows.h"
#include "perf/import_stack.h"
#include "proc/object_elsewhere.h"
#include "stack/end_reason.h"
#include "stack/tag_trie.h"

#define COMMIT_SAMPLES (1u << 18)

struct import {
	struct perfdata *reader;
	const struct import_options *options;
	struct import_processes *processes;
	struct import_stack *stack;
	struct tag_trie *trie;
	struct origin_table *origins;
	struct import_counters *counters;
	struct import_passes *passes;

	struct store_writer *writer; /* NULL: there was no sample yet */
	struct import_rows rows;
	struct store_recording info;
	const struct perfdata_event *first; /* event of the first sample */
	const char *event;		    /* name of that event */
	char *target, *note, *missing;

	uint64_t ends[STACKD_END_COUNT];
	uint64_t inferred_complete, stale, other_samples, hits;
	char *error;
};

/* Stores the sentence of the first failure. Returns `err`. */
static int fail(struct import *im, int r, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int fail(struct import *im, int err, const char *format, ...)
{
	va_list args;

	if (im->error)
		return err;
	va_start(args, format);
	if (vasprintf(&im->error, format, args) < 0)
		im->error = NULL;
	va_end(args);
	return err;
}

/* --- choosing the event ---------------------------------------------------------------------- */

static int several_events(struct import *im, const char *name)
{
	return fail(im, -EINVAL,
		    "samples of several events, '%s' and '%s': choose one with --event NAME, or "
		    "several if they count the same",
		    im->event, name);
}

/* Returns 1: the event is wanted; 0: it is not; -EINVAL: the user named no event, and several have
 * samples. */
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
	int err = describe(im, e, start_ns);

	im->first = e;
	if (!err)
		err = store_writer_new(im->options->store, &im->info, &im->writer, &im->error);
	im->rows = import_rows_of(im->writer, im->processes, im->trie, im->origins);
	return err;
}

/* --- commits ------------------------------------------------------------------------------- */

static int commit(struct import *im, bool is_last)
{
	int err;

	im->info.lost = perfdata_counts(im->reader)->lost;
	im->info.finished = is_last;
	err = store_writer_commit(im->writer, &im->info);
	return err ? fail(im, err, "cannot write %s: %s", im->options->store,
			  store_writer_error(im->writer))
		   : 0;
}

/* --- samples --------------------------------------------------------------------------------- */

static bool same_frame(const struct import_frame *a, const struct import_frame *b)
{
	return a->address == b->address && a->flags == b->flags;
}

/* Adds a path to the trie. Reuses the nodes that it shares with the thread's previous path. */
static int enter_path(struct import *im, struct import_thread *thread,
		      const struct import_stack_frames *path, uint32_t *ret_node)
{
	const struct import_frame *root = path->frames + path->count;
	uint32_t node = TAG_TRIE_ROOT, location;
	size_t i = 0;
	int err = vec_reserve((void **)&thread->steps, &thread->steps_cap, path->count,
			      sizeof(*thread->steps));

	while (i < path->count && i < thread->n_steps &&
	       same_frame(&thread->steps[i].frame, root - 1 - i))
		node = thread->steps[i++].node;
	for (; !err && i < path->count; i++) {
		const struct import_frame *frame = root - 1 - i;
		const struct location *l;

		err = import_processes_locate(im->processes, thread, frame, &location);
		if (err)
			break;
		l = location_at(im->processes->locations, location);
		err = tag_trie_child(im->trie, node, location, location_id(l->file_id, l->offset),
				     &node);
		thread->steps[i] = (struct import_step){.frame = *frame, .node = node};
	}
	thread->n_steps = err ? 0 : path->count;
	*ret_node = node;
	return err;
}

static void count(struct import *im, const struct import_stack_frames *path)
{
	const struct origin origin = origin_at(im->origins, path->origin);

	im->ends[path->end]++;
	im->stale += path->stale;
	im->inferred_complete += origin.is_complete && origin_inferred(&origin);
}

/* Makes the row of a sample, and its path. */
static int row_of(struct import *im, const struct perfdata_record *record,
		  struct import_stack_frames *ret_path, struct store_sample *ret_row)
{
	struct import_thread *thread;
	int err = import_processes_thread(im->processes, record->pid, record->tid, &thread);

	*ret_row = (struct store_sample){
		.time_ns = record->time_ns,
		.period = record->sample.period,
		.cpu = record->cpu < UINT16_MAX ? (uint16_t)record->cpu : UINT16_MAX,
	};
	if (!err)
		err = import_stack_take(im->stack, record, ret_path);
	if (!err)
		err = enter_path(im, thread, ret_path, &ret_row->node);
	if (err)
		return err;
	ret_row->thread = thread->number;
	ret_row->origin = ret_path->origin;
	ret_row->end_reason = (uint8_t)ret_path->end;
	return 0;
}

static int keep(struct import *im, const struct perfdata_record *record)
{
	struct import_stack_frames path;
	struct store_sample sample;
	int err = row_of(im, record, &path, &sample);

	if (err)
		return err;
	if (record->time_ns > im->info.end_ns)
		im->info.end_ns = record->time_ns;
	count(im, &path);
	err = import_rows_write_new(&im->rows);
	if (!err)
		err = store_writer_sample(im->writer, &sample);
	if (!err)
		err = import_counters_keep(im->counters, im->reader, record, &sample, im->writer);
	if (!err && ++im->info.samples % COMMIT_SAMPLES == 0)
		err = commit(im, false);
	return err;
}

/* Hands a hit of the region's probes on. */
static int take_hit(struct import *im, const struct perfdata_record *record, const char *event)
{
	struct import_stack_frames path;
	struct store_sample row;
	int err = row_of(im, record, &path, &row);

	im->hits++;
	if (!err && im->writer)
		err = import_rows_write_new(&im->rows);
	return err ? err
		   : import_passes_take(im->passes, &im->options->region, event, row, im->writer);
}

static int take_sample(struct import *im, const struct perfdata_record *record)
{
	const struct perfdata_event *e = perfdata_event(im->reader, record->event);
	int result;

	if (import_passes_is_hit(&im->options->region, e->name))
		return take_hit(im, record, e->name);
	result = choose(im, e->name);

	if (result <= 0) {
		im->other_samples += result == 0;
		return result;
	}
	if (!im->event)
		im->event = e->name;
	if (!im->writer)
		result = begin(im, e, record->time_ns);
	else
		result = 0;
	return result ? result : keep(im, record);
}

static int take(struct import *im, const struct perfdata_record *record)
{
	int err;

	if (record->kind == PERFDATA_SAMPLE) {
		err = take_sample(im, record);
	} else {
		import_stack_event(im->stack, record);
		err = import_processes_event(im->processes, record);
	}
	if (err == -E2BIG)
		return fail(im, -EBADMSG,
			    "at offset %" PRIu64 ": too many threads, or too many mappings of one "
			    "process: the file is damaged",
			    record->offset);
	return err;
}

/* --- the end --------------------------------------------------------------------------------- */

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
	int err = 0;

	for (unsigned i = 0; i < STACKD_END_COUNT && !err; i++) {
		snprintf(name, sizeof(name), "end.%s", end_reason_name((uint8_t)i));
		err = store_writer_counter(im->writer, name, im->ends[i]);
	}
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]) && !err; i++)
		err = store_writer_counter(im->writer, counters[i].name, counters[i].value);
	return err ? err : import_counters_names(im->counters, im->reader, im->writer);
}

static int no_samples(struct import *im)
{
	if (im->other_samples)
		return fail(im, -EINVAL,
			    "no samples of the selected event; %" PRIu64 " of other events",
			    im->other_samples);
	return fail(im, -ENODATA, "no samples");
}

/* Writes the recording's note. It is written last, because it depends on all samples. */
static int keep_note(struct import *im)
{
	struct import_note_facts facts = {
		.info = perfdata_info(im->reader),
		.event = im->first,
		.branches = *import_stack_counts(im->stack),
		.samples = im->info.samples,
	};
	const char *host = facts.info->host;
	int err = import_missing(im->processes,
				 strcmp(host, im->options->machine->nodename) ? host : NULL,
				 &im->missing);

	if (err)
		return err;
	facts.missing = im->missing;
	memcpy(facts.ends, im->ends, sizeof(facts.ends));
	im->info.note = im->note = import_note(&facts);
	return im->note ? 0 : -ENOMEM;
}

static int finish(struct import *im)
{
	int err = im->writer ? import_rows_write_names(&im->rows) : no_samples(im);

	if (!err && im->options->region.begin && !im->hits)
		err = fail(im, -EINVAL, "no samples of the event '%s', where passes begin",
			   im->options->region.begin);

	if (!err)
		err = import_rows_write_new(&im->rows);
	if (!err)
		err = keep_note(im);
	if (!err)
		err = keep_counters(im);
	return err ? err : commit(im, true);
}

static void sum_up(const struct import *im, struct import_result *ret_result)
{
	*ret_result = (struct import_result){
		.recording = store_writer_recording(im->writer),
		.event = im->event,
		.samples = im->info.samples,
		.lost = im->info.lost,
		.reconstructed = im->inferred_complete,
		.other_samples = im->other_samples,
		.hits = im->hits,
		.counters_left_out = import_counters_left_out(im->counters),
		.missing = im->missing,
	};
	for (unsigned i = 0; i < STACKD_END_COUNT; i++) {
		if (end_reason_quality((uint8_t)i) == END_COMPLETE)
			ret_result->complete += im->ends[i];
		else
			ret_result->partial += im->ends[i];
	}
	ret_result->complete -= im->inferred_complete;
}

/* --- running --------------------------------------------------------------------------------- */

static int look_elsewhere(struct import *im)
{
	struct object_elsewhere *elsewhere;
	int err = object_elsewhere_new(im->options->symfs, im->options->cache, &elsewhere);

	if (err)
		return fail(im, err, "--symfs %s: %s", im->options->symfs, strerror(-err));
	object_table_look_in(im->processes->objects, elsewhere);
	return 0;
}

/* Makes the parts that need the file's header. Called when the first record has been read, because
 * only then is the header of a pipe complete. */
static int prepare(struct import *im)
{
	int err = import_processes_new(im->reader, im->options->machine, &im->processes);

	if (!err)
		err = look_elsewhere(im);
	if (!err)
		err = import_stack_new(im->reader, im->processes, im->origins, &im->stack);
	return err;
}

static int read_all(struct import *im)
{
	struct perfdata_record record;
	int result = perfdata_next(im->reader, &record);
	int failed = result == 1 ? prepare(im) : 0;

	while (!failed && result == 1) {
		failed = take(im, &record);
		if (failed)
			break;
		result = perfdata_next(im->reader, &record);
	}
	if (failed)
		return failed;
	return result ? fail(im, result, "%s", perfdata_error(im->reader)) : 0;
}

static void release(struct import *im)
{
	import_counters_free(im->counters);
	import_passes_free(im->passes);
	import_stack_free(im->stack);
	import_processes_free(im->processes);
	origin_table_free(im->origins);
	tag_trie_free(im->trie);
	store_writer_free(im->writer);
	free(im->target);
	free(im->note);
	free(im->missing);
	free(im->error);
}

int import_run(struct perfdata *reader, const struct import_options *options,
	       struct import_result *ret_result, char **ret_error)
{
	struct import im = {.reader = reader,
			    .options = options,
			    .counters = import_counters_new(),
			    .passes = import_passes_new()};
	int err = im.counters && im.passes ? tag_trie_new(&im.trie) : -ENOMEM;

	if (!err)
		err = origin_table_new(&im.origins);
	if (!err)
		err = read_all(&im);
	if (!err)
		err = finish(&im);
	if (!err) {
		sum_up(&im, ret_result);
		im.missing = NULL;
	} else if (im.writer) {
		store_writer_discard(im.writer);
	}
	*ret_error = err ? im.error : NULL;
	if (err)
		im.error = NULL;
	release(&im);
	return err;
}
