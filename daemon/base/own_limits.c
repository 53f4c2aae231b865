/* SPDX-License-Identifier: MIT */
/* Raises the daemon's limits; see own_limits.h. */
#include "daemon/base/own_limits.h"

#include <errno.h>
#include <sched.h>
#include <sys/resource.h>

#define PRIORITY (-10) /* nice value of the loop; tables.c has the same for its thread */

void own_limits_raise_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

void own_limits_raise_locked_memory(void)
{
	struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};

	if (!setrlimit(RLIMIT_MEMLOCK, &limit) || getrlimit(RLIMIT_MEMLOCK, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_MEMLOCK, &limit);
}

void own_limits_raise_priority(void)
{
	errno = 0;
	if (!getpriority(PRIO_PROCESS, 0) && !errno)
		setpriority(PRIO_PROCESS, 0, PRIORITY); /* without the right, nothing changes */
}

void own_limits_hurry(bool hurries)
{
	const struct sched_param first = {.sched_priority = hurries};
	int policy = hurries ? SCHED_RR : SCHED_OTHER;

	/* The flag stays set at the end, since removing it would need a capability that stackd has
	 * given up by then. */
	sched_setscheduler(0, policy | SCHED_RESET_ON_FORK, &first);
}
