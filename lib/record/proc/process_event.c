/* SPDX-License-Identifier: MIT */
/*
 * Applies perf's side-band events to the table of processes.
 *
 * Events and /proc overlap, because the caller opens the events first and loads afterwards, so that
 * nothing is missed in between. So events that are queued while it loads are applied to a state
 * that already includes them. To apply them again does no harm, except for a fork: it would begin
 * the loaded process once more. So the first fork event of a loaded process counts as the one that
 * made it, unless /proc then shows another start time for the pid.
 *
 * If the caller has read an exec that it has not applied yet, /proc already has the program after
 * it: then the process is not loaded (process_table_await_exec()).
 *
 * A process ends with its last thread, not with its first. The exits of threads that an exec ended
 * arrive after the exec, for a process record that has ended; the record's number tells them from
 * exits of the new program's threads.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proc/process_table.h"

/* --- awaited execs --------------------------------------------------------------------------- */

static struct awaited_exec *find_awaited(const struct process_table *table, pid_t pid)
{
	struct awaited_exec *awaited;

	HASH_FIND_INT(table->awaited, &pid, awaited);
	return awaited;
}

int process_table_await_exec(struct process_table *table, pid_t pid)
{
	struct awaited_exec *awaited = find_awaited(table, pid);

	if (!awaited) {
		awaited = calloc(1, sizeof(*awaited));
		if (!awaited)
			return -ENOMEM;
		awaited->pid = pid;
		HASH_ADD_INT(table->awaited, pid, awaited);
		if (!awaited->hh.tbl) { /* no memory */
			free(awaited);
			return -ENOMEM;
		}
	}
	awaited->count++;
	return 0;
}

void process_table_meet_exec(struct process_table *table, pid_t pid)
{
	struct awaited_exec *awaited = find_awaited(table, pid);

	if (!awaited || --awaited->count)
		return;
	HASH_DEL(table->awaited, awaited);
	free(awaited);
}

void process_table_drain_by(struct process_table *table, int (*drain)(void *arg), void *arg)
{
	table->drain = drain;
	table->drain_arg = arg;
}

bool process_table_expects_exec(const struct process_table *table, pid_t pid)
{
	return find_awaited(table, pid) != NULL;
}

int process_table_awaits_exec(struct process_table *table, pid_t pid)
{
	int err = table->drain ? table->drain(table->drain_arg) : 0;

	return err ? err : process_table_expects_exec(table, pid);
}

int process_table_reload(struct process_table *table, pid_t pid)
{
	return process_table_knows(table, pid) ? process_table_load(table, pid) : -ESRCH;
}

/* --- events ---------------------------------------------------------------------------------- */

/* Returns the instance of an event's pid as a living one. If the table has it as ended, an event
 * was missed: the process is loaded from /proc, or else begins anew without mappings. NULL: memory
 * is short. */
static struct instance *get_alive(struct process_table *table, pid_t pid)
{
	struct instance *instance = process_table_get(table, pid);

	if (!instance || process_table_is_alive(instance))
		return instance;
	process_table_load(table, pid);
	if (process_table_is_alive(instance))
		return instance;
	char comm[16];
	memcpy(comm, table->processes[instance->number].comm, sizeof(comm));
	return process_table_begin(table, pid, 0, comm);
}

/* Returns the name of the thread that forks. The pointer is into a record, so the caller copies the
 * name. */
static const char *comm_of(struct process_table *table, const struct instance *instance, pid_t tid)
{
	struct task *task;

	HASH_FIND_INT(table->tasks, &tid, task);
	if (task && task->process == instance->number)
		return table->threads[task->number].comm;
	return table->processes[instance->number].comm;
}

int process_table_on_mmap(struct process_table *table, pid_t pid, const struct object_mapping *m)
{
	return process_table_on_mmap_of(table, pid, m, NULL);
}

int process_table_on_mmap_of(struct process_table *table, pid_t pid, const struct object_mapping *m,
			     const struct object *known)
{
	const struct object *object = known;

	struct instance *instance = get_alive(table, pid);
	if (!instance)
		return -ENOMEM;
	instance->is_executing = false;
	int err = process_table_map(table, pid, &instance->maps, m, &object);
	if (err)
		return err;
	if (instance->wants_exe && object && object->kind == OBJECT_ELF) {
		struct process *process = &table->processes[instance->number];
		process->exe = strdup(m->path);
		if (!process->exe)
			return -ENOMEM;
		instance->wants_exe = false;
	}
	if (instance->maps && instance->maps->count >= instance->prune_at)
		process_table_prune(table, instance);
	process_table_spread(instance);
	return 0;
}

static int on_exec(struct process_table *table, pid_t pid, const char *comm)
{
	struct instance *instance = process_table_find(table, pid);
	struct proc_fs_stat stat = {0};

	if (instance && process_table_is_alive(instance)) {
		stat.parent = table->processes[instance->number].parent;
		stat.start_ticks = instance->start_ticks;
	} else {
		proc_fs_stat(table->proc_root, pid, &stat);
	}
	instance = process_table_begin(table, pid, stat.parent, comm);
	if (!instance)
		return -ENOMEM;
	instance->start_ticks = stat.start_ticks;
	instance->wants_exe = true;
	instance->is_executing = true;
	return 0;
}

int process_table_on_comm(struct process_table *table, pid_t pid, pid_t tid, const char *comm,
			  bool is_exec)
{
	if (is_exec)
		return on_exec(table, pid, comm);
	struct instance *instance = get_alive(table, pid);
	if (!instance)
		return -ENOMEM;
	struct task *task = process_table_begin_task(table, instance, tid, comm);
	return task && process_table_name_task(table, instance, task, comm) ? 0 : -ENOMEM;
}

static int on_new_thread(struct process_table *table, pid_t pid, pid_t tid, pid_t parent_tid)
{
	struct instance *instance = get_alive(table, pid);

	if (!instance)
		return -ENOMEM;
	const char *comm = comm_of(table, instance, parent_tid);
	return process_table_begin_task(table, instance, tid, comm) ? 0 : -ENOMEM;
}

/* Returns whether this process, whose fork event is being applied, was already loaded from /proc.
 */
static bool was_loaded_before(struct process_table *table, struct instance *instance)
{
	struct proc_fs_stat stat;

	if (!instance || !process_table_is_alive(instance) || !instance->is_loaded)
		return false;
	return proc_fs_stat(table->proc_root, instance->pid, &stat) ||
	       stat.start_ticks == instance->start_ticks;
}

static int copy_process(struct process_table *table, struct instance *parent, pid_t pid,
			pid_t parent_tid)
{
	const struct process *process = &table->processes[parent->number];
	char *exe = process->exe ? strdup(process->exe) : NULL;

	if (process->exe && !exe)
		return -ENOMEM;
	struct instance *child =
		process_table_begin(table, pid, parent->pid, comm_of(table, parent, parent_tid));
	if (!child) {
		free(exe);
		return -ENOMEM;
	}
	table->processes[child->number].exe = exe;
	child->maps = mapping_set_ref(parent->maps);
	child->prune_at = parent->prune_at;
	child->losses = parent->losses;
	child->is_partial = parent->is_partial;
	process_table_join(table, child, parent->pid);
	return 0;
}

int process_table_on_fork(struct process_table *table, pid_t pid, pid_t tid, pid_t parent_pid,
			  pid_t parent_tid)
{
	if (pid == parent_pid)
		return on_new_thread(table, pid, tid, parent_tid);

	struct instance *instance = process_table_find(table, pid);
	if (was_loaded_before(table, instance)) {
		instance->is_loaded = false;
		process_table_join(table, instance, parent_pid);
		return 0;
	}
	struct instance *parent = process_table_find(table, parent_pid);
	if (!parent && !instance && !process_table_load(table, pid)) {
		/* What was read of the child itself is more reliable than a copy of its parent's
		 * present state. */
		instance = process_table_find(table, pid);
		instance->is_loaded = false;
		return 0;
	}
	parent = process_table_get(table, parent_pid);
	return parent ? copy_process(table, parent, pid, parent_tid) : -ENOMEM;
}

int process_table_on_exit(struct process_table *table, pid_t pid, pid_t tid)
{
	struct instance *instance = process_table_find(table, pid);
	struct task *task;

	if (instance && instance->is_executing && pid == tid) {
		instance->is_executing = false;
		return 1;
	}
	HASH_FIND_INT(table->tasks, &tid, task);
	if (instance && task)
		process_table_end_task(table, instance, task);
	return 0;
}
