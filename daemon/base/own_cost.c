/* SPDX-License-Identifier: MIT */
/* Reads the cost from the kernel; see own_cost.h. */
#include "daemon/base/own_cost.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

uint64_t own_cost_used_ns(const struct rusage *used)
{
	return (uint64_t)(used->ru_utime.tv_sec + used->ru_stime.tv_sec) * 1000000000u +
	       (uint64_t)(used->ru_utime.tv_usec + used->ru_stime.tv_usec) * 1000u;
}

uint64_t own_cost_cpu_ns(void)
{
	struct rusage used;

	return getrusage(RUSAGE_SELF, &used) ? 0 : own_cost_used_ns(&used);
}

uint64_t own_cost_resident_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%*u %lu", &pages) != 1)
		pages = 0;
	fclose(file);
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t own_cost_child_bytes(pid_t pid)
{
	unsigned long pages = 0, shared = 0;
	char path[32];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fscanf(file, "%*u %lu %lu", &pages, &shared) != 2)
		pages = shared = 0;
	fclose(file);
	return (uint64_t)(pages > shared ? pages - shared : 0) * (uint64_t)sysconf(_SC_PAGESIZE);
}
