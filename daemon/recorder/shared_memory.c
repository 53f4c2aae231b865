/* SPDX-License-Identifier: MIT */
/* Asks kcmp(), and keeps answers; see shared_memory.h. */
#include "daemon/recorder/shared_memory.h"

#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_shared_now(pid_t pid, pid_t parent)
{
	return pid > 0 && parent > 0 && !syscall(SYS_kcmp, pid, parent, KCMP_VM, 0, 0);
}

void shared_memory_prefetch(struct shared_memory *s, pid_t pid, pid_t parent)
{
	unsigned at = s->next % SHARED_MEMORY_KEPT;

	if (!is_shared_now(pid, parent))
		return;
	s->kept[at].pid = pid;
	s->kept[at].parent = parent;
	s->next++;
}

bool shared_memory_is_shared(void *shared, pid_t pid, pid_t parent)
{
	struct shared_memory *s = shared;

	for (unsigned i = 0; i < SHARED_MEMORY_KEPT; i++) {
		if (s->kept[i].pid == pid && s->kept[i].parent == parent) {
			s->kept[i].pid = 0;
			return true;
		}
	}
	return is_shared_now(pid, parent);
}
