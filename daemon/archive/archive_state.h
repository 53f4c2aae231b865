/* SPDX-License-Identifier: MIT */
/* The archive's state: archive.c has its thread and queue, archive_window.c its windows and
 * outages. No other module includes this. */
#ifndef ARCHIVE_ARCHIVE_STATE_H
#define ARCHIVE_ARCHIVE_STATE_H

#include <pthread.h>

#include "daemon/archive/archive.h"
#include "daemon/worker/worker_counts.h"
#include "daemon/archive/outage.h"
#include "store/store_writer.h"
#include "sym/naming_schedule.h"

struct archive {
	struct archive_options options;
	struct store_writer *writer;
	struct workers_counts before; /* this window */
	struct naming *names;
	pthread_t thread;
	bool has_thread;
	int failed_fd;	 /* eventfd */
	int reserved_fd; /* of the store's file, while it is reserved; -1 */

	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t change;
	struct batch *first, **last;
	size_t n_waiting; /* batches in the queue */
	uint64_t queued;  /* samples in them */
	bool is_ending, is_cancelled;
	const struct kallsyms *ksyms;
	struct outage outage;

	/* The thread's own. */
	uint64_t unwritten_before; /* samples that were given up before this window */
	uint64_t unwritten_told;   /* the sum of those */
	struct naming_schedule *schedule;
	uint32_t n_objects, n_sizes, n_origins; /* rows written */
	uint32_t n_missing;			/* debug files that objects have lacked */
	struct store_recording totals;		/* of the last batch */
	int error; /* the first one; archive_finish() reads it after the join */
	char *error_text;
};

/* Forgets the rows of a window, as the next one begins. 0 or -ENOMEM. */
int archive_begin_rows(struct archive *a);

/* --- windows: from the archive's thread ------------------------------------------------------- */

/* Deletes what is older, or more, than is to be kept. A store that is busy has it done with the
 * next window. 0 or -errno. */
int archive_window_retain(struct archive *a);

/* Closes the recording and begins the next; batches queue up meanwhile. 0 or -errno. */
int archive_window_next(struct archive *a, const struct store_recording *after);

/* Takes the result of a commit to a store that is written in windows. Returns whether writing was
 * given up: an outage has begun. */
bool archive_window_committed(struct archive *a, int err);

/* Attempts to end an outage. `after`: the window that begins. */
void archive_window_retry(struct archive *a, const struct store_recording *after);

#endif
