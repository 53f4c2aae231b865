/* SPDX-License-Identifier: MIT */
/*
 * Settles processes whose entry in the table is in doubt, because an event of theirs is missing:
 * the entry may be out of date, or even of another program. Before the next record of such a
 * process is taken, this reads the process from /proc. If that fails, the process becomes an
 * unknown one, whose paths end, until it can be read.
 *
 * When the kernel loses events, it does not say whose. So the table counts the losses, each process
 * keeps the count at which it was last read, and a process with a lower count is in doubt.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/vec.h"
#include "proc/process_table.h"

#define KERNEL_THREADS	2 /* the parent of all */
#define SETTLE_PAUSE_NS UINT64_C(1000000000)

void process_table_doubt_all(struct process_table *table)
{
	table->losses++;
}

void process_table_doubt(struct process_table *table, pid_t pid)
{
	struct instance *instance = process_table_find(table, pid);

	if (!instance)
		return;
	instance->is_partial = true;
	if (!instance->maps)
		return;
	mapping_set_unref(instance->maps);
	instance->maps = NULL;
	process_table_spread(instance);
}

/* The kernel's own threads map nothing, and run no program. */
static bool is_outdated(const struct process_table *table, const struct instance *instance)
{
	return instance->losses != table->losses &&
	       (instance->maps || table->processes[instance->number].parent != KERNEL_THREADS);
}

/* Nothing is mapped, and it was never read. */
static bool is_unknown(const struct instance *instance)
{
	return !instance->maps && !instance->start_ticks;
}

/* An event of one CPU can be a little older than the last one of another. */
bool process_table_is_doubted(struct process_table *table, pid_t pid, uint64_t time_ns)
{
	const struct instance *instance = process_table_find(table, pid);

	if (!instance || pid <= 0 || !process_table_is_alive(instance))
		return false;
	if (is_outdated(table, instance) && !(instance->is_partial && is_unknown(instance)))
		return true;
	return instance->is_partial &&
	       (!instance->settle_ns || (int64_t)(time_ns - instance->settle_ns) >= 0);
}

int process_table_settle(struct process_table *table, pid_t pid, bool may_read, uint64_t time_ns)
{
	struct instance *instance;

	if (may_read && process_table_load(table, pid) == -ENOMEM)
		return -ENOMEM;
	instance = process_table_find(table, pid);
	if (!instance || !process_table_is_alive(instance) ||
	    !(instance->is_partial || is_outdated(table, instance)))
		return 0;
	if (is_outdated(table, instance) && !is_unknown(instance)) {
		instance = process_table_begin_unknown(table, pid);
		if (!instance)
			return -ENOMEM;
	}
	instance->losses = table->losses;
	instance->is_partial = true;
	instance->settle_ns = time_ns + SETTLE_PAUSE_NS;
	return 0;
}

/* --- ends that were lost ---------------------------------------------------------------------- */

/* Returns the instance that a task is of; NULL: another process has its pid. */
static struct instance *instance_of(struct process_table *table, const struct task *task)
{
	struct instance *instance = process_table_find(table, table->processes[task->process].pid);

	return instance && instance->number == task->process ? instance : NULL;
}

static bool is_there(const struct process_table *table, const struct task *task)
{
	const pid_t pid = table->processes[task->process].pid;
	char path[256];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%d/task/%d", table->proc_root, (int)pid, (int)task->tid);
	return !stat(path, &st) || errno != ENOENT;
}

/* To end a task removes others, so those to be ended are found first. */
int process_table_sweep(struct process_table *table)
{
	struct task *task, *next;
	VEC(pid_t) gone = {0};

	HASH_ITER (hh, table->tasks, task, next) {
		const bool was_missed = task->is_missed;

		task->is_missed = task->is_alive && task->tid > 0 && !is_there(table, task);
		if (!was_missed || !task->is_missed)
			continue;
		if (VEC_RESERVE(&gone, 1)) {
			free(gone.items);
			return -ENOMEM;
		}
		gone.items[gone.count++] = task->tid;
	}
	for (size_t i = 0; i < gone.count; i++) {
		struct instance *instance;

		HASH_FIND_INT(table->tasks, &gone.items[i], task);
		instance = task ? instance_of(table, task) : NULL;
		if (instance)
			process_table_end_task(table, instance, task);
	}
	free(gone.items);
	return 0;
}
