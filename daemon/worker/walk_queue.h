/* SPDX-License-Identifier: MIT */
/*
 * Has a worker walk copied stacks while the caller goes on. Many walks are requested at a time, and
 * each result is taken when it has arrived.
 *
 *   ask ──► waiting ──► sent, in a batch ──► made ──► take
 *              ▲             │ its worker failed
 *              └─────────────┘
 *
 * The worker uses the mappings that the process has when the walk is sent. If they have changed
 * when the caller takes the result, the walk is dropped, as if it had not been requested.
 */
#ifndef WORKER_WALK_QUEUE_H
#define WORKER_WALK_QUEUE_H

#include "daemon/worker/ask_walks.h"

#define WALK_QUEUE_MOST 128 /* most walks in the queue: waiting, being made, or not taken yet */

struct walk_queue;

/* `walks` writes the requests and reads the results; `worker` makes the walks, and must have no
 * other callers. Both are borrowed. 0 or -ENOMEM. */
int walk_queue_new(struct ask_walks *walks, struct worker *worker, struct walk_queue **ret_queue);
void walk_queue_free(struct walk_queue *queue); /* NULL is fine */

enum walk_queue_state { WALK_QUEUE_NONE, WALK_QUEUE_ASKED, WALK_QUEUE_MADE };

/* Requests a walk, which `key` identifies. The input's stack is borrowed until the walk is taken or
 * dropped. `is_urgent`: the caller will take this walk next, so it replaces another walk if the
 * queue is full. 0; -EAGAIN: the queue is full; -EEXIST: the walk was requested already. */
int walk_queue_ask(struct walk_queue *queue, const void *key, const struct walk_input *in,
		   bool is_urgent);

/* Returns whether the queue has a walk, in any state. */
bool walk_queue_has(struct walk_queue *queue, const void *key);

/* Returns the state of a walk. If the mappings have changed since, drops the walk and returns
 * WALK_QUEUE_NONE. */
enum walk_queue_state walk_queue_state(struct walk_queue *queue, const void *key);

/* Takes the result of a walk: frames, their number and the end reason, as ask_walks_stack() gives
 * them. false: the walk is not made, or was made with mappings that have changed since. */
bool walk_queue_take(struct walk_queue *queue, const void *key, struct walk_frame *frames,
		     size_t max_frames, size_t *ret_count, enum stackd_end_reason *ret_reason);

/* Drops a walk, if the queue has it. To be called before its input is freed. */
void walk_queue_drop(struct walk_queue *queue, const void *key);

/* Sends requests and receives results, without waiting. To be called when the descriptor is
 * readable, and every WORKER_LOOK_MS while walks are under way. */
void walk_queue_go_on(struct walk_queue *queue);

/* Returns the descriptor (worker_poll_fd()). */
int walk_queue_poll_fd(const struct walk_queue *queue);

/* Returns whether the worker is making walks. */
bool walk_queue_is_busy(const struct walk_queue *queue);

/* Returns how many walks were requested and are not made yet. */
size_t walk_queue_count(const struct walk_queue *queue);

#endif
