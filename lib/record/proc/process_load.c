/* SPDX-License-Identifier: MIT */
/*
 * Loads processes from /proc: at the start, when a process appears that no event reported, and when
 * the events of a process may be incomplete.
 *
 * /proc shows the present, and a process can end, call exec or be followed by another with its pid
 * between two reads. So all is read first, and the table changes only if what was read belongs
 * together and to the moment that the table shows:
 *
 *   - The start time is read before and after: if it differs, all is read again.
 *   - No exec of the process lies between the table's moment and the end of the reads. The kernel
 *     writes the event of an exec before it lets anyone open the maps file of the new program. So
 *     if the mappings were those of the new program, the events that have arrived by then include
 *     its exec (process_table_awaits_exec()).
 *   - A maps file that was opened before an exec ends early when the exec removes the old memory.
 *     proc_fs_each_map() notices that, and all is read again.
 *
 * If the main thread has ended and other threads go on, /proc/PID/maps is empty, so the maps file
 * of another thread is read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "proc/object_open.h"
#include "proc/process_table.h"

#define MAX_ATTEMPTS 3

/* --- mappings -------------------------------------------------------------------------------- */

/* Returns whether an object is a file that is open, and unchanged since. */
static bool is_read(const struct object *object)
{
	return object && object->kind == OBJECT_ELF && object->elf &&
	       elf_file_is_open(object->elf) && !elf_file_is_touched(object->elf);
}

int process_table_map(struct process_table *table, pid_t pid, struct mapping_set **maps,
		      const struct object_mapping *m, const struct object **ret_object)
{
	struct mapping map = {
		.start = m->start, .end = m->end, .offset = m->offset, .made_ns = m->made_ns};
	int err = 0;

	if (ret_object && is_read(*ret_object))
		map.object = *ret_object;
	else
		err = object_table_resolve(table->objects, pid, m, &map.object);
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

struct task_name {
	pid_t tid;
	char comm[PROC_FS_COMM_SIZE];
};

/* What /proc shows of a process. */
struct reading {
	struct process_table *table;
	pid_t pid;
	pid_t living;	 /* a thread that has not ended; 0: none */
	bool is_last;	 /* this attempt is the last one */
	uint32_t losses; /* the table's, when it began */
	struct proc_fs_stat stat;
	struct mapping_set *maps; /* NULL: none */
	int maps_err;		  /* 0, or the error of reading the mappings */
	char *exe;		  /* NULL: none */
	VEC(struct task_name) tasks;
};

static void free_reading(struct reading *r)
{
	mapping_set_unref(r->maps);
	free(r->exe);
	free(r->tasks.items);
}

static int find_living_task(void *arg, pid_t tid)
{
	struct reading *r = arg;
	struct proc_fs_stat stat;

	if (proc_fs_stat(r->table->proc_root, tid, &stat) || is_dead(&stat))
		return 0;
	r->living = tid;
	return 1;
}

static int read_task(void *arg, pid_t tid)
{
	struct reading *r = arg;
	struct task_name *task;

	if (VEC_RESERVE(&r->tasks, 1))
		return -ENOMEM;
	task = &r->tasks.items[r->tasks.count];
	task->tid = tid;
	if (!proc_fs_comm(r->table->proc_root, r->pid, tid, task->comm))
		r->tasks.count++; /* else the thread has ended meanwhile */
	return 0;
}

static int load_map(void *arg, const struct proc_fs_map *map)
{
	struct reading *r = arg;

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
	return process_table_map(r->table, r->pid, &r->maps, &m, NULL);
}

static bool is_empty(const struct mapping_set *maps)
{
	return !maps || !maps->count;
}

/* Reads the names and the mappings, and the start time again. A process in the middle of an exec
 * has an executable, but no executable mappings. 0; -EAGAIN: they may be of different programs or
 * processes; -ENOMEM. */
static int read_process(struct reading *r)
{
	const char *root = r->table->proc_root;
	struct proc_fs_stat after;

	int err = proc_fs_each_task(root, r->pid, read_task, r);
	if (err == -ENOMEM)
		return err;
	proc_fs_exe(root, r->pid, &r->exe);
	if (r->living)
		r->maps_err = proc_fs_each_map(root, r->living, load_map, r);
	if (r->maps_err == -ENOMEM)
		return r->maps_err;
	if (proc_fs_stat(root, r->pid, &after))
		return 0;
	if (after.start_ticks != r->stat.start_ticks)
		return -EAGAIN;
	bool is_torn =
		r->maps_err == -ESRCH || (!r->maps_err && is_empty(r->maps) && r->exe && r->living);
	return is_torn && !is_dead(&after) && !after.is_exiting && !r->is_last ? -EAGAIN : 0;
}

/* Returns the instance of the process that /proc shows, if the table has it; else NULL. */
static struct instance *find_same(struct process_table *table, pid_t pid,
				  const struct proc_fs_stat *stat)
{
	struct instance *instance = process_table_find(table, pid);

	return instance && (instance->start_ticks == stat->start_ticks ||
			    (!instance->start_ticks && process_table_is_alive(instance)))
		       ? instance
		       : NULL;
}

static struct instance *begin_process(struct process_table *table, pid_t pid,
				      const struct proc_fs_stat *stat)
{
	char comm[PROC_FS_COMM_SIZE] = "";

	proc_fs_comm(table->proc_root, pid, pid, comm);
	return process_table_begin(table, pid, stat->parent, comm);
}

static int take_names(struct reading *r, struct instance *instance)
{
	struct process_table *table = r->table;
	struct process *process;

	for (size_t i = 0; i < r->tasks.count; i++) {
		const struct task_name *name = &r->tasks.items[i];
		struct task *task =
			process_table_begin_task(table, instance, name->tid, name->comm);

		if (!task || !process_table_name_task(table, instance, task, name->comm))
			return -ENOMEM;
	}
	process = &table->processes[instance->number];
	if (r->exe) {
		free(process->exe);
		process->exe = r->exe;
		r->exe = NULL;
	}
	process->exited = !process_table_is_alive(instance);
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

static int take_maps(struct reading *r, struct instance *instance)
{
	if (r->maps_err)
		return r->maps_err;
	if (is_empty(r->maps) && !is_empty(instance->maps))
		/* The process is ending: what the table has is better than the empty list that was
		 * read. */
		return -ESRCH;
	mapping_set_unref(instance->maps);
	instance->maps = r->maps;
	r->maps = NULL;
	instance->is_loaded = true;
	instance->losses = r->losses;
	instance->is_partial = false;
	/* The executable is known now. Whether the instance is executing is not: the event of its
	 * exit (process_table_on_exit()) or of its first mapping may still come. */
	instance->wants_exe = false;
	share_maps(r->table, instance);
	return 0;
}

/* Changes the table by what was read. */
static int take(struct reading *r, struct instance *instance)
{
	int err = take_names(r, instance);

	if (err)
		return err;
	instance->start_ticks = r->stat.start_ticks;
	if (r->living)
		return take_maps(r, instance);
	process_table_end(r->table, instance); /* a zombie, which has only its names left */
	return -ESRCH;
}

/* Returns whether a process runs another program than the table has it: it has called exec, and the
 * event of that was lost. A file that was deleted is the same one. */
static bool has_missed_exec(const struct reading *r, const struct instance *instance)
{
	const char *before = r->table->processes[instance->number].exe;
	const size_t len = before ? strlen(before) : 0;

	if (instance->losses == r->losses || !before || !r->exe || r->is_last)
		return false;
	return strncmp(before, r->exe, len) != 0 ||
	       (r->exe[len] && !object_open_is_deleted(r->exe));
}

/* Reads a process, and takes what was read. Errors as of process_table_load(), or -EAGAIN. */
static int read_and_take(struct reading *r)
{
	struct process_table *table = r->table;
	struct instance *instance = find_same(table, r->pid, &r->stat);
	bool is_known = instance != NULL;

	/* This comes before the mappings are read, since JIT code is an object of its process. */
	if (!is_known)
		instance = begin_process(table, r->pid, &r->stat);
	if (!instance)
		return -ENOMEM;
	int err = read_process(r);
	if (!err)
		err = process_table_awaits_exec(table, r->pid);
	if (!err && is_known && has_missed_exec(r, instance))
		return begin_process(table, r->pid, &r->stat) ? -EAGAIN : -ENOMEM;
	if (err <= 0)
		return err ? err : take(r, instance);
	/* /proc may already show the program after the exec. */
	return is_known || process_table_begin_unknown(table, r->pid) ? -EBUSY : -ENOMEM;
}

/* Tries once to load a process. If it is a zombie, keeps what the table has, because samples of it
 * and the event of its exit may not have arrived yet. Returns 0; -EAGAIN: the pid was given to
 * another process, or the process called exec, meanwhile; or another error. */
static int load_once(struct process_table *table, pid_t pid, bool is_last)
{
	struct reading r = {.table = table,
			    .pid = pid,
			    .living = pid,
			    .is_last = is_last,
			    .losses = table->losses};

	int err = proc_fs_stat(table->proc_root, pid, &r.stat);
	if (err)
		return err;
	if (is_dead(&r.stat)) {
		r.living = 0;
		proc_fs_each_task(table->proc_root, pid, find_living_task, &r);
		if (!r.living && process_table_find(table, pid))
			return -ESRCH;
	}
	err = read_and_take(&r);
	free_reading(&r);
	return err;
}

int process_table_load(struct process_table *table, pid_t pid)
{
	int err = process_table_expects_exec(table, pid) ? -EBUSY : -EAGAIN;

	for (int i = 0; i < MAX_ATTEMPTS && err == -EAGAIN; i++)
		err = load_once(table, pid, i == MAX_ATTEMPTS - 1);
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
