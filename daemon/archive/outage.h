/* SPDX-License-Identifier: MIT */
/*
 * Decides what a service does while its store cannot be written to, because the disk is full, the
 * file system is read-only, or the store was deleted. Sampling goes on. A window is a part of a
 * long recording that is a recording by itself (--window).
 *
 *   fine ──a commit fails──► failing ──10 s, or many samples wait──► out ──a store opens──► fine
 *    ▲                          │                                     │
 *    └────── it succeeds ───────┘                                     └─ every 5 s a new window
 *
 * While commits fail, their rows stay in memory, so a short failure loses nothing. After 10 s, or
 * with many samples, the rows are given up, since memory is bounded, and their samples are counted
 * as unwritten. Rows refer to rows before them, so writing can only begin again with a new window,
 * for which the main loop is asked now and then (outage_wants_window()). If the store was deleted,
 * rows are given up at once.
 *
 * On a full disk the oldest window is dropped, but at most one for each length of a window. That
 * frees as much room as a new window needs. More must not be deleted, because then another program
 * that fills the disk would cost all recordings.
 *
 * This module keeps the state alone: the archive passes the time, and holds a lock.
 */
#ifndef ARCHIVE_OUTAGE_H
#define ARCHIVE_OUTAGE_H

#include <stdbool.h>
#include <stdint.h>

#define OUTAGE_PATIENCE_NS  UINT64_C(10000000000)  /* rows are given up after so long a failure */
#define OUTAGE_BUSY_NS	    UINT64_C(300000000000) /* or so long, if another has the lock */
#define OUTAGE_RETRY_NS	    UINT64_C(5000000000)
#define OUTAGE_MOST_SAMPLES 200000u /* most samples that wait; about 10 MiB */

struct outage {
	uint64_t window_ns;  /* length of a window */
	uint64_t failing_ns; /* when commits began to fail; 0: they do not */
	uint64_t retry_ns;   /* during an outage: when the next attempt to write is due */
	uint64_t dropped_ns; /* when a window was last deleted to make room; 0: none was */
	uint64_t waiting;    /* samples that are in memory and not committed */
	uint64_t unwritten;  /* samples whose rows were given up, in all */
	uint64_t dropped;    /* windows that were deleted, in all */
	int err;	     /* why commits fail; 0: they do not */
	bool is_out;
};

/* Takes the result of a commit: 0 or -errno. `is_lost`: the store's file was deleted or replaced.
 * Returns whether the rows must be given up. */
bool outage_committed(struct outage *outage, int err, bool is_lost, uint64_t now_ns);

/* Begins an outage, because of `err`: the samples that wait become unwritten. */
void outage_begin(struct outage *outage, int err, uint64_t now_ns);

/* Returns whether a new window must begin, so that writing can be tried again. */
bool outage_wants_window(const struct outage *outage, uint64_t now_ns);

/* Notes that an attempt to write again has failed. Returns whether the oldest window must be
 * dropped. */
bool outage_goes_on(struct outage *outage, int err, uint64_t now_ns);

/* Notes that an attempt to write again has succeeded. */
void outage_end(struct outage *outage);

#endif
