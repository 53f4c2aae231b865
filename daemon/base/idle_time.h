/* SPDX-License-Identifier: MIT */
/*
 * Measures how long the CPUs were idle, as the kernel accounts it in /proc/stat.
 *
 * Samples cannot show it, because since Linux 6.18 at the latest the timer of a clock event stops
 * on most idle CPUs, and hardware events count nothing there.
 */
#ifndef DAEMON_IDLE_TIME_H
#define DAEMON_IDLE_TIME_H

#include <stdint.h>

/* The start of a measurement of idle time; all 0: there is none. */
struct idle_time {
	uint64_t at_ns;	  /* CLOCK_MONOTONIC */
	uint64_t idle_ns; /* idle time of all CPUs since boot, waiting for disks included */
};

/* Times since the start, summed over all CPUs. */
struct idle_times {
	uint64_t idle_ns, cpus_ns; /* cpus_ns: idle or not; 0: not measured */
};

/* Returns the start of a measurement that begins now; all 0 if /proc/stat cannot be read. */
struct idle_time idle_time_now(void);

/* Returns the times from `start` until now; all 0 if `start` is, or if /proc/stat cannot be read.
 * idle_ns never exceeds cpus_ns. */
struct idle_times idle_time_since(const struct idle_time *start);

#endif
