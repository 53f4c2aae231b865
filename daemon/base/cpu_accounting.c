/* SPDX-License-Identifier: MIT */
/* Reads /proc/stat and cpu.stat; see cpu_accounting.h. */
#include "daemon/base/cpu_accounting.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

uint64_t cpu_accounting_stolen(void)
{
	FILE *file = fopen("/proc/stat", "re");
	long ticks = sysconf(_SC_CLK_TCK);
	uint64_t stolen = 0;

	if (!file)
		return 0;
	if (ticks < 1 || fscanf(file, "cpu %*u %*u %*u %*u %*u %*u %*u %" SCNu64, &stolen) != 1)
		stolen = 0;
	fclose(file);
	return ticks > 0 ? stolen * (UINT64_C(1000000000) / (uint64_t)ticks) : 0;
}

/* Only cgroups with a parent have the file "cgroup.type". The root's cpu.stat would give the CPUs'
 * time as counted by ticks, so it is not used. */
uint64_t cpu_accounting_of_cgroup(int group)
{
	int type = openat(group, "cgroup.type", O_RDONLY | O_CLOEXEC);
	int fd = type >= 0 ? openat(group, "cpu.stat", O_RDONLY | O_CLOEXEC) : -1;
	FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
	uint64_t us = 0;

	if (type >= 0)
		close(type);
	if (!file) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	if (fscanf(file, "usage_usec %" SCNu64, &us) != 1)
		us = 0;
	fclose(file);
	return us * 1000;
}
