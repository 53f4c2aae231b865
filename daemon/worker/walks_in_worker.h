/* SPDX-License-Identifier: MIT */
/* Lets workers walk stacks and check steps: ask_walks.h calls one worker, and waits; walk_queue.h
 * lets another one make prefetched walks. */
#ifndef WORKER_WALKS_IN_WORKER_H
#define WORKER_WALKS_IN_WORKER_H

#include "daemon/worker/ask_walks.h"
#include "daemon/worker/walks.h"

/* The worker `ahead`, which is borrowed, makes only the prefetched walks. The options are copied. 0
 * or -ENOMEM. */
int walks_in_worker_new(const struct ask_walks_options *options, struct worker *ahead,
			struct walks **ret_walks);

#endif
