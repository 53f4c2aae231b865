/* SPDX-License-Identifier: MIT */
/*
 * The times of a call. To ask the kernel for the CPU time of a thread would cost as much as all
 * else that this library does. So the kernel half notes, each time that the thread gets a CPU, the
 * time and the CPU time that the scheduler has counted; until the next switch both go on alike.
 * Time that interrupts (or the host of a virtual machine) take meanwhile counts as the thread's
 * until then.
 */
#ifndef LIBSTACKMPI_CLOCK_H
#define LIBSTACKMPI_CLOCK_H

#include <time.h>

#include "call.h"

static inline uint64_t clock_of(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Reads CLOCK_MONOTONIC and the CPU time of the thread. */
static inline void clock_take(const struct stackd_calls *calls, uint64_t *ret_ns, uint64_t *ret_cpu)
{
	const volatile struct stackd_calls *at = calls;
	uint64_t base_ns, base_cpu;
	uint32_t switches;

	do {
		switches = at->switches;
		base_ns = at->base_ns;
		base_cpu = at->base_cpu;
		*ret_ns = clock_of(CLOCK_MONOTONIC);
	} while (at->switches != switches);
	*ret_cpu = base_ns ? base_cpu + (*ret_ns - base_ns) : clock_of(CLOCK_THREAD_CPUTIME_ID);
}

#endif
