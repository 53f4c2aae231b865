/* SPDX-License-Identifier: MIT */
/* See recorder_tasks.h. */
#include "daemon/recorder/recorder_tasks.h"

#include <stdlib.h>

/* When so many processes and threads have been added, those that have ended are forgotten. */
#define MAX_TASKS (1u << 16)

static int make_cgroups(struct recorder_tasks *t)
{
	char *mount = cgroup_table_mount();
	int err = cgroup_table_new(mount, "/proc", &t->cgroups);

	free(mount);
	return err;
}

int recorder_tasks_init(struct recorder_tasks *t, const struct recorder_options *o,
			struct object_table *objects)
{
	int err = tracked_pids_new(o->is_everyone, &t->members);

	if (!err)
		err = process_table_new(objects, "/proc", &t->processes);
	if (err)
		return err;
	process_table_share_by(t->processes, shared_memory_is_shared, &t->shared);
	process_table_drain_by(t->processes, o->drain, o->arg);
	return make_cgroups(t);
}

void recorder_tasks_fini(struct recorder_tasks *t)
{
	process_table_free(t->processes);
	cgroup_table_free(t->cgroups);
	tracked_pids_free(t->members);
}

static uint32_t count(const struct recorder_tasks *t)
{
	return process_table_process_count(t->processes) + process_table_thread_count(t->processes);
}

int recorder_tasks_forget(struct recorder_tasks *t)
{
	int err = process_table_renumber(t->processes);

	if (!err)
		t->n_before = count(t);
	return err;
}

void recorder_tasks_forget_many(struct recorder_tasks *t)
{
	if (count(t) >= t->n_before + MAX_TASKS)
		recorder_tasks_forget(t);
}

uint32_t recorder_tasks_rows(const struct recorder_tasks *t)
{
	return process_table_process_rows(t->processes) + process_table_thread_rows(t->processes);
}
