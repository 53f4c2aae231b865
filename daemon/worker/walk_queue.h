/* SPDX-License-Identifier: MIT */
/*
 * Walks that a worker makes while the caller goes on: many are asked for at a time, and each result
 * arrives by itself.
 *
 *   ask ──► waiting ──► sent, in a batch ──► made ──► take
 *              ▲             │ its worker failed
 *              └─────────────┘
 *
 * A walk uses its process's mappings at the moment of the request. If they have changed when the
 * caller takes it, it counts as not asked for.
 */
#ifndef WORKER_WALK_QUEUE_H
#define WORKER_WALK_QUEUE_H

#include "daemon/worker/ask_walks.h"

#define WALK_QUEUE_MOST 128 /* walks that wait, are being made, or were not taken yet */

struct walk_queue;

/* `walks` makes requests and reads results. `worker` must have no other callers. Both are borrowed.
 * 0 or -ENOMEM. */
int walk_queue_new(struct ask_walks *walks, struct worker *worker, struct walk_queue **ret_queue);
void walk_queue_free(struct walk_queue *queue); /* NULL is fine */

enum walk_queue_state { WALK_QUEUE_NONE, WALK_QUEUE_ASKED, WALK_QUEUE_MADE };

/* Asks for a walk, which `key` names. The input's stack is borrowed until the walk is taken or
 * dropped. `is_urgent`: it is the next one to be taken, and replaces another one if there is no
 * room. 0; -EAGAIN: there is no room; -EEXIST: it was asked for already. */
int walk_queue_ask(struct walk_queue *queue, const void *key, const struct walk_input *in,
		   bool is_urgent);

/* Returns whether a walk was asked for, in any state. */
bool walk_queue_has(struct walk_queue *queue, const void *key);

/* Returns the state of a walk. Drops it if the mappings have changed since: NONE. */
enum walk_queue_state walk_queue_state(struct walk_queue *queue, const void *key);

/* Takes a walk that was made, as ask_walks_stack(). false: it was not made, or with old mappings.
 */
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

/* Returns how many walks were asked for, and are not made yet. */
size_t walk_queue_count(const struct walk_queue *queue);

#endif
