/* SPDX-License-Identifier: MIT */
/*
 * Names of why threads waited, which are the leaves of their paths. Runnable waits have one of
 * three, blocked ones any other. Where it is known what a blocked one waited for, that is a frame
 * below, "/var/log/x", and the thread that held it another.
 */
#ifndef STACK_WAIT_NAME_H
#define STACK_WAIT_NAME_H

#define WAIT_OBJECT    "[wait]"	   /* the object of these frames, as views show it */
#define AWAITED_OBJECT "[awaited]" /* that of the frames below them */
#define WAIT_WOKEN     "[woken]"
#define WAIT_PREEMPTED "[preempted]"
#define WAIT_THROTTLED "[throttled]"

#endif
