/* SPDX-License-Identifier: MIT */
/* Asks which version of Linux runs: for what a version does wrong, which no call tells. */
#ifndef DAEMON_KERNEL_VERSION_H
#define DAEMON_KERNEL_VERSION_H

#include <stdbool.h>

/* Returns whether it is this version or a later one; false if that cannot be told. */
bool kernel_is_from(unsigned major, unsigned minor);

#endif
