/* SPDX-License-Identifier: MIT */
/*
 * Walks that a worker makes while whoever wants them goes on: many are asked for at a time, and
 * each result arrives by itself.
 *
 *   ask ──► waiting ──► sent, in a batch ──► made ──► take
 *              ▲             │ its worker failed
 *              └─────────────┘
 *
 * A walk is of its process's mappings at the moment of the request. If they have changed when it is
 * wanted, it counts as not asked for.
 */
#ifndef WORKER_WALK_QUEUE_H
#define WORKER_WALK_QUEUE_H

#include "daemon/worker/ask_walks.h"

#define WALK_QUEUE_MOST 128 /* walks that wait, are being made, or were not taken yet */

struct walk_queue;

/* `walks` makes requests and reads results, `worker` is called for nothing else; both are borrowed.
 * 0 or -ENOMEM. */
int walk_queue_new(struct ask_walks *walks, struct worker *worker, struct walk_queue **ret_queue);
void walk_queue_free(struct walk_queue *queue); /* NULL is fine */

enum walk_queue_state { WALK_QUEUE_NONE, WALK_QUEUE_ASKED, WALK_QUEUE_MADE };

/* Asks for a walk, which `key` names. The input's stack is borrowed until the walk is taken or
 * dropped. `is_urgent`: it is the next one to be taken, and another that was asked for gives way if
 * there is no room. 0; -EAGAIN: there is none; -EEXIST: it is asked for, or made. */
int walk_queue_ask(struct walk_queue *queue, const void *key, const struct walk_input *in,
		   bool is_urgent);

/* Whether a walk was asked for, whatever has become of it. */
bool walk_queue_has(struct walk_queue *queue, const void *key);

/* What has become of a walk. One of mappings that have changed since is dropped: NONE. */
enum walk_queue_state walk_queue_state(struct walk_queue *queue, const void *key);

/* Takes a walk that was made: as ask_walks_stack(). false: it was not, or not of these mappings. */
bool walk_queue_take(struct walk_queue *queue, const void *key, struct walk_frame *frames,
		     size_t max_frames, size_t *ret_count, enum stackd_end_reason *ret_reason);

/* Drops a walk, if there is one, since its input is freed. */
void walk_queue_drop(struct walk_queue *queue, const void *key);

/* Sends what waits, and receives results, without waiting. To be called when the descriptor is
 * readable, and each WORKER_LOOK_MS while walks are under way. */
void walk_queue_go_on(struct walk_queue *queue);

/* The descriptor (worker_poll_fd()). */
int walk_queue_poll_fd(const struct walk_queue *queue);

/* Whether a batch is being made. */
bool walk_queue_is_busy(const struct walk_queue *queue);

/* How many were asked for, and are not made. */
size_t walk_queue_count(const struct walk_queue *queue);

#endif
