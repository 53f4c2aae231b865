/* SPDX-License-Identifier: MIT */
/*
 * Lets a worker make walks while the caller goes on: many walks are requested at a time, and each
 * result arrives by itself.
 *
 *   ask ──► waiting ──► sent, in a batch ──► made ──► take
 *              ▲             │ its worker failed
 *              └─────────────┘
 *
 * A walk uses its process's mappings at the moment of the request. If they have changed when the
 * caller takes the walk, it counts as not requested.
 */
#ifndef WORKER_WALK_QUEUE_H
#define WORKER_WALK_QUEUE_H

#include "daemon/worker/ask_walks.h"

#define WALK_QUEUE_MOST 128 /* most walks in the queue: waiting, being made, or not taken yet */

struct walk_queue;

/* `walks` makes requests and reads results. `worker` must have no other callers. Both are borrowed.
 * 0 or -ENOMEM. */
int walk_queue_new(struct ask_walks *walks, struct worker *worker, struct walk_queue **ret_queue);
void walk_queue_free(struct walk_queue *queue); /* NULL is fine */

enum walk_queue_state { WALK_QUEUE_NONE, WALK_QUEUE_ASKED, WALK_QUEUE_MADE };

/* Requests a walk, which `key` identifies. The input's stack is borrowed until the walk is taken or
 * dropped. `is_urgent`: it is the next one to be taken, and replaces another one if the queue is
 * full. 0; -EAGAIN: the queue is full; -EEXIST: it was requested already. */
int walk_queue_ask(struct walk_queue *queue, const void *key, const struct walk_input *in,
		   bool is_urgent);

/* Returns whether the queue has a walk, in any state. */
bool walk_queue_has(struct walk_queue *queue, const void *key);

/* Returns the state of a walk. Drops it if the mappings have changed since: NONE. */
enum walk_queue_state walk_queue_state(struct walk_queue *queue, const void *key);

/* Takes the result of a walk, in the form of ask_walks_stack(). false: the walk was not made, or
 * was made with mappings that have changed since. */
bool walk_queue_take(struct walk_queue *queue, const void *key, struct walk_frame *frames,
		     size_t max_frames, size_t *ret_count, enum stackd_end_reason *ret_reason);

/* Drops a walk, if there is one, since its input is freed. */
void walk_queue_drop(struct walk_queue *queue, const void *key);

/* Sends requests and receives results, without waiting. To be called when the descriptor is
 * readable, and every WORKER_LOOK_MS while walks are under way. */
void walk_queue_go_on(struct walk_queue *queue);

/* Returns the descriptor (worker_poll_fd()). */
int walk_queue_poll_fd(const struct walk_queue *queue);

/* Returns whether a batch is being made. */
bool walk_queue_is_busy(const struct walk_queue *queue);

/* Returns how many walks were requested and are not made yet. */
size_t walk_queue_count(const struct walk_queue *queue);

#endif
