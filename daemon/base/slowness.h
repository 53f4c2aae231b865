/* SPDX-License-Identifier: MIT */
/*
 * By how much a machine is slower than those for which limits of time are made: an emulated one is
 * some 30 times slower, and its clock goes on while the emulator waits for a processor, so CPU time
 * that is measured there contains that waiting.
 */
#ifndef DAEMON_SLOWNESS_H
#define DAEMON_SLOWNESS_H

#include <stdint.h>

#define SLOWNESS_MOST 1000

/* Returns the factor for limits of what reading a file may take: STACKD_SLOWNESS in the
 * environment, a whole number from 1 to SLOWNESS_MOST; 1 without it, for anything else, and in a
 * program that has rights which its caller has not. */
uint64_t slowness(void);

#endif
