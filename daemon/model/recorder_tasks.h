/* SPDX-License-Identifier: MIT */
/* The recorder's processes, threads and cgroups. Only recorder*.c include this. */
#ifndef MODEL_RECORDER_TASKS_H
#define MODEL_RECORDER_TASKS_H

#include "daemon/model/members.h"
#include "daemon/model/recorder.h"
#include "daemon/model/shared_memory.h"
#include "proc/cgroup_table.h"
#include "proc/process.h"

struct recorder_tasks {
	struct process_table *processes;
	struct cgroup_table *cgroups;
	struct members *members;
	struct shared_memory shared; /* which new processes share their parent's */
	uint32_t n_before;	     /* processes and threads when it last began anew */
};

/* Makes the tables, in a zeroed struct, which must stay where it is. The objects are borrowed. 0 or
 * -errno; recorder_tasks_fini() in any case. */
int recorder_tasks_init(struct recorder_tasks *tasks, const struct recorder_options *options,
			struct object_table *objects);
void recorder_tasks_fini(struct recorder_tasks *tasks); /* a zeroed one is fine */

/* Forgets the records of what has ended long ago. 0 or -ENOMEM. */
int recorder_tasks_forget(struct recorder_tasks *tasks);

/* The same if there are very many new ones since. To be called when all rows were sent; without
 * memory nothing is forgotten yet. */
void recorder_tasks_forget_many(struct recorder_tasks *tasks);

/* Returns how many rows there are of what something is recorded of. */
uint32_t recorder_tasks_rows(const struct recorder_tasks *tasks);

#endif
