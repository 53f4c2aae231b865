/* SPDX-License-Identifier: MIT */
/*
 * Collects the rows of the next batch: samples as they come, and the rows that were added to the
 * tables since the batch before. The tables number their rows densely, so one count per table says
 * which rows were sent; records of processes and threads must not be renumbered in between. The
 * table of objects outlives a recording that is cut into windows: each window has its own rows, and
 * its own numbers, for the objects that it needs.
 */
#ifndef RECORDER_OUTBOX_H
#define RECORDER_OUTBOX_H

#include "daemon/archive/batch.h"
#include "daemon/recorder/managed.h"
#include "daemon/recorder/thread_paths.h"
#include "proc/cgroup_table.h"
#include "proc/process.h"
#include "stack/origin.h"

struct outbox;

/* The tables that the rows are taken from; all borrowed. */
struct outbox_tables {
	const struct object_table *objects;
	const struct location_table *locations;
	const struct tag_trie *trie;
	const struct origin_table *origins;
	const struct process_table *processes;
	const struct cgroup_table *cgroups;
	const struct managed *managed;	  /* gives the names of managed code */
	const struct thread_paths *paths; /* gives the sizes of nodes */
	bool has_sizes; /* nodes are sent with their sizes: the bytes of stack of the frame */
};

int outbox_new(const struct outbox_tables *tables, struct outbox **ret_outbox); /* 0 or -ENOMEM */
void outbox_free(struct outbox *outbox);					/* NULL is fine */

/* Adds a sample, which is copied. 0 or -ENOMEM. */
int outbox_keep(struct outbox *outbox, const struct store_sample *sample);

/* Adds the cgroup of a thread that was just learned, if the thread's row has been sent already. 0
 * or -ENOMEM. */
int outbox_keep_cgroup(struct outbox *outbox, const struct thread *thread);

/* Adds a record of another series, whose value is its period; it is copied. 0 or -ENOMEM. */
int outbox_keep_record(struct outbox *outbox, enum metric_series series,
		       const struct store_sample *row);

/* Begins another recording, after the tables were cleared. An object that was known before gets a
 * row again when a location lies in it. */
void outbox_begin_anew(struct outbox *outbox);

/* Takes all rows that are new since the last call, for batch_free(). NULL without memory. */
struct batch *outbox_take(struct outbox *outbox);

#endif
