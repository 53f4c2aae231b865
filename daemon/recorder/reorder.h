/* SPDX-License-Identifier: MIT */
/*
 * Puts samples and side-band events back into the order of time.
 *
 * They come from rings that are read one after the other, so an item that is read later may have
 * happened earlier. Every item waits here until nothing older can arrive any more, which is so once
 * it is older than the time at which the previous round began to read the rings (session_round.c).
 * If an older item arrives even so, it is handed out next, and counted as late.
 */
#ifndef RECORDER_REORDER_H
#define RECORDER_REORDER_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/capture/sideband.h"
#include "stackd_abi.h"

struct reorder;

/* A queued item. Exactly one of `sample` and `event` is set. It is from a record_pool, and the
 * queue owns it until reorder_pop() hands it out, then the caller. */
struct reorder_item {
	uint64_t time_ns;
	struct stackd_header *sample; /* an expanded record (record_read()) */
	struct sideband_event *event;
};

int reorder_new(struct reorder **ret_queue); /* 0 or -ENOMEM */
void reorder_free(struct reorder *queue);    /* NULL is fine; frees what waits, too */

/* Queues an item, which the queue then owns. 0; -ENOMEM: the caller still owns the item. */
int reorder_push(struct reorder *queue, const struct reorder_item *item);

/* Takes the oldest item, if it is older than `horizon_ns`. false: there is none. */
bool reorder_pop(struct reorder *queue, uint64_t horizon_ns, struct reorder_item *ret_item);

/* Returns the item that reorder_pop() would give, and leaves it in the queue; NULL: there is none.
 * It is valid until the next push or pop. */
const struct reorder_item *reorder_peek(const struct reorder *queue, uint64_t horizon_ns);

/* Returns the item that reorder_pop() would give after `n` others, for n below REORDER_AHEAD, and
 * leaves it in the queue; NULL: there is none. It is valid until the next push or pop. */
const struct reorder_item *reorder_ahead(struct reorder *queue, uint64_t horizon_ns, size_t n);

#define REORDER_AHEAD 256 /* items that reorder_ahead() can give */

/* Returns how many items are queued. */
size_t reorder_waiting(const struct reorder *queue);

/* Returns how many items were queued after a younger item had been handed out. */
uint64_t reorder_late(const struct reorder *queue);

#endif
