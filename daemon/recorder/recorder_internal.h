/* SPDX-License-Identifier: MIT */
/* Defines struct recorder for the recorder's own files, recorder*.c; see recorder.h. */
#ifndef RECORDER_RECORDER_INTERNAL_H
#define RECORDER_RECORDER_INTERNAL_H

#include "base/vec.h"
#include "daemon/capture/event.h"
#include "daemon/recorder/labels.h"
#include "daemon/recorder/mpi_pending.h"
#include "daemon/recorder/outbox.h"
#include "daemon/recorder/ranks.h"
#include "daemon/recorder/readings.h"
#include "daemon/recorder/recorder.h"
#include "daemon/recorder/recorder_files.h"
#include "daemon/recorder/recorder_paths.h"
#include "daemon/recorder/recorder_tasks.h"
#include "daemon/recorder/recorder_wait.h"
#include "daemon/recorder/reorder.h"

/* Counts of the records and events so far. */
struct recorder_taken {
	uint64_t events[STACKD_EVENT_COUNT];  /* records, by the kind of their event */
	uint64_t partial[STACKD_EVENT_COUNT]; /* of these, records whose path is not complete */
	uint64_t unread;		      /* records that could not be read */
	uint64_t end_reasons[STACKD_END_COUNT];
	uint64_t periods; /* sum over all samples */
	uint64_t sideband_lost;
	uint64_t mappings_left_out, names_left_out; /* events (mapping_shares.h) */
	uint64_t summed_calls;			    /* calls of MPI that libstackmpi has counted */
	uint64_t calls_cut, calls_unplaced, calls_open; /* recorder_counts */
	uint64_t named_walked, named_too_deep;		/* recorder_counts.named_too_deep */
	uint64_t managed_unread;			/* recorder_counts.managed_unread */
};

struct recorder {
	struct recorder_options with;
	struct recorder_files files;
	struct recorder_tasks tasks;
	struct recorder_paths paths;
	struct recorder_waits waits;
	struct {
		struct live_blocks *blocks;	 /* the blocks of sampled allocations that are not
						  * freed yet */
		struct alloc_coverage *coverage; /* NULL: programs whose allocations are not
						  * recorded are not counted */
	} memory;
	struct number_reuse *numbers; /* NULL: there are no tables */
	struct recorder_calls *calls; /* recorder_call.c */
	struct {
		struct ranks *ranks;
		struct mpi_pending *pending; /* receives */
	} mpi;
	struct labels *labels;
	struct readings *readings; /* readings of counters, with each thread's previous one */
	VEC(const struct object *)
	marks; /* index: number of the mark; value: the object of the
		* frame that stands for it */
	struct outbox *outbox;
	struct recorder_taken taken;
};

/* Returns the thread of an event. Gives the thread and its process rows in the store, unless they
 * have them, and sets the thread's cgroup if the record has one. *ret_process is the number of the
 * process's row. NULL without memory. */
const struct thread *recorder_thread_of(struct recorder *r, const struct event *event,
					uint32_t *ret_process);

/* Stores a row in a series, with `value` as its value. 0 or -ENOMEM. */
int recorder_keep(struct recorder *r, enum metric_series series, uint64_t value,
		  struct store_sample row);

/* Requests what the kernel half's walk has missed: the number of a file that it does not know, or
 * the file's table. `early`: the record has just been read, and is not taken in the order of time
 * yet. 0 or -ENOMEM. */
int recorder_request_table(struct recorder *r, const struct stackd_header *record, bool early);

/* If events were lost, reads the recorded processes again, unless that was done lately. 0, or an
 * error of recorder_load_all(). */
int recorder_reload(struct recorder *r);
int recorder_sweep(struct recorder *r);

/* If an event of a process is missing, reads it from /proc, if its user pays for that, or else
 * makes it an unknown process. To be called before the next record in the order of time is taken,
 * with its time. 0 or -ENOMEM. */
int recorder_settle(struct recorder *r, pid_t pid, uint64_t time_ns);

/* Sets those counters of *counters that are sums over several kinds of events. */
void recorder_count_events(const struct recorder *r, struct recorder_counts *counts);

/* Appends a frame to the path of *node, for an object that is no code (a mark, or what a thread
 * waited for). *node becomes the new path's node. 0 or -ENOMEM. */
int recorder_add_frame(struct recorder *r, const struct object *object, uint32_t *node);

/* --- handlers of kinds of event, in the table of recorder_sample.c ---------------------------- */

/* Sets a row's time to the end of the pass, and its end reason if the pass was left without a
 * return (bpf/abandoned.bpf.h). Returns 0. */
int recorder_place_pass(struct recorder *r, const struct event *event, struct store_sample *row);

/* For a pass that a mark has ended, sets a row's time to the end of the pass, and appends the mark
 * to its path as a frame at the leaf. 0; -ENOMEM; -EBADMSG: there is no such mark. */
int recorder_place_mark(struct recorder *r, const struct event *event, struct store_sample *row);

/* Stores a pass: its time and CPU time; those of the passes within it, in series of their own; and
 * the bytes that it has sent and received if it was a call of MPI. 0 or -ENOMEM. */
int recorder_pass(struct recorder *r, const struct event *event, struct store_sample *row);

/* Stores a call of MPI that libstackmpi has counted, and notes its path for the sums. 0 or
 * -ENOMEM. */
int recorder_call(struct recorder *r, const struct event *event, struct store_sample *row);

/* What is known of the paths in tables (recorder_call.c). */
struct recorder_calls;

int recorder_calls_new(struct recorder_calls **ret_calls); /* 0 or -ENOMEM */
void recorder_calls_free(struct recorder_calls *calls);	   /* NULL is fine */

/* Forgets all paths at the end of a window, since their rows are not valid any more. */
void recorder_calls_begin_anew(struct recorder *r);

/* Stores the bytes of a completed MPI receive, under the path of the call that posted it. 0 or
 * -ENOMEM. */
int recorder_complete(struct recorder *r, const struct event *event);

/* Stores a sampled allocation. `row` becomes a row of the thread in whose memory the block is. 0 or
 * -ENOMEM. */
int recorder_alloc(struct recorder *r, const struct event *event, struct store_sample *row);

/* Stores that a sampled allocation was freed. 0 or -ENOMEM. */
int recorder_free_block(struct recorder *r, const struct event *event);

/* Stores a sampled page fault. 0 or -ENOMEM. */
int recorder_fault(struct recorder *r, const struct event *event, struct store_sample *row);

/* Stores a call of mmap() or brk(). 0 or -ENOMEM. */
int recorder_map(struct recorder *r, const struct event *event, struct store_sample *row);

/* Looks up the name of what a thread waited for, as soon as the record is read. 0 or -ENOMEM. */
int recorder_prefetch_wait(struct recorder *r, const struct event *event);

/* Stores those parts of a wait (blocked, runnable) that were sampled. 0 or -ENOMEM. */
int recorder_wait(struct recorder *r, const struct event *event, struct store_sample *row);

/* Stores which thread ended a wait, and by which path. `row` is the waker's; the row that is stored
 * belongs to the woken thread. 0 or -ENOMEM. */
int recorder_wake(struct recorder *r, const struct event *event, struct store_sample *row);

/* Stores a wait without a path, since the kernel half has not seen the switch with which it began.
 * 0 or -ENOMEM. */
int recorder_untraced(struct recorder *r, const struct event *event);

/* Stores when a thread began or ended. 0 or -ENOMEM. */
int recorder_life(struct recorder *r, const struct event *event);

#endif
