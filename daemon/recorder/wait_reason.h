/* SPDX-License-Identifier: MIT */
/*
 * Gives a name to why a thread waited, by its state and its system call. The name is a frame at the
 * leaf of the wait's path ("[futex]"), so every view and filter has it, and `--by reason` groups by
 * it. The object that the thread waited for, where it is known, is the next frame (wait_object.h).
 *
 * Calls in which threads wait for work of any kind have names such as "[idle: epoll_wait]". A wait
 * for a lock and a wait for a condition use the same system call; the C library's frames tell them
 * apart.
 */
#ifndef RECORDER_WAIT_REASON_H
#define RECORDER_WAIT_REASON_H

#include <stdbool.h>
#include <stdint.h>

#include "stackd_abi.h"

#define WAIT_REASON_MAX 40 /* bytes of a name */

/* Writes the name of why a thread was blocked, and returns ret_name. `is_in_fault`: it was in a
 * page fault, of the program or of the kernel within a system call. A system call without a name of
 * its own here gets the kernel's: "[system call: mmap]". */
const char *wait_reason_blocked(const struct stackd_wait *wait, bool is_in_fault,
				char ret_name[static WAIT_REASON_MAX]);

/* Returns the number of the system call that restart_syscall() continues, after a stop or a
 * debugger, by the name of a kernel function on its stack; -1: the function does not show it. */
int wait_reason_restarted(const char *function);

/* Returns whether the thread waited for the object that the record has (a descriptor's file, or a
 * futex), because that is what its system call waits for. `is_in_fault`: as for
 * wait_reason_blocked(). */
bool wait_reason_has_object(const struct stackd_wait *wait, bool is_in_fault);

/* Returns the name of why a thread in this state (struct stackd_wait) was runnable but did not run:
 * "[preempted]", "[throttled]" (its cgroup had no quota left), "[woken]"; a static string. */
const char *wait_reason_runnable(uint8_t state);

#endif
