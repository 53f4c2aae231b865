/* SPDX-License-Identifier: MIT */
/*
 * Collects the rows of the next batch: samples as they come, and the rows that were added to the
 * tables since the batch before. The rows of each table are numbered from 0 without gaps, so one
 * count for each table says which rows were sent. So processes and threads must not get new numbers
 * between two batches. The table of objects outlives a recording that is cut into windows: each
 * window has its own rows, and its own numbers, for the objects that it needs.
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
	bool has_sizes; /* nodes are sent with the bytes of stack that their frame takes */
};

int outbox_new(const struct outbox_tables *tables, struct outbox **ret_outbox); /* 0 or -ENOMEM */
void outbox_free(struct outbox *outbox);					/* NULL is fine */

/* Adds a sample, which is copied. 0 or -ENOMEM. */
int outbox_keep(struct outbox *outbox, const struct store_sample *sample);

/* Adds a row for the cgroup of a thread, which has just become known, if the thread's own row was
 * sent before. 0 or -ENOMEM. */
int outbox_keep_cgroup(struct outbox *outbox, const struct thread *thread);

/* Adds a row for the labels of the thread with the row `thread`. Owns `text` from now on. 0 or
 * -ENOMEM. */
int outbox_keep_labels(struct outbox *outbox, uint32_t thread, char *text);

/* Adds a record of a series other than samples. Its value is row->period. `row` is copied. 0 or
 * -ENOMEM. */
int outbox_keep_record(struct outbox *outbox, enum metric_series series,
		       const struct store_sample *row);

/* Begins another recording (a window), after the tables of locations and paths were cleared. An
 * object gets a row in the new recording when a location lies in it. */
void outbox_begin_anew(struct outbox *outbox);

/* Returns all rows that are new since the last call, as a batch, which the caller frees by
 * batch_free(). NULL without memory. */
struct batch *outbox_take(struct outbox *outbox);

#endif
