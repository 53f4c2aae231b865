/* SPDX-License-Identifier: MIT */
/* Finds out which version of Linux runs, for faults of versions that no call reveals. */
#ifndef DAEMON_KERNEL_VERSION_H
#define DAEMON_KERNEL_VERSION_H

#include <stdbool.h>

/* Returns whether it is this version or a later one; false if that is not known. */
bool kernel_is_from(unsigned major, unsigned minor);

#endif
