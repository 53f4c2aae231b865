/* SPDX-License-Identifier: MIT */
/* Counts passes through regions; see region.h. */
#include "region.h"

#include <errno.h>

#include "clock.h"
#include "inside.h"
#include "path.h"

/* What this library alone knows of the regions in stackd_calls.open. */
struct known_region {
	uint64_t function;	       /* stands for its name */
	uint64_t slot, caller;	       /* of its begin: the return address, and where it was */
	struct stackd_call_path *path; /* NULL: not known */
};

/* `n_more` regions are within the last one that is open: there is no room for them, or they are a
 * part of a call of MPI. */
static __thread struct {
	struct known_region open[STACKD_CALL_OPEN];
	uint32_t n_more, n_passes;
} regions;

/* The program may have written to the table. */
static uint32_t depth_of(const struct stackd_calls *calls)
{
	return calls->n_open <= STACKD_CALL_OPEN ? calls->n_open : STACKD_CALL_OPEN;
}

static bool is_known(const struct known_region *region, const struct stackd_calls *calls)
{
	return region->path && path_is_of(region->path, calls);
}

void region_charge(struct stackd_calls *calls, uint64_t now, uint64_t cpu)
{
	const uint32_t depth = depth_of(calls), at = depth ? depth - 1 : 0;
	const struct known_region *known = &regions.open[at];
	uint64_t wall = now - calls->inside_ns;
	uint64_t used = cpu > calls->inside_cpu ? cpu - calls->inside_cpu : 0;

	if (!depth)
		return; /* a signal handler has ended the regions meanwhile */
	calls->measured_cpu += used;
	if (is_known(known, calls)) {
		known->path->wall_ns += wall;
		known->path->cpu_ns += used;
	} else {
		calls->open[at].wall_ns += wall;
		calls->open[at].cpu_ns += used;
	}
}

void region_go_on(struct stackd_calls *calls, uint64_t now, uint64_t cpu)
{
	calls->inside_ns = now;
	calls->inside_cpu = cpu;
}

void region_forget(void)
{
	regions.n_more = 0;
}

static struct stackd_calls *take(struct call *call)
{
	/* Beside numbers of functions of MPI, which are small. Two regions with one number have
	 * begins with different return addresses. */
	call->number = (uint32_t)call->arguments[0] | 0x80000000u;
	call->calls = table_take();
	call->path = NULL;
	return call->calls;
}

/* Returns whether the thread is in a call of MPI. If it is not, and there is room, what is left of
 * regions.n_more was left together with the call of MPI that it was in. */
static bool is_in_call(struct stackd_calls *calls, const struct call *call, uint32_t depth)
{
	if (inside_has(calls, call))
		return true;
	if (depth < STACKD_CALL_OPEN)
		regions.n_more = 0;
	return false;
}

/* Counts a pass at a depth, from 1. Its time until now has been added. */
static void count(struct call *call, uint32_t depth, uint64_t now)
{
	const struct known_region *known = &regions.open[depth - 1];
	const struct stackd_call_region *open = &call->calls->open[depth - 1];
	const bool has_path = is_known(known, call->calls);

	if (has_path)
		known->path->visits++;
	if (!has_path || open->wall_ns)
		path_walk(
			call, known->function, depth,
			(struct stackd_call_probe){.path = STACKD_CALL_PATHS, /* none begins here */
						   .visits = !has_path,
						   .wall_ns = open->wall_ns,
						   .cpu_ns = open->cpu_ns,
						   .ended_ns = now,
						   .sent = open->number});
}

/* Ends the regions deeper than `depth`. */
static void end_all(struct call *call, uint32_t depth, uint64_t now, uint64_t cpu)
{
	struct stackd_calls *calls = call->calls;

	region_charge(calls, now, cpu);
	for (uint32_t i = depth_of(calls); i > depth; i--)
		count(call, i, now);
	calls->n_open = depth;
	region_resume(calls, now, cpu);
}

/* Returns whether a region was left, since another one begins at its place, or nearer to the root
 * of its stack. */
static bool is_left(const struct known_region *region, const struct call *call)
{
	const uint64_t slot = (uintptr_t)call->slot;

	if (slot == region->slot)
		return *call->slot == region->caller && call->arguments[0] == region->function;
	return slot > region->slot && slot - region->slot < SAME_STACK;
}

/* When there is no room, ends the innermost regions that were left, by longjmp(). A region that a
 * function has begun for its caller looks like them, so as long as there is room, nothing is taken
 * for left. Returns how many are open. */
static uint32_t make_room(struct call *call, uint32_t depth)
{
	const uint32_t before = depth;
	uint64_t now, cpu;

	while (depth && is_left(&regions.open[depth - 1], call))
		depth--;
	if (depth == before)
		return depth;
	regions.n_more = 0;
	clock_take(call->calls, &now, &cpu);
	end_all(call, depth, now, cpu);
	return depth;
}

void region_begin(struct call *call)
{
	const int err = errno;
	struct stackd_calls *calls = take(call);
	const uint64_t function = call->arguments[0];
	uint64_t now, cpu;
	uint32_t depth;

	if (!calls)
		return;
	depth = depth_of(calls);
	if (is_in_call(calls, call, depth)) {
		regions.n_more++;
		return;
	}
	if (depth == STACKD_CALL_OPEN)
		depth = make_room(call, depth);
	if (depth == STACKD_CALL_OPEN) {
		regions.n_more++;
		calls->n_too_deep++;
		return;
	}
	regions.n_passes++;
	call->path = path_find(call);
	if (!call->path)
		path_walk(call, function, depth + 1,
			  (struct stackd_call_probe){.ended_ns = clock_of(CLOCK_MONOTONIC),
						     .sent = regions.n_passes});
	errno = err;
	regions.open[depth] = (struct known_region){.function = function,
						    .slot = (uintptr_t)call->slot,
						    .caller = *call->slot,
						    .path = call->path};
	calls->open[depth] = (struct stackd_call_region){
		.path = call->path ? (uint32_t)(call->path - calls->paths) + 1 : 0,
		.number = regions.n_passes};
	clock_take(calls, &now, &cpu);
	region_suspend(calls, now, cpu);
	region_go_on(calls, now, cpu);
	calls->n_open = depth + 1;
}

/* Returns whether an end is that of an open region. If there are regions that found no room, it is,
 * if it comes from where the region has begun: longjmp() has left those. */
static bool is_end_of(const struct known_region *region, const struct call *call)
{
	return region->function == call->arguments[0] &&
	       (!regions.n_more || region->slot == (uintptr_t)call->slot);
}

void region_end(struct call *call)
{
	const int err = errno;
	struct stackd_calls *calls = take(call);
	uint32_t depth;
	uint64_t now, cpu;

	if (!calls)
		return;
	depth = depth_of(calls);
	if (is_in_call(calls, call, depth)) {
		regions.n_more -= regions.n_more > 0;
		return;
	}
	while (depth && !is_end_of(&regions.open[depth - 1], call))
		depth--;
	if (!depth) {
		/* It has found no room, or was begun before there was a table, or by another
		 * thread. */
		regions.n_more -= regions.n_more > 0;
		return;
	}
	regions.n_more = 0;
	clock_take(calls, &now, &cpu);
	end_all(call, depth - 1, now, cpu); /* those within it that have not ended were left */
	errno = err;
}
