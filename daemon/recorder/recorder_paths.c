/* SPDX-License-Identifier: MIT */
/* See recorder_paths.h. */
#include "daemon/recorder/recorder_paths.h"

#include <errno.h>

#include "daemon/worker/walks_in_process.h"
#include "daemon/worker/walks_in_worker.h"

/* A window that has this many nodes, locations or origins is full. That bounds the memory that
 * grows with a window: some 50 bytes for each node, 200 for each location with its name, 100 for
 * each origin. 64 MiB in all would be exceeded only if all limits were reached at once
 * (bench/forget.c). */
#define MAX_NODES     (1u << 18)
#define MAX_LOCATIONS (1u << 16)
#define MAX_ORIGINS   (1u << 16)

static int make_tables(struct recorder_paths *p)
{
	int err = location_table_new(&p->locations);

	if (!err)
		err = tag_trie_new(&p->trie);
	return err ? err : origin_table_new(&p->origins);
}

static int make_machines(struct recorder_paths *p, struct mount_lists *mounts,
			 struct tables *tables)
{
	const struct machines_options options = {.locator = p->locator,
						 .managed = p->managed,
						 .locations = p->locations,
						 .mounts = mounts,
						 .tables = tables};

	return machines_new(&options, &p->machines);
}

/* Makes the parts that find locations, and those that keep paths of threads and JIT code. */
static int make_finders(struct recorder_paths *p, const struct recorder_options *o,
			struct recorder_files *files, struct recorder_tasks *tasks)
{
	const struct locator_options options = {.objects = files->objects,
						.processes = tasks->processes,
						.locations = p->locations,
						.written = files->written,
						.kernel = o->kernel,
						.meanwhile = workers_meanwhile,
						.arg = o->workers,
						.shares = &tasks->mappings,
						.budget = o->budget,
						.memory = o->memory};
	int err = locator_new(&options, &p->locator);

	if (!err)
		err = thread_paths_new(p->trie, p->locations, o->has_heights, &p->threads);
	if (!err)
		err = managed_new(files->objects, &p->managed);
	if (!err && o->reads_machines)
		err = make_machines(p, files->mounts, o->tables);
	return err ? err : jit_tracker_new(p->locator, o->code, &p->jit);
}

static int find_rule(void *tables, const struct object *object, uint64_t offset,
		     struct stackd_rule *ret_rule)
{
	return tables_rule(tables, object, offset, ret_rule);
}

static int make_walks_there(struct recorder_paths *p, const struct recorder_options *o,
			    const struct object_table *objects)
{
	const struct ask_walks_options options = {
		.worker = workers_of(o->workers, WORKER_LOOP),
		.objects = objects,
		.find_rule = o->tables ? find_rule : NULL,
		.rules = o->tables,
		.read_code = jit_tracker_read,
		.window = jit_tracker_window,
		.code = p->jit,
		.mappings_of = locator_mappings,
		.processes = p->locator,
	};

	return walks_in_worker_new(&options, workers_of(o->workers, WORKER_WALKS), &p->walks);
}

static int make_walks_here(struct recorder_paths *p, const struct recorder_options *o)
{
	const struct walks_in_process_options options = {
		.code = {.read = jit_tracker_read,
			 .start = jit_tracker_start,
			 .window = jit_tracker_window,
			 .arg = p->jit},
		.find_rule = o->tables ? find_rule : NULL,
		.rules = o->tables,
	};

	return walks_in_process_new(&options, &p->walks);
}

static int make_branches(struct recorder_paths *p, const struct recorder_options *o,
			 const struct object_table *objects)
{
	if (!o->has_branches)
		return 0;
	return o->workers
		       ? -EINVAL
		       : branches_new(walks_in_process_walk(p->walks), objects,
				      o->branches.is_call_stack, o->branches.entries, &p->branches);
}

static int make_judges(struct recorder_paths *p, const struct recorder_options *o,
		       const struct object_table *objects)
{
	int err = o->is_judged ? judge_new(objects, p->locations, &p->judge) : 0;

	if (!err && o->is_judged)
		err = judge_jit_new(jit_tracker_window, p->jit, &p->judge_jit);
	return err;
}

static int make_tags(struct recorder_paths *p, const struct recorder_options *o,
		     const struct recorder_files *files)
{
	struct tag_paths_options options = {
		.objects = files->objects,
		.locations = p->locations,
		.trie = p->trie,
		.judge = o->judge_tags,
	};
	struct tagger_maps maps;
	int err;

	if (!o->tags)
		return 0;
	maps = (struct tagger_maps){o->tags->tagged_fd, o->tags->n_tagged, o->memory};
	err = o->workers ? tagger_new(&maps, files->ask, &p->tagger)
			 : tagger_new_here(&maps, &p->tagger);
	options.tagger = p->tagger;
	options.known_fd = o->tags->known_fd;
	options.max_known = o->tags->max_known;
	return err ? err : tag_paths_new(&options, &p->tags);
}

static int make_builder(struct recorder_paths *p, const struct recorder_options *o,
			const struct object_table *objects)
{
	const struct path_builder_options options = {
		.objects = objects,
		.locations = p->locations,
		.origins = p->origins,
		.locator = p->locator,
		.trie = p->trie,
		.paths = p->threads,
		.jit = p->jit,
		.managed = p->managed,
		.machines = p->machines,
		.walks = p->walks,
		.tables = o->tables,
		.judge = p->judge,
		.judge_jit = p->judge_jit,
		.tags = p->tags,
		.branches = p->branches,
		.has_heights = o->has_heights,
	};

	return path_builder_new(&options, &p->builder);
}

int recorder_paths_init(struct recorder_paths *p, const struct recorder_options *o,
			struct recorder_files *files, struct recorder_tasks *tasks)
{
	int err = make_tables(p);

	if (!err)
		err = make_finders(p, o, files, tasks);
	if (!err)
		err = o->workers ? make_walks_there(p, o, files->objects) : make_walks_here(p, o);
	if (!err)
		err = make_branches(p, o, files->objects);
	if (!err)
		err = make_judges(p, o, files->objects);
	if (!err)
		err = make_tags(p, o, files);
	return err ? err : make_builder(p, o, files->objects);
}

void recorder_paths_fini(struct recorder_paths *p)
{
	tag_paths_free(p->tags);
	tagger_free(p->tagger);
	judge_free(p->judge);
	judge_jit_free(p->judge_jit);
	path_builder_free(p->builder);
	branches_free(p->branches);
	walks_free(p->walks);
	jit_tracker_free(p->jit);
	machines_free(p->machines);
	managed_free(p->managed);
	thread_paths_free(p->threads);
	locator_free(p->locator);
	origin_table_free(p->origins);
	tag_trie_free(p->trie);
	location_table_free(p->locations);
}

bool recorder_paths_are_many(const struct recorder_paths *p)
{
	return tag_trie_count(p->trie) >= MAX_NODES ||
	       location_count(p->locations) >= MAX_LOCATIONS ||
	       origin_count(p->origins) >= MAX_ORIGINS;
}

int recorder_paths_begin_anew(struct recorder_paths *p)
{
	int err = tag_trie_clear(p->trie);

	if (err)
		return err;
	location_table_clear(p->locations);
	origin_table_clear(p->origins);
	path_builder_begin_anew(p->builder);
	if (p->tags)
		tag_paths_begin_anew(p->tags);
	return 0;
}

void recorder_paths_trim(struct recorder_paths *p)
{
	path_builder_trim(p->builder);
	jit_tracker_tick(p->jit);
}
