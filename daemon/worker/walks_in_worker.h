/* SPDX-License-Identifier: MIT */
/* Has workers walk stacks and check steps: one worker while the caller waits (ask_walks.h), and
 * another worker for prefetched walks, while the caller goes on (walk_queue.h). */
#ifndef WORKER_WALKS_IN_WORKER_H
#define WORKER_WALKS_IN_WORKER_H

#include "daemon/worker/ask_walks.h"
#include "daemon/worker/walks.h"

/* The worker `ahead`, which is borrowed, makes only the prefetched walks. The options are copied. 0
 * or -ENOMEM. */
int walks_in_worker_new(const struct ask_walks_options *options, struct worker *ahead,
			struct walks **ret_walks);

#endif
