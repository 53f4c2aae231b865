/* SPDX-License-Identifier: MIT */
/* Takes prefetched walks out of the queue, or asks the worker for a walk and waits; see
 * walks_in_worker.h. */
#include "daemon/worker/walks_in_worker.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/worker/walk_queue.h"

struct there {
	struct walks walks;
	struct ask_walks *ask;
	struct walk_queue *queue;
};

static struct there *there_of(const struct walks *walks)
{
	return (struct there *)(uintptr_t)walks;
}

static void free_there(struct walks *walks)
{
	struct there *t = there_of(walks);

	walk_queue_free(t->queue);
	ask_walks_free(t->ask);
	free(t);
}

static enum stackd_end_reason stack(struct walks *walks, const void *key,
				    const struct walk_input *in, struct walk_frame *frames,
				    size_t max_frames, size_t *ret_count)
{
	struct there *t = there_of(walks);
	enum stackd_end_reason reason;

	if (walk_queue_take(t->queue, key, frames, max_frames, ret_count, &reason))
		return reason;
	return ask_walks_stack(t->ask, in, frames, max_frames, ret_count);
}

static size_t check(struct walks *walks, const struct walks_step *steps, size_t count,
		    uint64_t budget_ns, struct walks_verdict *ret_verdicts)
{
	return ask_walks_check(there_of(walks)->ask, steps, count, budget_ns, ret_verdicts);
}

static void tick(struct walks *walks)
{
	ask_walks_tick(there_of(walks)->ask);
}

static void get_stats(const struct walks *walks, struct dwarf_walk_stats *ret_stats)
{
	ask_walks_get_stats(there_of(walks)->ask, ret_stats);
}

static uint64_t cpu_ns(const struct walks *walks)
{
	return ask_walks_cpu_ns(there_of(walks)->ask);
}

static bool prefetch(struct walks *walks, const void *key, const struct walk_input *in,
		     bool is_next)
{
	return walk_queue_ask(there_of(walks)->queue, key, in, is_next) != -EAGAIN;
}

static bool is_prefetched(struct walks *walks, const void *key)
{
	return walk_queue_has(there_of(walks)->queue, key);
}

static bool is_made(struct walks *walks, const void *key)
{
	return walk_queue_state(there_of(walks)->queue, key) == WALK_QUEUE_MADE;
}

static void drop(struct walks *walks, const void *key)
{
	walk_queue_drop(there_of(walks)->queue, key);
}

static void go_on(struct walks *walks)
{
	walk_queue_go_on(there_of(walks)->queue);
}

static int poll_fd(const struct walks *walks)
{
	return walk_queue_poll_fd(there_of(walks)->queue);
}

static bool is_busy(const struct walks *walks)
{
	return walk_queue_is_busy(there_of(walks)->queue);
}

static size_t pending(const struct walks *walks)
{
	return walk_queue_count(there_of(walks)->queue);
}

static const struct walks_ops ops = {
	.free = free_there,
	.stack = stack,
	.check = check,
	.tick = tick,
	.get_stats = get_stats,
	.cpu_ns = cpu_ns,
	.can_prefetch = true,
	.prefetch = prefetch,
	.is_prefetched = is_prefetched,
	.is_made = is_made,
	.drop = drop,
	.go_on = go_on,
	.poll_fd = poll_fd,
	.is_busy = is_busy,
	.pending = pending,
};

int walks_in_worker_new(const struct ask_walks_options *options, struct worker *ahead,
			struct walks **ret_walks)
{
	struct there *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	t->walks.ops = &ops;
	err = ask_walks_new(options, &t->ask);
	if (!err)
		err = walk_queue_new(t->ask, ahead, &t->queue);
	if (err) {
		free_there(&t->walks);
		return err;
	}
	*ret_walks = &t->walks;
	return 0;
}
