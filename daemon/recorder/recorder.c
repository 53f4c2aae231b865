/* SPDX-License-Identifier: MIT */
/*
 * Makes and frees the recorder's parts, and sums up their counters; see recorder.h. The parts are
 * by subject: files, tasks (processes, threads, cgroups), paths (recorder_paths.h), waits.
 *
 *   side-band event ──► recorder_event.c ──► process table, members, tagger
 *
 *   record ──► recorder_sample.c ──► tables (a request), walks, thread_paths, outbox ──► batch
 */
#include "daemon/recorder/recorder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "daemon/recorder/number_reuse.h"
#include "daemon/recorder/recorder_internal.h"
#include "stack/end_reason.h"

/* With more rows of processes and threads, a window (--window) is full. */
#define MAX_ROWS (1u << 18)

/* --- making and freeing ---------------------------------------------------------------------- */

static int make_events(struct recorder *r, const struct recorder_options *o)
{
	int err = live_blocks_new(&r->memory.blocks);

	if (!err)
		err = ranks_new("/proc", &r->mpi.ranks);
	if (!err)
		err = labels_new(o->labels, o->n_labels, "", &r->labels);
	if (!err)
		err = mpi_pending_new(&r->mpi.pending);
	if (!err)
		err = recorder_calls_new(&r->calls);
	if (!err && !(r->readings = readings_new()))
		err = -ENOMEM;
	if (!err)
		err = recorder_waits_init(&r->waits, r->files.objects);
	if (!err && o->counts_alloc_coverage)
		err = alloc_coverage_new(&r->memory.coverage);
	return err;
}

static int make_numbers(struct recorder *r, struct tables *tables)
{
	recorder_files_want_vdso(&r->files, tables);
	return number_reuse_new(tables, r->files.objects, r->tasks.processes, &r->numbers);
}

static int make_outbox(struct recorder *r, const struct recorder_options *o)
{
	return outbox_new(&(struct outbox_tables){.objects = r->files.objects,
						  .locations = r->paths.locations,
						  .trie = r->paths.trie,
						  .origins = r->paths.origins,
						  .processes = r->tasks.processes,
						  .cgroups = r->tasks.cgroups,
						  .paths = r->paths.threads,
						  .managed = r->paths.managed,
						  .has_sizes = o->has_heights},
			  &r->outbox);
}

static int make_all(struct recorder *r, const struct recorder_options *o)
{
	int err = recorder_files_init(&r->files, o);

	if (!err)
		err = recorder_tasks_init(&r->tasks, o, r->files.objects);
	if (!err)
		err = recorder_files_watch(&r->files, o, r->tasks.processes);
	if (!err)
		err = recorder_paths_init(&r->paths, o, &r->files, &r->tasks);
	if (!err)
		err = make_events(r, o);
	return err ? err : make_outbox(r, o);
}

int recorder_new(const struct recorder_options *options, struct recorder **ret_recorder)
{
	struct recorder *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->with = *options;
	r->with.code = NULL; /* the parts that use them have copied them */
	r->with.tags = NULL;
	err = make_all(r, options);
	if (!err && options->tables)
		err = make_numbers(r, options->tables);
	if (err) {
		recorder_free(r);
		return err;
	}
	*ret_recorder = r;
	return 0;
}

void recorder_free(struct recorder *r)
{
	if (!r)
		return;
	outbox_free(r->outbox);
	number_reuse_free(r->numbers);
	live_blocks_free(r->memory.blocks);
	alloc_coverage_free(r->memory.coverage);
	ranks_free(r->mpi.ranks);
	labels_free(r->labels);
	mpi_pending_free(r->mpi.pending);
	recorder_calls_free(r->calls);
	readings_free(r->readings);
	recorder_waits_fini(&r->waits);
	recorder_paths_fini(&r->paths);
	recorder_tasks_fini(&r->tasks);
	recorder_files_fini(&r->files);
	free(r->marks.items);
	free(r);
}

int recorder_watch_error(const struct recorder *r)
{
	return r->files.watch_error;
}

int recorder_look(struct recorder *r)
{
	int err = recorder_files_look(&r->files, r->tasks.processes);

	if (!err)
		err = recorder_reload(r);
	if (!err)
		err = recorder_sweep(r);
	return err || !r->files.written ? err : written_files_look(r->files.written);
}

bool recorder_copies(const struct recorder *r)
{
	return recorder_files_are_copied(&r->files);
}

void recorder_poll(struct recorder *r)
{
	if (r->paths.tagger)
		tagger_poll(r->paths.tagger);
}

bool recorder_may_idle(const struct recorder *r)
{
	return !r->paths.tagger || tagger_is_idle(r->paths.tagger);
}

bool recorder_reads_memory(const struct recorder *r)
{
	return r->paths.machines &&
	       machines_are_active(r->paths.machines, clock_ns(CLOCK_MONOTONIC));
}

/* --- results --------------------------------------------------------------------------------- */

struct batch *recorder_take_batch(struct recorder *r)
{
	struct batch *batch;

	recorder_paths_trim(&r->paths);
	recorder_files_count(&r->files);
	batch = outbox_take(r->outbox);
	if (r->files.open) /* now that all locations so far await their names */
		open_files_look(r->files.open, clock_ns(CLOCK_MONOTONIC));
	if (batch)
		recorder_tasks_forget_many(&r->tasks);
	return batch;
}

void recorder_reuse_numbers(struct recorder *r, uint64_t done_ns)
{
	if (r->numbers)
		number_reuse_look(r->numbers, done_ns, clock_ns(CLOCK_MONOTONIC));
}

bool recorder_is_full(const struct recorder *r)
{
	return recorder_paths_are_many(&r->paths) || recorder_tasks_rows(&r->tasks) >= MAX_ROWS;
}

bool recorder_count_full(struct recorder *r)
{
	if (!recorder_is_full(r))
		return false;
	r->paths.forgotten += tag_trie_count(r->paths.trie);
	r->paths.locations_forgotten += location_count(r->paths.locations);
	return true;
}

int recorder_begin_anew(struct recorder *r)
{
	int err = thread_paths_begin_anew(r->paths.threads);

	if (!err)
		err = recorder_tasks_forget(&r->tasks);
	if (!err)
		err = recorder_paths_begin_anew(&r->paths);
	if (err)
		return err;
	process_table_begin_rows(r->tasks.processes);
	outbox_begin_anew(r->outbox);
	r->waits.mean.is_known = false;
	live_blocks_clear(r->memory.blocks);
	readings_begin_anew(r->readings);
	ranks_begin_anew(r->mpi.ranks);
	labels_begin_anew(r->labels);
	mpi_pending_clear(r->mpi.pending);
	recorder_calls_begin_anew(r);
	return 0;
}

const struct kallsyms *recorder_kallsyms(const struct recorder *r)
{
	return locator_kallsyms(r->paths.locator);
}

int recorder_name_mark(struct recorder *r, const char *name)
{
	const struct object *object;
	char *path = strdup(name);
	int err = path && !VEC_RESERVE(&r->marks, 1) ? 0 : -ENOMEM;

	if (!err)
		err = object_table_add(r->files.objects,
				       &(struct object){.kind = OBJECT_MARK, .path = path},
				       &object);
	if (!err)
		r->marks.items[r->marks.count++] = object;
	free(path);
	return err;
}

const struct object_table *recorder_objects(const struct recorder *r)
{
	return r->files.objects;
}

struct alloc_coverage *recorder_alloc_coverage(const struct recorder *r)
{
	return r->memory.coverage;
}

void recorder_set_budget(struct recorder *r, double budget)
{
	r->with.budget = budget;
	recorder_files_set_budget(&r->files, budget);
	locator_set_budget(r->paths.locator, budget);
}

uint32_t recorder_object_count(const struct recorder *r)
{
	return object_table_count(r->files.objects);
}

static struct recorder_forgotten forgotten(const struct recorder *r)
{
	const struct process_table_forgotten ended = process_table_forgotten(r->tasks.processes);

	return (struct recorder_forgotten){
		.cgroups = cgroup_table_forgotten(r->tasks.cgroups),
		.processes = ended.processes,
		.threads = ended.threads,
		.files = object_table_forgotten(r->files.objects),
		.objects = r->files.open ? open_files_closed(r->files.open) : 0,
		.paths = r->paths.forgotten,
		.locations = r->paths.locations_forgotten,
	};
}

/* --- what handlers share ---------------------------------------------------------------------- */

int recorder_keep(struct recorder *r, enum metric_series series, uint64_t value,
		  struct store_sample row)
{
	row.period = value;
	return outbox_keep_record(r->outbox, series, &row);
}

int recorder_add_frame(struct recorder *r, const struct object *object, uint32_t *node)
{
	struct location l = {.object = object->number, .file_id = object->file_id};
	uint32_t number;
	int err = location_intern(r->paths.locations, &l, &number);

	return err ? err
		   : tag_trie_child(r->paths.trie, *node, number, location_id(l.file_id, l.offset),
				    node);
}

/* --- counters -------------------------------------------------------------------------------- */

void recorder_counts(const struct recorder *r, struct recorder_counts *ret_counts)
{
	const struct judge_counts judged = judge_counts(r->paths.judge);
	const struct judge_jit_counts made = judge_jit_counts(r->paths.judge_jit);
	struct dwarf_walk_stats walk;

	path_builder_get_stats(r->paths.builder, &walk);
	*ret_counts = (struct recorder_counts){
		.collisions = tag_trie_collisions(r->paths.trie),
		.out_of_sequence = thread_paths_out_of_sequence(r->paths.threads),
		.judged_right = judged.right,
		.judged_wrong = judged.wrong,
		.judged_cut = judged.cut,
		.judged_less = judged.less,
		.judged_managed_right = judged.managed_right,
		.judged_managed_wrong = judged.managed_wrong,
		.judged_made_right = made.right,
		.judged_made_wrong = made.wrong,
		.judged_made_nearest = made.nearest,
		.judged_made_unproven = made.unproven,
		.sideband_lost = r->taken.sideband_lost,
		.machines = r->paths.machines ? machines_counts(r->paths.machines)
					      : (struct machines_counts){0},
		.managed_unread = r->taken.managed_unread,
		.slow = recorder_files_slow(&r->files),
		.mappings_over_share = r->taken.mappings_left_out,
		.names_over_share = r->taken.names_left_out,
		.files_over_share = r->files.refused,
		.forgotten = forgotten(r),
		.tag_processes = r->paths.tagger ? tagger_processes(r->paths.tagger) : 0,
		.walked_frames = walk.frames,
		.cache_hits = walk.cache_hits,
		.cache_misses = walk.cache_misses,
		.frame_pointer_steps = walk.frame_pointer_steps,
		.steps = path_builder_steps(r->paths.builder),
		.unchecked_returns = path_builder_unchecked_returns(r->paths.builder),
		.periods = r->taken.periods,
		.unnamed_waits = wait_objects_unnamed(r->waits.objects),
		.blocks = *live_blocks_counts(r->memory.blocks),
		.unproven = written_files_frames(r->files.written),
		.unwatched = written_files_unwatched(r->files.written),
		.uncovered = alloc_coverage_count(r->memory.coverage),
	};
	recorder_count_events(r, ret_counts);
	if (r->paths.tags)
		tag_paths_counts(r->paths.tags, &ret_counts->tags);
	for (unsigned i = 0; i < STACKD_END_COUNT; i++) {
		uint64_t *const sums[] = {
			[END_COMPLETE] = &ret_counts->complete,
			[END_PARTIAL] = &ret_counts->partial,
			[END_LOST] = &ret_counts->lost,
		};

		ret_counts->end_reasons[i] = r->taken.end_reasons[i];
		*sums[end_reason_quality((uint8_t)i)] += r->taken.end_reasons[i];
	}
}
