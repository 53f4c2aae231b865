/* SPDX-License-Identifier: MIT */
/*
 * Records of processes and threads, and look-ups. See process_table.h for the structure.
 *
 * A look-up is made for each frame of each sample, nearly always in the same process and often
 * in the same mapping as the one before: both last hits are tried first.
 *
 * A parent's JIT code and its child's are different objects although fork() copies the code: the
 * child can overwrite it with other code at the same address. Mappings are shared at fork(), so
 * this is corrected at the first look-up that finds such a mapping; most children never get there,
 * since they call exec.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "proc/process_table.h"

int process_table_new(struct object_table *objects, const char *proc_root,
		      struct process_table **ret_table)
{
	struct process_table *table = calloc(1, sizeof(*table));

	if (!table)
		return -ENOMEM;
	table->objects = objects;
	table->proc_root = strdup(proc_root);
	if (!table->proc_root) {
		process_table_free(table);
		return -ENOMEM;
	}
	*ret_table = table;
	return 0;
}

static void free_instance(struct process_table *table, struct instance *instance)
{
	HASH_DEL(table->instances, instance);
	process_table_leave(instance);
	if (table->last == instance)
		table->last = NULL;
	mapping_set_unref(instance->maps);
	free(instance);
}

void process_table_free(struct process_table *table)
{
	struct instance *instance, *next_instance;
	struct awaited_exec *awaited, *next_awaited;
	struct task *task, *next_task;

	if (!table)
		return;
	HASH_ITER (hh, table->awaited, awaited, next_awaited) {
		HASH_DEL(table->awaited, awaited);
		free(awaited);
	}
	HASH_ITER (hh, table->instances, instance, next_instance)
		free_instance(table, instance);
	HASH_ITER (hh, table->tasks, task, next_task) {
		HASH_DEL(table->tasks, task);
		free(task);
	}
	for (uint32_t i = 0; i < table->n_processes; i++)
		free(table->processes[i].exe);
	free(table->processes);
	free(table->threads);
	free(table->process_rows.items);
	free(table->thread_rows.items);
	free(table->proc_root);
	free(table);
}

/* --- records --------------------------------------------------------------------------------- */

static void set_comm(char to[16], const char *comm)
{
	memset(to, 0, 16);
	memcpy(to, comm, strnlen(comm, 15));
}

/* Adds a record of a thread. `comm` may point into a record. `cgroup`: the id of its cgroup, or 0.
 */
static bool add_thread_record(struct process_table *table, struct task *task, const char *comm,
			      uint64_t cgroup)
{
	struct thread thread = {.number = table->n_threads,
				.row = PROCESS_NO_ROW,
				.process = task->process,
				.tid = task->tid,
				.cgroup = cgroup};

	set_comm(thread.comm, comm);
	if (VEC_GROW(table->threads, table->threads_cap, (size_t)table->n_threads + 1) < 0)
		return false;
	table->threads[table->n_threads] = thread;
	task->number = table->n_threads++;
	return true;
}

static bool add_process_record(struct process_table *table, struct instance *instance, pid_t parent,
			       const char *comm)
{
	struct process process = {.number = table->n_processes,
				  .row = PROCESS_NO_ROW,
				  .pid = instance->pid,
				  .parent = parent};

	set_comm(process.comm, comm);
	if (VEC_GROW(table->processes, table->processes_cap, (size_t)table->n_processes + 1) < 0)
		return false;
	table->processes[table->n_processes] = process;
	instance->number = table->n_processes++;
	return true;
}

/* --- instances and tasks --------------------------------------------------------------------- */

struct instance *process_table_find(struct process_table *table, pid_t pid)
{
	if (table->last && table->last->pid == pid)
		return table->last;
	struct instance *instance;
	HASH_FIND_INT(table->instances, &pid, instance);
	if (instance)
		table->last = instance;
	return instance;
}

static struct task *find_task(struct process_table *table, pid_t tid)
{
	struct task *task;

	HASH_FIND_INT(table->tasks, &tid, task);
	return task;
}

struct instance *process_table_begin(struct process_table *table, pid_t pid, pid_t parent,
				     const char *name)
{
	struct instance *instance = process_table_find(table, pid);
	/* `name` may point into a record, which moves when another record is added */
	char comm[16];

	set_comm(comm, name);
	if (!instance) {
		instance = calloc(1, sizeof(*instance));
		if (!instance)
			return NULL;
		instance->pid = pid;
		instance->peer = instance;
		HASH_ADD_INT(table->instances, pid, instance);
		if (!instance->hh.tbl) {
			free(instance);
			return NULL;
		}
		if (!add_process_record(table, instance, parent, comm)) {
			free_instance(table, instance);
			return NULL;
		}
	} else {
		uint32_t before = instance->number;
		if (!add_process_record(table, instance, parent, comm))
			return NULL;
		table->processes[before].exited = true;
		object_table_forget_process(table->objects, pid);
	}
	process_table_leave(instance);
	mapping_set_unref(instance->maps);
	instance->maps = NULL;
	instance->start_ticks = 0;
	instance->living_tasks = 0;
	instance->prune_at = PROCESS_TABLE_PRUNE_AT;
	instance->is_loaded = instance->wants_exe = instance->is_end_sure = false;
	instance->is_executing = instance->is_partial = false;
	instance->losses = table->losses;
	instance->settle_ns = 0;
	return process_table_begin_task(table, instance, pid, comm) ? instance : NULL;
}

static struct task *add_task(struct process_table *table, const struct instance *instance,
			     pid_t tid, const char *comm)
{
	struct task *task = calloc(1, sizeof(*task));

	if (!task)
		return NULL;
	task->tid = tid;
	task->process = instance->number;
	HASH_ADD_INT(table->tasks, tid, task);
	if (!task->hh.tbl) {
		free(task);
		return NULL;
	}
	if (!add_thread_record(table, task, comm, 0)) {
		HASH_DEL(table->tasks, task);
		free(task);
		return NULL;
	}
	return task;
}

struct task *process_table_begin_task(struct process_table *table, struct instance *instance,
				      pid_t tid, const char *comm)
{
	struct task *task = find_task(table, tid);

	if (task && task->is_alive && task->process == instance->number)
		return task;
	if (!task) {
		task = add_task(table, instance, tid, comm);
	} else if (task->process == instance->number) {
		if (!process_table_name_task(table, instance, task, comm))
			return NULL;
	} else {
		uint32_t before = task->process;
		task->process = instance->number;
		if (!add_thread_record(table, task, comm, 0)) {
			task->process = before;
			return NULL;
		}
	}
	if (!task)
		return NULL;
	task->is_alive = true;
	instance->living_tasks++;
	return task;
}

bool process_table_name_task(struct process_table *table, struct instance *instance,
			     struct task *task, const char *comm)
{
	if (task->tid == instance->pid)
		set_comm(table->processes[instance->number].comm, comm);
	if (!strncmp(table->threads[task->number].comm, comm, 15))
		return true;
	return add_thread_record(table, task, comm, table->threads[task->number].cgroup);
}

/* Puts a process or thread that has ended into the oldest of the `size` slots of a ring. Returns
 * what that slot had. */
static struct ended push_ended(struct ended *ring, uint32_t size, uint32_t *at, pid_t id,
			       uint32_t number)
{
	struct ended oldest = ring[*at];

	ring[*at] = (struct ended){.id = id, .number = number};
	*at = (*at + 1) % size;
	return oldest;
}

/* Returns the instance (process_table.h) that a slot of the ring refers to; NULL: it is alive
 * again, or its pid was used again. */
static struct instance *still_ended(struct process_table *table, struct ended ended)
{
	struct instance *instance = ended.id ? process_table_find(table, ended.id) : NULL;

	return instance && instance->number == ended.number && !process_table_is_alive(instance)
		       ? instance
		       : NULL;
}

static void drop_mappings(struct process_table *table, struct instance *instance)
{
	mapping_set_unref(instance->maps);
	instance->maps = NULL;
	object_table_forget_process(table->objects, instance->pid);
}

void process_table_end(struct process_table *table, struct instance *instance)
{
	struct instance *old;

	process_table_leave(instance);
	instance->living_tasks = 0;
	instance->is_end_sure = false;
	table->processes[instance->number].exited = true;
	old = still_ended(table,
			  push_ended(table->ended_mappings, PROCESS_TABLE_MAPPINGS_KEPT,
				     &table->ended_mappings_at, instance->pid, instance->number));
	if (old && old != instance)
		drop_mappings(table, old);
	old = still_ended(table,
			  push_ended(table->ended_instances, PROCESS_TABLE_ENDED_KEPT,
				     &table->ended_instances_at, instance->pid, instance->number));
	if (old && old != instance) {
		free_instance(table, old);
		table->forgotten.processes++;
	}
}

void process_table_end_task(struct process_table *table, struct instance *instance,
			    struct task *task)
{
	if (!task->is_alive)
		return;
	task->is_alive = false;
	bool is_of_instance = task->process == instance->number;

	struct ended oldest = push_ended(table->ended_tasks, PROCESS_TABLE_ENDED_KEPT,
					 &table->ended_tasks_at, task->tid, task->number);
	struct task *old = oldest.id ? find_task(table, oldest.id) : NULL;
	if (old && old != task && old->number == oldest.number && !old->is_alive) {
		HASH_DEL(table->tasks, old);
		free(old);
		table->forgotten.threads++;
	}
	if (is_of_instance && instance->living_tasks && !--instance->living_tasks)
		process_table_end(table, instance);
}

struct instance *process_table_begin_unknown(struct process_table *table, pid_t pid)
{
	char comm[32];

	/* perf names unknown processes in the same way; 0 is the idle task. */
	snprintf(comm, sizeof(comm), pid ? ":%d" : "swapper", pid);
	return process_table_begin(table, pid, 0, comm);
}

struct instance *process_table_get(struct process_table *table, pid_t pid)
{
	struct instance *instance = process_table_find(table, pid);

	if (instance)
		return instance;
	if (pid > 0)
		process_table_load(table, pid);
	instance = process_table_find(table, pid);
	return instance ? instance : process_table_begin_unknown(table, pid);
}

/* --- look-ups -------------------------------------------------------------------------------- */

const struct process *process_table_process(struct process_table *table, pid_t pid)
{
	struct instance *instance = process_table_get(table, pid);

	return instance ? &table->processes[instance->number] : NULL;
}

const struct thread *process_table_thread(struct process_table *table, pid_t pid, pid_t tid)
{
	char comm[PROC_FS_COMM_SIZE];

	struct instance *instance = process_table_get(table, pid);
	if (!instance)
		return NULL;
	struct task *task = find_task(table, tid);
	if (task && task->process == instance->number)
		return &table->threads[task->number];
	if (!process_table_is_alive(instance))
		process_table_revive(table, instance);

	bool is_alive = process_table_is_alive(instance);
	if (proc_fs_comm(table->proc_root, pid, tid, comm) ||
	    process_table_awaits_exec(table, pid)) /* the name may be the next program's */
		memcpy(comm, table->processes[instance->number].comm, sizeof(comm));
	task = process_table_begin_task(table, instance, tid, comm);
	if (!task)
		return NULL;
	if (!is_alive) /* a late sample does not bring the process back */
		task->is_alive = false, instance->living_tasks = 0;
	return &table->threads[task->number];
}

const struct thread *process_table_find_thread(const struct process_table *table, pid_t pid,
					       pid_t tid)
{
	struct instance *instance = process_table_find((struct process_table *)table, pid);
	const struct task *task = find_task((struct process_table *)table, tid);

	return instance && task && task->process == instance->number ? &table->threads[task->number]
								     : NULL;
}

const struct thread *process_table_set_cgroup(struct process_table *table, pid_t pid, pid_t tid,
					      uint64_t cgroup)
{
	const struct thread *known = process_table_thread(table, pid, tid);
	struct task *task = known ? find_task(table, tid) : NULL;
	struct thread *thread;

	if (!task || known->cgroup == cgroup)
		return known;
	thread = &table->threads[task->number];
	if (!thread->cgroup)
		thread->cgroup = cgroup;
	else if (!add_thread_record(table, task, thread->comm, cgroup))
		return NULL;
	return &table->threads[task->number];
}

/* Replaces the parent's JIT object by the process's own in the mappings that the process has from
 * its parent. Returns 0 or an error. */
static int own_jit_code(struct process_table *table, struct instance *instance)
{
	struct object_mapping m = {.path = "//anon"};
	const struct object *own;

	int err = object_table_resolve(table->objects, instance->pid, &m, &own);
	if (!err)
		err = mapping_set_own(&instance->maps);
	for (uint32_t i = 0; !err && i < instance->maps->count; i++) {
		struct mapping *map = &instance->maps->maps[i];
		if (map->object->kind == OBJECT_JIT)
			map->object = own;
	}
	if (!err)
		process_table_spread(instance);
	return err;
}

/* Returns whether a mapping is JIT code of a process that does not share the instance's memory. */
static bool is_of_another(const struct mapping *map, const struct instance *instance)
{
	return map->object->kind == OBJECT_JIT &&
	       !process_table_is_peer(instance, map->object->owner.pid);
}

/* Returns the instance of a pid. If the table has it as ended, first checks in /proc whether it
 * really has ended. NULL: memory is short. */
static struct instance *get_revived(struct process_table *table, pid_t pid)
{
	struct instance *instance = process_table_get(table, pid);

	if (instance && !process_table_is_alive(instance))
		process_table_revive(table, instance);
	return instance;
}

const struct mapping_set *process_table_mappings(struct process_table *table, pid_t pid)
{
	struct instance *instance = get_revived(table, pid);
	struct mapping_set *maps = instance ? instance->maps : NULL;

	if (!maps || maps->version == instance->own_version)
		return maps;
	for (uint32_t i = 0; i < maps->count; i++)
		if (is_of_another(&maps->maps[i], instance)) {
			if (own_jit_code(table, instance))
				return NULL;
			break;
		}
	instance->own_version = instance->maps->version;
	return instance->maps;
}

const struct mapping *process_table_mapping(struct process_table *table, pid_t pid,
					    uint64_t address)
{
	struct instance *instance = get_revived(table, pid);

	if (!instance)
		return NULL;
	struct mapping *map = mapping_set_find(instance->maps, address, &instance->hint);
	if (map && is_of_another(map, instance)) {
		if (own_jit_code(table, instance))
			return NULL;
		map = mapping_set_find(instance->maps, address, &instance->hint);
	}
	return map;
}

int process_table_set_mapping(struct process_table *table, pid_t pid, const struct mapping *m)
{
	struct instance *instance = get_revived(table, pid);
	int err = instance ? mapping_set_own(&instance->maps) : -ENOMEM;

	if (!err)
		err = mapping_set_insert(instance->maps, m);
	if (!err)
		process_table_spread(instance);
	return err;
}

bool process_table_knows(struct process_table *table, pid_t pid)
{
	const struct instance *instance = process_table_find(table, pid);

	return instance && process_table_is_alive(instance);
}

struct process_table_forgotten process_table_forgotten(const struct process_table *table)
{
	return table->forgotten;
}

uint32_t process_table_process_count(const struct process_table *table)
{
	return table->n_processes;
}

uint32_t process_table_thread_count(const struct process_table *table)
{
	return table->n_threads;
}

const struct process *process_table_process_at(const struct process_table *t, uint32_t number)
{
	return number < t->n_processes ? &t->processes[number] : NULL;
}

const struct thread *process_table_thread_at(const struct process_table *t, uint32_t number)
{
	return number < t->n_threads ? &t->threads[number] : NULL;
}
