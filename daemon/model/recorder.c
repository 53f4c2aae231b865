/* SPDX-License-Identifier: MIT */
/*
 * Makes and frees the recorder's parts, and sums up their counters; see recorder.h.
 *
 *   side-band event ──► recorder_event.c ──► process table, members, tagger
 *
 *   record ──► recorder_sample.c ──► tables (a request), walks, thread_paths, outbox ──► batch
 */
#include "daemon/model/recorder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/model/recorder_internal.h"
#include "daemon/worker/walks_here.h"
#include "daemon/worker/walks_there.h"
#include "proc/open_files.h"
#include "stack/end_reason.h"

/* Of a window, by which the memory that grows with it is bounded: some 50 bytes a node, 200 a
 * location with its name, 100 an origin; in all 64 MiB would be exceeded only if all of them were
 * reached at once (bench/forget.c). */
#define MAX_NODES     (1u << 18)
#define MAX_LOCATIONS (1u << 16)
#define MAX_ORIGINS   (1u << 16)
#define MAX_ROWS      (1u << 18) /* of processes and threads of which something is recorded */

/* After so many new records of processes and threads those of ended ones are forgotten. */
#define MAX_TASKS (1u << 16)

/* Of files that no process maps. Locations are named within a minute or two. */
#define KEPT_FILES    4096u
#define FILE_GRACE_NS UINT64_C(180000000000)
#define FILE_PAUSE_NS UINT64_C(10000000000)

/* --- making and freeing ---------------------------------------------------------------------- */

static int make_cgroups(struct recorder *r)
{
	char *mount = cgroup_table_mount();
	int err = cgroup_table_new(mount, "/proc", &r->cgroups);

	free(mount);
	return err;
}

/* Files are opened by a worker, or here. */
static int make_objects(struct recorder *r, const struct recorder_options *o)
{
	struct elf_opener opener = {.open = ask_files_open};
	int err;

	if (!o->workers)
		return object_table_new("/proc", &r->objects);
	err = ask_files_new(workers_of(o->workers, WORKER_LOOP), o->tags, &r->files);
	opener.arg = r->files;
	return err ? err : object_table_new_by("/proc", &opener, &r->objects);
}

static int make_tables(struct recorder *r, const struct recorder_options *o)
{
	int err = make_objects(r, o);

	if (!err)
		err = process_table_new(r->objects, "/proc", &r->processes);
	if (err)
		return err;
	process_table_share_by(r->processes, shared_memory_is_shared, &r->shared);
	process_table_drain_by(r->processes, o->drain, o->arg);
	err = location_table_new(&r->locations);
	if (!err)
		err = tag_trie_new(&r->trie);
	if (!err)
		err = make_cgroups(r);
	return err ? err : origin_table_new(&r->origins);
}

static int find_rule(void *tables, const struct object *object, uint64_t offset,
		     struct stackd_rule *ret_rule)
{
	return tables_rule(tables, object, offset, ret_rule);
}

static int make_walks_there(struct recorder *r, const struct recorder_options *o)
{
	const struct ask_walks_options options = {
		.worker = workers_of(o->workers, WORKER_LOOP),
		.objects = r->objects,
		.find_rule = o->tables ? find_rule : NULL,
		.rules = o->tables,
		.read_code = jit_tracker_read,
		.window = jit_tracker_window,
		.code = r->jit,
		.mappings_of = locator_mappings,
		.processes = r->locator,
	};

	return walks_there_new(&options, workers_of(o->workers, WORKER_WALKS), &r->walks);
}

static int make_walks_here(struct recorder *r, const struct recorder_options *o)
{
	const struct walks_here_options options = {
		.code = {.read = jit_tracker_read,
			 .start = jit_tracker_start,
			 .window = jit_tracker_window,
			 .arg = r->jit},
		.find_rule = o->tables ? find_rule : NULL,
		.rules = o->tables,
	};

	return walks_here_new(&options, &r->walks);
}

static int make_branches(struct recorder *r, const struct recorder_options *o)
{
	if (!o->has_branches)
		return 0;
	return o->workers
		       ? -EINVAL
		       : branches_new(walks_here_walk(r->walks), r->objects,
				      o->branches.is_call_stack, o->branches.entries, &r->branches);
}

static int make_judges(struct recorder *r, const struct recorder_options *o)
{
	int err = o->is_judged ? judge_new(r->objects, r->locations, &r->judge) : 0;

	if (!err && o->is_judged)
		err = judge_jit_new(jit_tracker_window, r->jit, &r->judge_jit);
	return err;
}

static int make_tags(struct recorder *r, const struct recorder_options *o)
{
	struct tag_paths_options options = {
		.objects = r->objects,
		.locations = r->locations,
		.trie = r->trie,
		.judge = o->judge_tags,
	};
	struct tagger_maps maps;
	int err;

	if (!o->tags)
		return 0;
	maps = (struct tagger_maps){o->tags->tagged_fd, o->tags->n_tagged};
	err = o->workers ? tagger_new(&maps, r->files, &r->tagger)
			 : tagger_new_here(&maps, &r->tagger);
	options.tagger = r->tagger;
	options.known_fd = o->tags->known_fd;
	options.max_known = o->tags->max_known;
	return err ? err : tag_paths_new(&options, &r->tags);
}

static int make_builder(struct recorder *r, const struct recorder_options *o)
{
	const struct path_builder_options options = {
		.objects = r->objects,
		.locations = r->locations,
		.origins = r->origins,
		.locator = r->locator,
		.trie = r->trie,
		.paths = r->paths,
		.jit = r->jit,
		.walks = r->walks,
		.tables = o->tables,
		.judge = r->judge,
		.judge_jit = r->judge_jit,
		.tags = r->tags,
		.branches = r->branches,
		.has_heights = o->has_heights,
	};

	return path_builder_new(&options, &r->builder);
}

static int make_paths(struct recorder *r, const struct recorder_options *o)
{
	struct locator_options options = {
		.objects = r->objects, .processes = r->processes, .locations = r->locations};
	int err;

	if (o->code)
		r->watch_error = written_files_new(r->objects, r->processes, o->code->files_written,
						   &r->written);
	options.written = r->written;
	err = locator_new(&options, &r->locator);
	if (!err)
		err = thread_paths_new(r->trie, r->locations, o->has_heights, &r->paths);
	if (!err)
		err = jit_tracker_new(r->locator, o->code, &r->jit);
	if (!err)
		err = o->workers ? make_walks_there(r, o) : make_walks_here(r, o);
	if (!err)
		err = make_branches(r, o);
	if (!err)
		err = make_judges(r, o);
	if (!err)
		err = make_tags(r, o);
	return err ? err : make_builder(r, o);
}

static int make_events(struct recorder *r, const struct recorder_options *o)
{
	int err = live_blocks_new(&r->blocks);

	if (!err)
		err = ranks_new(&r->ranks);
	if (!err)
		err = mpi_pending_new(&r->pending);
	if (!err && !(r->readings = readings_new()))
		err = -ENOMEM;
	if (!err)
		err = wait_objects_new("/proc", &r->wait_objects);
	if (!err)
		err = wait_frames_new(r->objects, &r->wait_frames);
	if (!err && o->counts_alloc_coverage)
		err = alloc_coverage_new(&r->coverage);
	return err;
}

static int make_outbox(struct recorder *r, const struct recorder_options *o)
{
	return outbox_new(&(struct outbox_tables){.objects = r->objects,
						  .locations = r->locations,
						  .trie = r->trie,
						  .origins = r->origins,
						  .processes = r->processes,
						  .cgroups = r->cgroups,
						  .paths = r->paths,
						  .has_sizes = o->has_heights},
			  &r->outbox);
}

/* A quarter of the descriptors that stackd may have, at most 4096, is kept for files that may be
 * mapped again; with half of them taken, none of those waits. */
static int close_files(struct recorder *r)
{
	struct rlimit limit;
	const uint64_t may = getrlimit(RLIMIT_NOFILE, &limit) ? 1024 : limit.rlim_cur;
	const struct open_files_options options = {
		.objects = r->objects,
		.processes = r->processes,
		.kept = (uint32_t)(may / 4 < KEPT_FILES ? may / 4 : KEPT_FILES),
		.most = (uint32_t)(may / 2 < UINT32_MAX ? may / 2 : UINT32_MAX),
		.grace_ns = FILE_GRACE_NS,
		.pause_ns = FILE_PAUSE_NS,
	};

	return open_files_new(&options, &r->open_files);
}

/* The kernel half identifies the vDSO by an inode number that no file has. Our own is that of all
 * processes. */
static void want_vdso(struct recorder *r)
{
	const struct stackd_inode key = {.inode = UINT64_MAX};
	const uint64_t start = getauxval(AT_SYSINFO_EHDR);
	const struct object_mapping vdso = {.path = "[vdso]", .start = start, .end = start + 1};
	const struct object *object;

	if (!object_table_resolve(r->objects, getpid(), &vdso, &object))
		tables_want(r->with.tables, object, &key);
}

static int make_all(struct recorder *r, const struct recorder_options *o)
{
	int err = members_new(o->is_everyone, &r->members);

	if (!err)
		err = make_tables(r, o);
	if (!err)
		err = make_paths(r, o);
	if (!err)
		err = make_events(r, o);
	if (!err)
		err = make_outbox(r, o);
	if (!err && o->keeps_copies)
		err = object_table_keep_copies(r->objects);
	if (!err && o->closes_files)
		err = close_files(r);
	return err;
}

int recorder_new(const struct recorder_options *options, struct recorder **ret_recorder)
{
	struct recorder *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->with = *options;
	r->with.code = NULL; /* copied, as the next */
	r->with.tags = NULL;
	err = make_all(r, options);
	if (err) {
		recorder_free(r);
		return err;
	}
	if (options->tables)
		want_vdso(r);
	*ret_recorder = r;
	return 0;
}

void recorder_free(struct recorder *r)
{
	if (!r)
		return;
	tag_paths_free(r->tags);
	tagger_free(r->tagger);
	outbox_free(r->outbox);
	live_blocks_free(r->blocks);
	alloc_coverage_free(r->coverage);
	ranks_free(r->ranks);
	fuse_devices_fini(&r->fuse_devices);
	mpi_pending_free(r->pending);
	readings_free(r->readings);
	judge_free(r->judge);
	judge_jit_free(r->judge_jit);
	path_builder_free(r->builder);
	branches_free(r->branches);
	walks_free(r->walks);
	jit_tracker_free(r->jit);
	thread_paths_free(r->paths);
	locator_free(r->locator);
	origin_table_free(r->origins);
	tag_trie_free(r->trie);
	location_table_free(r->locations);
	open_files_free(r->open_files);
	written_files_free(r->written);
	process_table_free(r->processes);
	cgroup_table_free(r->cgroups);
	object_table_free(r->objects);
	ask_files_free(r->files);
	members_free(r->members);
	free(r->marks.items);
	wait_objects_free(r->wait_objects);
	wait_frames_free(r->wait_frames);
	free(r);
}

int recorder_watch_error(const struct recorder *r)
{
	return r->watch_error;
}

int recorder_look(struct recorder *r)
{
	return r->written ? written_files_look(r->written) : 0;
}

void recorder_poll(struct recorder *r)
{
	if (r->tagger)
		tagger_poll(r->tagger);
}

bool recorder_may_idle(const struct recorder *r)
{
	return !r->tagger || tagger_is_idle(r->tagger);
}

/* --- results --------------------------------------------------------------------------------- */

static uint32_t count_tasks(const struct recorder *r)
{
	return process_table_process_count(r->processes) + process_table_thread_count(r->processes);
}

/* Forgets the records of what has ended long ago. */
static int forget_tasks(struct recorder *r)
{
	int err = process_table_renumber(r->processes);

	if (!err)
		r->n_tasks_before = count_tasks(r);
	return err;
}

struct batch *recorder_take_batch(struct recorder *r)
{
	struct batch *batch;

	path_builder_trim(r->builder);
	jit_tracker_tick(r->jit);
	if (r->open_files)
		open_files_look(r->open_files, clock_ns(CLOCK_MONOTONIC));
	batch = outbox_take(r->outbox);
	/* All rows have been sent. If there is no memory for it, the next batch tries again. */
	if (batch && count_tasks(r) >= r->n_tasks_before + MAX_TASKS)
		forget_tasks(r);
	return batch;
}

bool recorder_is_full(const struct recorder *r)
{
	return tag_trie_count(r->trie) >= MAX_NODES ||
	       location_count(r->locations) >= MAX_LOCATIONS ||
	       origin_count(r->origins) >= MAX_ORIGINS ||
	       process_table_process_rows(r->processes) + process_table_thread_rows(r->processes) >=
		       MAX_ROWS;
}

bool recorder_count_full(struct recorder *r)
{
	if (!recorder_is_full(r))
		return false;
	r->paths_forgotten += tag_trie_count(r->trie);
	r->locations_forgotten += location_count(r->locations);
	return true;
}

int recorder_begin_anew(struct recorder *r)
{
	int err = thread_paths_begin_anew(r->paths);

	if (!err)
		err = forget_tasks(r);
	if (!err)
		err = tag_trie_clear(r->trie);
	if (err)
		return err;
	process_table_begin_rows(r->processes);
	location_table_clear(r->locations);
	origin_table_clear(r->origins);
	outbox_begin_anew(r->outbox);
	r->wait_mean.is_known = false;
	live_blocks_clear(r->blocks);
	readings_begin_anew(r->readings);
	ranks_begin_anew(r->ranks);
	mpi_pending_clear(r->pending);
	path_builder_begin_anew(r->builder);
	if (r->tags)
		tag_paths_begin_anew(r->tags);
	return 0;
}

const struct kallsyms *recorder_kallsyms(const struct recorder *r)
{
	return locator_kallsyms(r->locator);
}

int recorder_name_mark(struct recorder *r, const char *name)
{
	const struct object *object;
	char *path = strdup(name);
	int err = path && !VEC_RESERVE(&r->marks, 1) ? 0 : -ENOMEM;

	if (!err)
		err = object_table_add(
			r->objects, &(struct object){.kind = OBJECT_MARK, .path = path}, &object);
	if (!err)
		r->marks.items[r->marks.count++] = object;
	free(path);
	return err;
}

const struct object_table *recorder_objects(const struct recorder *r)
{
	return r->objects;
}

struct alloc_coverage *recorder_alloc_coverage(const struct recorder *r)
{
	return r->coverage;
}

uint32_t recorder_object_count(const struct recorder *r)
{
	return object_table_count(r->objects);
}

static struct recorder_forgotten forgotten(const struct recorder *r)
{
	const struct process_table_forgotten ended = process_table_forgotten(r->processes);

	return (struct recorder_forgotten){
		.cgroups = cgroup_table_forgotten(r->cgroups),
		.processes = ended.processes,
		.threads = ended.threads,
		.files = object_table_forgotten(r->objects),
		.objects = r->open_files ? open_files_closed(r->open_files) : 0,
		.paths = r->paths_forgotten,
		.locations = r->locations_forgotten,
	};
}

void recorder_counts(const struct recorder *r, struct recorder_counts *ret_counts)
{
	const struct judge_counts judged = judge_counts(r->judge);
	const struct judge_jit_counts made = judge_jit_counts(r->judge_jit);
	struct dwarf_walk_stats walk;

	path_builder_get_stats(r->builder, &walk);
	*ret_counts = (struct recorder_counts){
		.collisions = tag_trie_collisions(r->trie),
		.out_of_sequence = thread_paths_out_of_sequence(r->paths),
		.judged_right = judged.right,
		.judged_wrong = judged.wrong,
		.judged_cut = judged.cut,
		.judged_less = judged.less,
		.judged_made_right = made.right,
		.judged_made_wrong = made.wrong,
		.judged_made_nearest = made.nearest,
		.judged_made_unproven = made.unproven,
		.sideband_lost = r->sideband_lost,
		.forgotten = forgotten(r),
		.tag_processes = r->tagger ? tagger_processes(r->tagger) : 0,
		.walked_frames = walk.frames,
		.cache_hits = walk.cache_hits,
		.cache_misses = walk.cache_misses,
		.frame_pointer_steps = walk.frame_pointer_steps,
		.steps = path_builder_steps(r->builder),
		.unchecked_returns = path_builder_unchecked_returns(r->builder),
		.periods = r->periods,
		.unnamed_waits = wait_objects_unnamed(r->wait_objects),
		.blocks = *live_blocks_counts(r->blocks),
		.unproven = written_files_frames(r->written),
		.unwatched = written_files_unwatched(r->written),
		.uncovered = alloc_coverage_count(r->coverage),
	};
	recorder_count_events(r, ret_counts);
	if (r->tags)
		tag_paths_counts(r->tags, &ret_counts->tags);
	for (unsigned i = 0; i < STACKD_END_COUNT; i++) {
		uint64_t *const sums[] = {
			[END_COMPLETE] = &ret_counts->complete,
			[END_PARTIAL] = &ret_counts->partial,
			[END_LOST] = &ret_counts->lost,
		};

		ret_counts->end_reasons[i] = r->end_reasons[i];
		*sums[end_reason_quality((uint8_t)i)] += r->end_reasons[i];
	}
}
