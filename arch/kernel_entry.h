/* SPDX-License-Identifier: MIT */
/* The functions by which the kernel is entered, known by the names that its symbols have for this
 * processor. */
#ifndef ARCH_KERNEL_ENTRY_H
#define ARCH_KERNEL_ENTRY_H

#include <stdbool.h>

/* The one that page faults enter by. */
extern const char *const kernel_entry_page_fault;

/* Whether interrupts of devices, timers and other CPUs enter by a function. Compilers may add
 * endings to names: .part.0, .cold. */
bool kernel_entry_is_interrupt(const char *function);

/* Whether a function, of which the beginning of the name is enough, is on the way from the entry of
 * a system call to the one that restarts another (restart_syscall). */
bool kernel_entry_is_restart(const char *function);

#endif
