/* SPDX-License-Identifier: MIT */
/*
 * Loads processes from /proc: at the start, when a process appears that no event reported, and when
 * the events of a process may be incomplete.
 *
 * /proc shows the present, and a process can end, call exec or be followed by another with its pid
 * between two reads. Its start time is therefore read before and after: if it differs, all is read
 * again. The mappings are collected separately, and replace the old ones only when all have been
 * read.
 *
 * If the main thread has ended and other threads go on, /proc/PID/maps is empty, so the maps file
 * of another thread is read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proc/process_table.h"

#define MAX_ATTEMPTS 3

/* --- mappings -------------------------------------------------------------------------------- */

int process_table_map(struct process_table *table, pid_t pid, struct mapping_set **maps,
		      const struct object_mapping *m, const struct object **ret_object)
{
	struct mapping map = {.start = m->start, .end = m->end, .offset = m->offset};

	int err = object_table_resolve(table->objects, pid, m, &map.object);
	bool has_object = !err;
	if (!err || err == -ENOENT)
		err = mapping_set_own(maps);
	if (err)
		return err;
	if (!has_object)
		return mapping_set_cut(*maps, m->start, m->end);
	if (map.object->kind == OBJECT_JIT)
		map.offset = map.start;
	else if (map.object->kind == OBJECT_VDSO)
		map.offset = 0;
	if (ret_object)
		*ret_object = map.object;
	return mapping_set_insert(*maps, &map);
}

struct map_loader {
	struct process_table *table;
	pid_t pid;
	struct mapping_set *maps;
};

static int load_map(void *arg, const struct proc_fs_map *map)
{
	struct map_loader *loader = arg;

	if (!map->executable)
		return 0;
	struct object_mapping m = {
		.start = map->start,
		.end = map->end,
		.offset = map->offset,
		.dev_major = map->dev_major,
		.dev_minor = map->dev_minor,
		.inode = map->inode,
		.path = map->path,
	};
	return process_table_map(loader->table, loader->pid, &loader->maps, &m, NULL);
}

/* Adds a range that is executable now to a set, without its object. */
static int load_range(void *arg, const struct proc_fs_map *map)
{
	struct mapping range = {.start = map->start, .end = map->end, .offset = map->start};

	return map->executable ? mapping_set_insert(arg, &range) : 0;
}

void process_table_prune(struct process_table *table, struct instance *instance)
{
	struct mapping_set *now = mapping_set_new();

	if (now && !proc_fs_each_map(table->proc_root, instance->pid, load_range, now) &&
	    now->count && !mapping_set_own(&instance->maps))
		mapping_set_keep(instance->maps, now);
	mapping_set_unref(now);
	/* If the process really has that many mappings, or is gone, the next attempt is made only
	 * at twice that number. */
	uint32_t count = instance->maps->count;
	instance->prune_at =
		count < PROCESS_TABLE_PRUNE_AT / 2 ? PROCESS_TABLE_PRUNE_AT : 2 * count;
}

/* --- one process ----------------------------------------------------------------------------- */

static bool is_dead(const struct proc_fs_stat *stat)
{
	return stat->state == 'Z' || stat->state == 'X';
}

struct task_loader {
	struct process_table *table;
	struct instance *instance;
	pid_t living; /* a thread that has not ended; 0: none */
};

static int find_living_task(void *arg, pid_t tid)
{
	struct task_loader *loader = arg;
	struct proc_fs_stat stat;

	if (proc_fs_stat(loader->table->proc_root, tid, &stat) || is_dead(&stat))
		return 0;
	loader->living = tid;
	return 1;
}

static int load_task(void *arg, pid_t tid)
{
	struct task_loader *loader = arg;
	char comm[PROC_FS_COMM_SIZE];

	if (proc_fs_comm(loader->table->proc_root, loader->instance->pid, tid, comm))
		return 0; /* The thread has ended meanwhile. */
	struct task *task = process_table_begin_task(loader->table, loader->instance, tid, comm);
	if (!task || !process_table_name_task(loader->table, loader->instance, task, comm))
		return -ENOMEM;
	return 0;
}

/* Returns the instance of the process that /proc shows: the known one if it has the same start
 * time, else a new one. */
static struct instance *get_instance(struct process_table *table, pid_t pid,
				     const struct proc_fs_stat *stat)
{
	struct instance *instance = process_table_find(table, pid);
	char comm[PROC_FS_COMM_SIZE] = "";

	bool is_same = instance && (instance->start_ticks == stat->start_ticks ||
				    (!instance->start_ticks && process_table_is_alive(instance)));
	if (!is_same) {
		proc_fs_comm(table->proc_root, pid, pid, comm);
		instance = process_table_begin(table, pid, stat->parent, comm);
	}
	if (instance)
		instance->start_ticks = stat->start_ticks;
	return instance;
}

static int load_names(struct process_table *table, struct instance *instance)
{
	struct task_loader loader = {.table = table, .instance = instance};
	char *exe = NULL;

	int err = proc_fs_each_task(table->proc_root, instance->pid, load_task, &loader);
	if (err == -ENOMEM)
		return err;
	if (!proc_fs_exe(table->proc_root, instance->pid, &exe)) {
		struct process *process = &table->processes[instance->number];
		free(process->exe);
		process->exe = exe;
	}
	table->processes[instance->number].exited = !process_table_is_alive(instance);
	return 0;
}

/* Gives the mappings that were just read to the processes that share this memory. */
static void share_maps(struct process_table *table, struct instance *instance)
{
	struct instance *child, *next;

	process_table_spread(instance);
	if (!table->shares)
		return;
	process_table_join(table, instance, table->processes[instance->number].parent);
	HASH_ITER (hh, table->instances, child, next) {
		if (table->processes[child->number].parent == instance->pid &&
		    process_table_is_alive(child))
			process_table_join(table, instance, child->pid);
	}
}

static int load_maps(struct process_table *table, struct instance *instance, pid_t maps_of)
{
	struct map_loader loader = {.table = table, .pid = instance->pid};

	int err = proc_fs_each_map(table->proc_root, maps_of, load_map, &loader);
	if (!err && !loader.maps && instance->maps)
		/* The process is ending: what the table has is better than the empty list that was
		 * read. */
		err = -ESRCH;
	if (err) {
		mapping_set_unref(loader.maps);
		return err;
	}
	mapping_set_unref(instance->maps);
	instance->maps = loader.maps;
	instance->is_loaded = true;
	instance->wants_exe = instance->is_executing = false;
	share_maps(table, instance);
	return 0;
}

/* Tries once to load a process. If it is a zombie, keeps what the table has, because samples of it
 * and the event of its exit may not have arrived yet. Returns 0; -EAGAIN: the pid was given to
 * another process meanwhile; or another error. */
static int load_once(struct process_table *table, pid_t pid)
{
	struct task_loader tasks = {.table = table, .living = pid};
	struct proc_fs_stat before, after;

	int err = proc_fs_stat(table->proc_root, pid, &before);
	if (err)
		return err;
	if (is_dead(&before)) {
		tasks.living = 0;
		proc_fs_each_task(table->proc_root, pid, find_living_task, &tasks);
		if (!tasks.living && process_table_find(table, pid))
			return -ESRCH;
	}
	struct instance *instance = get_instance(table, pid, &before);
	if (!instance)
		return -ENOMEM;
	err = load_names(table, instance);
	if (!err && tasks.living)
		err = load_maps(table, instance, tasks.living);
	if (err)
		return err;
	if (!tasks.living) { /* a zombie, which has only its names left */
		process_table_end(table, instance);
		return -ESRCH;
	}
	err = proc_fs_stat(table->proc_root, pid, &after);
	return !err && after.start_ticks != before.start_ticks ? -EAGAIN : 0;
}

int process_table_load(struct process_table *table, pid_t pid)
{
	int err = -EAGAIN;

	for (int i = 0; i < MAX_ATTEMPTS && err == -EAGAIN; i++)
		err = load_once(table, pid);
	return err == -EAGAIN ? -ESRCH : err;
}

void process_table_revive(struct process_table *table, struct instance *instance)
{
	struct proc_fs_stat stat;

	if (instance->is_end_sure)
		return;
	instance->is_end_sure = true;
	if (instance->start_ticks && !proc_fs_stat(table->proc_root, instance->pid, &stat) &&
	    stat.start_ticks == instance->start_ticks && !is_dead(&stat) && !stat.is_exiting)
		process_table_load(table, instance->pid);
}

/* --- all processes --------------------------------------------------------------------------- */

struct process_loader {
	struct process_table *table;
	int (*between)(void *arg);
	void *arg;
	int count;
};

static int load_process(void *arg, pid_t pid)
{
	struct process_loader *loader = arg;
	int err = process_table_load(loader->table, pid);

	loader->count += !err;
	if (err == -ENOMEM)
		return err;
	return loader->between ? loader->between(loader->arg) : 0;
}

int process_table_load_all(struct process_table *table, int (*between)(void *arg), void *arg)
{
	struct process_loader loader = {.table = table, .between = between, .arg = arg};
	int err = proc_fs_each_process(table->proc_root, load_process, &loader);

	return err ? err : loader.count;
}
