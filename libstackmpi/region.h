/* SPDX-License-Identifier: MIT */
/*
 * The regions that a program names itself (stackd_region.h). A thread may be in several of them,
 * each within the one before, and in a call of MPI within the innermost one. Each has its own time:
 * without that of the regions and calls within it. So the time since the last change is always that
 * of one of them, and goes to it at the next change:
 *
 *   begin A        begin B        MPI_Send()        end B        end A
 *     ├── A's ───────┼── B's ────────┼── its ──┼── B's ──┼── A's ──┤
 *
 * The paths of open regions are in the thread's table, so what a region had is there if the thread
 * ends within it. The region's call path is that of its begin: a named function, called from there.
 */
#ifndef LIBSTACKMPI_REGION_H
#define LIBSTACKMPI_REGION_H

#include "table.h"

/* The entries of stackd_region_enter() and stackd_region_leave() call these. `call->arguments[0]`
 * is the address that stands for the region's name. */
void region_begin(struct call *call) STACKMPI_HIDDEN;
void region_end(struct call *call) STACKMPI_HIDDEN;

/* Forgets the open regions, in the child of a fork. */
void region_forget(void) STACKMPI_HIDDEN;

void region_charge(struct stackd_calls *calls, uint64_t now, uint64_t cpu) STACKMPI_HIDDEN;
void region_go_on(struct stackd_calls *calls, uint64_t now, uint64_t cpu) STACKMPI_HIDDEN;

/* A call of MPI begins: the time until now is the innermost region's. */
static inline void region_suspend(struct stackd_calls *calls, uint64_t now, uint64_t cpu)
{
	if (__builtin_expect(calls->n_open, 0))
		region_charge(calls, now, cpu);
}

/* It has ended: the time from now on is the innermost region's again. */
static inline void region_resume(struct stackd_calls *calls, uint64_t now, uint64_t cpu)
{
	if (__builtin_expect(calls->n_open, 0))
		region_go_on(calls, now, cpu);
}

#endif
