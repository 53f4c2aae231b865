/* SPDX-License-Identifier: MIT */
/* Finds out which version of Linux runs, since some versions have faults that stackd must avoid and
 * cannot detect by a test. */
#ifndef DAEMON_KERNEL_VERSION_H
#define DAEMON_KERNEL_VERSION_H

#include <stdbool.h>

/* Returns whether the kernel is of this version or a later one; false if that is not known. */
bool kernel_is_from(unsigned major, unsigned minor);

#endif
