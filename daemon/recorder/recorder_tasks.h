/* SPDX-License-Identifier: MIT */
/* The recorder's processes, threads and cgroups. Only recorder*.c include this. */
#ifndef RECORDER_RECORDER_TASKS_H
#define RECORDER_RECORDER_TASKS_H

#include "daemon/recorder/tracked_pids.h"
#include "daemon/recorder/mapping_shares.h"
#include "daemon/recorder/recorder.h"
#include "daemon/recorder/shared_memory.h"
#include "proc/cgroup_table.h"
#include "proc/process.h"

struct recorder_tasks {
	struct process_table *processes;
	struct cgroup_table *cgroups;
	struct tracked_pids *members;
	struct shared_memory shared; /* knows which new processes share their parent's memory */
	struct mapping_shares mappings;
	bool wants_reload;     /* events were lost, so all are to be read from /proc again */
	uint64_t reload_ns;    /* when that may be done */
	bool wants_sweep;      /* so ends of threads may be missing */
	uint64_t sweep_ns;     /* when they may be looked for */
	uint64_t swept_losses; /* lost events at the last look */
	uint32_t n_before;     /* how many processes and threads were left when those that had ended
				* were last forgotten */
};

/* Makes the tables, in a zeroed struct, which must stay where it is. The objects are borrowed. 0 or
 * -errno; recorder_tasks_fini() in any case. */
int recorder_tasks_init(struct recorder_tasks *tasks, const struct recorder_options *options,
			struct object_table *objects);
void recorder_tasks_fini(struct recorder_tasks *tasks); /* a zeroed one is fine */

/* Forgets the processes and threads that ended long ago, and numbers the remaining ones again, from
 * 0 on. 0 or -ENOMEM. */
int recorder_tasks_forget(struct recorder_tasks *tasks);

/* Calls recorder_tasks_forget() if very many processes and threads have been added since the last
 * time. To be called when all rows were sent. Without memory, does nothing. */
void recorder_tasks_forget_many(struct recorder_tasks *tasks);

/* Returns how many processes and threads have a row. They get one with their first record. */
uint32_t recorder_tasks_rows(const struct recorder_tasks *tasks);

#endif
