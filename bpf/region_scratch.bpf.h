/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The scratch areas for the walks of regions and allocations: several for each CPU. A BPF program
 * that walks can be preempted by another thread's BPF program, which then takes the next area.
 */
#ifndef REGION_SCRATCH_BPF_H
#define REGION_SCRATCH_BPF_H

#include "scratch.bpf.h"

SETTING __u32 region_scratches = 0; /* index of the first of these areas in the map */

/* Takes one of the CPU's scratch areas for regions; NULL: all are in use. */
static __always_inline struct scratch *take_scratch(__u32 cpu)
{
	for (__u32 i = 0; i < STACKD_REGION_SCRATCHES; i++) {
		__u32 index = region_scratches + cpu * STACKD_REGION_SCRATCHES + i;
		struct scratch *s = CHECKED(bpf_map_lookup_elem(&scratches, &index));

		if (s && !__sync_val_compare_and_swap(&s->busy, 0, 1)) {
			s->cpu = cpu;
			s->has_reading = 0;
			return s;
		}
	}
	return NULL;
}

static __always_inline void give_scratch_back(struct scratch *s)
{
	__sync_lock_test_and_set(&s->busy, 0);
}

#endif
