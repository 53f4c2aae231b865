/* SPDX-License-Identifier: MIT */
/*
 * The call of MPI in which the thread is. An exception or longjmp() may leave a call without a
 * word: that shows when another call is at its place on the stack, or has written over its return
 * address.
 */
#ifndef LIBSTACKMPI_INSIDE_H
#define LIBSTACKMPI_INSIDE_H

#include "table.h"

#define SAME_STACK (256u << 10) /* bytes within which two addresses are on one stack */

/* Returns whether a call (of MPI, or into a region) is a part of a call of MPI, which the thread is
 * in. If that one was left, counts it until now: nothing else says when. */
bool inside_has(struct stackd_calls *calls, const struct call *call) STACKMPI_HIDDEN;

#endif
