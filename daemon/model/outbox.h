/* SPDX-License-Identifier: MIT */
/*
 * The outbox: samples as they come, and with them, batch by batch, what the tables have got since
 * the batch before. The tables number their rows densely, so what was sent is a count of each.
 */
#ifndef MODEL_OUTBOX_H
#define MODEL_OUTBOX_H

#include "daemon/archive/batch.h"
#include "daemon/model/thread_paths.h"
#include "proc/process.h"
#include "stack/origin.h"

struct outbox;

/* Where the rows come from; all borrowed. */
struct outbox_tables {
	const struct object_table *objects;
	const struct location_table *locations;
	const struct trie *trie;
	const struct origin_table *origins;
	const struct process_table *processes;
	const struct thread_paths *paths; /* for the sizes of nodes */
};

int outbox_new(const struct outbox_tables *tables, struct outbox **ret_outbox); /* 0 or -ENOMEM */
void outbox_free(struct outbox *outbox);

/* Nodes are sent with their sizes. */
void outbox_use_sizes(struct outbox *outbox);

int outbox_keep(struct outbox *outbox, const struct store_sample *sample); /* 0 or -ENOMEM */

/* All that is new since the last call; the caller's. NULL for lack of memory. */
struct batch *outbox_take(struct outbox *outbox);

#endif
