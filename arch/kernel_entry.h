/* SPDX-License-Identifier: MIT */
/* The functions by which the kernel is entered, known by the names that its symbols have for this
 * processor. */
#ifndef ARCH_KERNEL_ENTRY_H
#define ARCH_KERNEL_ENTRY_H

#include <stdbool.h>

/* The one that page faults enter by. */
extern const char *const kernel_entry_page_fault;

/* Returns whether a function is an entry of interrupts: of devices, timers, other CPUs. An ending
 * that a compiler has added to the name (.part.0, .cold) does no harm. */
bool kernel_entry_is_interrupt(const char *function);

/* Returns whether a system call that is restarted passes through a function: from the entry of
 * system calls to restart_syscall(). The name may have any ending. */
bool kernel_entry_is_restart(const char *function);

#endif
