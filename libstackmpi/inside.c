/* SPDX-License-Identifier: MIT */
/* Finds out which call a thread is in; see inside.h. */
#include "inside.h"

#include "clock.h"
#include "region.h"

static void count_left(struct stackd_calls *calls)
{
	struct stackd_call_path *path;
	uint64_t now, cpu;

	clock_take(calls, &now, &cpu);
	if (cpu < calls->inside_cpu)
		cpu = calls->inside_cpu;
	if (calls->inside_path && calls->inside_path <= STACKD_CALL_PATHS) {
		path = &calls->paths[calls->inside_path - 1];
		path->visits++;
		path->wall_ns += now - calls->inside_ns;
		path->cpu_ns += cpu - calls->inside_cpu;
		calls->measured_cpu += cpu - calls->inside_cpu;
	}
	region_resume(calls, now, cpu);
}

static bool is_left(const struct stackd_calls *calls, const struct call *call)
{
	uint64_t inside = calls->inside, slot = (uintptr_t)call->slot;

	return slot >= inside ||
	       (inside - slot < SAME_STACK &&
		*(const volatile uint64_t *)(uintptr_t)inside != table_of_thread.inside.caller);
}

bool inside_has(struct stackd_calls *calls, const struct call *call)
{
	if (__builtin_expect(!calls->inside, 1))
		return false;
	if (!is_left(calls, call))
		return true;
	count_left(calls);
	calls->inside = 0;
	return false;
}
