/* SPDX-License-Identifier: MIT */
/* Reads /proc/stat; see idle_time.h. */
#include "daemon/base/idle_time.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

struct idle_time idle_time_now(void)
{
	FILE *file = fopen("/proc/stat", "re");
	long ticks = sysconf(_SC_CLK_TCK);
	uint64_t idle, waiting;
	struct idle_time now = {0};

	if (!file)
		return now;
	if (ticks > 0 && fscanf(file, "cpu %*u %*u %*u %" SCNu64 " %" SCNu64, &idle, &waiting) == 2)
		now = (struct idle_time){
			.at_ns = clock_ns(CLOCK_MONOTONIC),
			.idle_ns = (idle + waiting) * (UINT64_C(1000000000) / (uint64_t)ticks),
		};
	fclose(file);
	return now;
}

struct idle_times idle_time_since(const struct idle_time *start)
{
	struct idle_time now = idle_time_now();
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct idle_times times = {0};

	if (!start->at_ns || now.at_ns <= start->at_ns || cpus < 1)
		return times;
	times.cpus_ns = (now.at_ns - start->at_ns) * (uint64_t)cpus;
	if (now.idle_ns > start->idle_ns) /* the time spent waiting for disks can fall */
		times.idle_ns = now.idle_ns - start->idle_ns;
	if (times.idle_ns > times.cpus_ns)
		times.idle_ns = times.cpus_ns;
	return times;
}
