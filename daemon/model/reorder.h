/* SPDX-License-Identifier: MIT */
/*
 * Puts samples and side-band events back into the order of time.
 *
 * They come from rings that are read one after the other, so what is read later may have happened
 * earlier. Everything waits here until the reader knows that nothing older can still
 * come: the start of the round of reading before this one (see session.c). An event that comes
 * later even so is handed out at once and counted.
 */
#ifndef MODEL_REORDER_H
#define MODEL_REORDER_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/capture/sideband.h"
#include "stackd_abi.h"

struct reorder;

/* A queued item: exactly one of the two is set. Both are from a record_pool, and owned by
 * the queue until they are handed out, then by whoever takes them. */
struct reorder_item {
	uint64_t time_ns;
	struct stackd_header *sample; /* an expanded record (record_read()) */
	struct sideband_event *event;
};

int reorder_new(struct reorder **ret_queue); /* 0 or -ENOMEM */
void reorder_free(struct reorder *queue);    /* NULL is fine; frees what waits, too */

/* Takes over the item; -ENOMEM leaves it with the caller. */
int reorder_push(struct reorder *queue, const struct reorder_item *item);

/* Takes the oldest item, if it is older than `horizon_ns`. false: there is none. */
bool reorder_pop(struct reorder *queue, uint64_t horizon_ns, struct reorder_item *ret_item);

/* The item that reorder_pop() would give, which stays; NULL: there is none. It lives until the next
 * push or pop. */
const struct reorder_item *reorder_peek(const struct reorder *queue, uint64_t horizon_ns);

/* The item that reorder_pop() would give after `n` others, which stays, for n below REORDER_AHEAD;
 * NULL: there is none. It lives until the next push or pop. */
const struct reorder_item *reorder_ahead(struct reorder *queue, uint64_t horizon_ns, size_t n);

#define REORDER_AHEAD 256 /* items that can be looked at before their turn */

/* Returns how many items are queued. */
size_t reorder_waiting(const struct reorder *queue);

/* Returns how many items came after a younger one had been handed out. */
uint64_t reorder_late(const struct reorder *queue);

#endif
