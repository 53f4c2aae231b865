/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The few kernel structures that the programs read, with just the fields that they read. CO-RE
 * relocates each access against the running kernel's BTF when the program is loaded, so no
 * generated vmlinux.h of the building machine is needed, and one object serves every kernel.
 */
#ifndef KERNEL_TYPES_H
#define KERNEL_TYPES_H

#include <linux/types.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct mm_struct {
	unsigned long start_stack; /* the main thread's stack pointer at its entry */
};

struct task_struct {
	unsigned int flags;
	int pid;
	__u64 start_time;
	struct mm_struct *mm;
	unsigned int in_execve : 1;
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
};

#pragma clang attribute pop

/* task_struct.flags */
#define PF_IO_WORKER   0x00000010
#define PF_USER_WORKER 0x00004000
#define PF_KTHREAD     0x00200000

/* Code segments of user mode. */
#define USER32_CS 0x23

#endif
