/* SPDX-License-Identifier: MIT */
/*
 * Names of why threads waited, which are frames at the leaf of their paths. Runnable waits have one
 * of three names, blocked ones any other. If the object of a blocked wait is known, it is the next
 * frame ("/var/log/x"), and the thread that held it is one more.
 */
#ifndef STACK_WAIT_NAME_H
#define STACK_WAIT_NAME_H

#define WAIT_OBJECT "[wait]" /* the object of these frames, as views show it */
/* the object of the frames below these: what the thread waited for */
#define AWAITED_OBJECT "[awaited]"
#define WAIT_WOKEN     "[woken]"
#define WAIT_PREEMPTED "[preempted]"
#define WAIT_THROTTLED "[throttled]"

#endif
