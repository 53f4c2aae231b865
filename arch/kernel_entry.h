/* SPDX-License-Identifier: MIT */
/* The functions through which the kernel is entered, by the names of its symbols on this
 * processor. */
#ifndef ARCH_KERNEL_ENTRY_H
#define ARCH_KERNEL_ENTRY_H

#include <stdbool.h>

/* The entry of page faults. */
extern const char *const kernel_entry_page_fault;

/* Returns whether a kernel function is an entry of interrupts (from devices, timers, other CPUs).
 * Its name may have an ending that a compiler has added (.part.0, .cold). */
bool kernel_entry_is_interrupt(const char *function);

/* Returns whether a kernel function is on the path of a restarted system call, from the entry of
 * system calls to restart_syscall(). Its name may have any ending. */
bool kernel_entry_is_restart(const char *function);

#endif
