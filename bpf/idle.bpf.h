/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A CPU that has nothing to do runs its idle task, and a clock samples that as well: on a machine
 * that is half idle, half of all samples would be of the instruction that waits. So they are
 * counted, and no records are made of them.
 *
 * Interrupts that arrive meanwhile run in the idle task, too, and their work is no idling. Those
 * that can be sampled (soft interrupts: the network's, timers') run on a stack of the CPU's, and
 * the idle loop runs on the task's own.
 */
#ifndef IDLE_BPF_H
#define IDLE_BPF_H

#include "scratch.bpf.h"

SETTING __u32 with_idle = 0; /* sample idle CPUs like any other */

/* Has the sample hit the idle loop? `sp` is the sample's own. */
static __always_inline bool is_idle(const struct task_struct *task, __u32 tid, __u64 sp)
{
	return !tid && !with_idle && sp - (__u64)task->stack <= ARCH_KERNEL_STACK;
}

#endif
