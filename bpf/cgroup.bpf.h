/* SPDX-License-Identifier: GPL-2.0-only */
/* The cgroup that is recorded, for tasks other than the current one. */
#ifndef CGROUP_BPF_H
#define CGROUP_BPF_H

#include "scratch.bpf.h"

#define CGROUP_LEVELS 32

SETTING __u64 cgroup_id = 0; /* id of the cgroup that is recorded; 0: the target is not a cgroup */

static __always_inline bool is_in_cgroup(struct task_struct *task)
{
	struct cgroup *group = BPF_CORE_READ(task, cgroups, dfl_cgrp);

	for (int i = 0; i < CGROUP_LEVELS && group; i++) {
		if (BPF_CORE_READ(group, kn, id) == cgroup_id)
			return true;
		group = (struct cgroup *)BPF_CORE_READ(group, self.parent);
	}
	return false;
}

#endif
