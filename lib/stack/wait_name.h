/* SPDX-License-Identifier: MIT */
/*
 * Names of what waits were for, which are the leaves of their paths. Runnable waits have one of
 * two, blocked ones any other.
 */
#ifndef STACK_WAIT_NAME_H
#define STACK_WAIT_NAME_H

#define WAIT_OBJECT    "[wait]" /* the object of these frames, as views show it */
#define WAIT_WOKEN     "[woken]"
#define WAIT_PREEMPTED "[preempted]"

#endif
