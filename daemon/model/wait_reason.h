/* SPDX-License-Identifier: MIT */
/*
 * Names why a thread waited: from its state and its system call. The name is a frame below the
 * wait's path ("[futex]"), so every view and filter has it, and `--by reason` groups by it. What it
 * waited for, where that is known, is a frame below (wait_object.h).
 *
 * Calls that wait for work, whatever that is, are idle: "[idle: epoll_wait]". A wait for a lock and
 * one for a condition are the same system call, which the C library's frames tell apart.
 */
#ifndef MODEL_WAIT_REASON_H
#define MODEL_WAIT_REASON_H

#include <stdbool.h>
#include <stdint.h>

#include "stackd_abi.h"

#define WAIT_REASON_MAX 40 /* bytes of a name */

/* Writes the name of what a wait was for while it was blocked, and returns ret_name. `is_in_fault`:
 * it was in a page fault, of the program's or of the kernel within a system call. Calls without a
 * kind of their own have the kernel's name for them: "[system call: mmap]". */
const char *wait_reason_blocked(const struct stackd_wait *wait, bool is_in_fault,
				char ret_name[static WAIT_REASON_MAX]);

/* Returns the system call that goes on in restart_syscall(), after a stop or a debugger, by the
 * innermost function of the kernel that says so; -1: this one does not. */
int wait_reason_restarted(const char *function);

/* Returns whether what a thread waited for is what the record has as its object: that of a
 * descriptor, or a futex, in a call that waits for it. `is_in_fault`: as above. */
bool wait_reason_has_object(const struct stackd_wait *wait, bool is_in_fault);

/* Returns the name of why a thread was runnable that was in this state (struct stackd_wait):
 * "[preempted]", "[throttled]" (its cgroup had no quota left), "[woken]"; a static string. */
const char *wait_reason_runnable(uint8_t state);

#endif
