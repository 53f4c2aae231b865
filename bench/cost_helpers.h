/* SPDX-License-Identifier: MIT */
/* The kernel's helpers, for programs that are counted in the world of cost_world.h. */
#ifndef BENCH_COST_HELPERS_H
#define BENCH_COST_HELPERS_H

#include "cost_vm.h"
#include "cost_world.h"

/* Gives the helpers to a machine; the world is borrowed, as long as the machine runs. */
void helpers_set(struct vm *vm, struct world *world);

/* Goes on to the time of the next sample. */
void helpers_next_time(struct world *world);

/* The sums over samples that are counted. */
struct sums {
	struct vm_counts counts;
	uint64_t samples;
};

void sums_add(struct sums *sums, const struct vm_counts *counts);

/* Prints the sums as words "name=number" in a line that has been begun, with those of the walks,
 * and ends it. */
void sums_print(const struct sums *sums, const struct stackd_counters *walks);

#endif
