/* SPDX-License-Identifier: MIT */
/*
 * The archive: a thread of its own that does the slow work, so that the loop that empties the
 * ring buffer never waits for a disk or a debug file. It takes batches of what is new, commits
 * them to the store, and now and then finds the names of the new locations, which go with the
 * next commit: after a second, or after up to ten where that costs much.
 */
#ifndef ARCHIVE_ARCHIVE_H
#define ARCHIVE_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proc/object.h"
#include "store/store.h"
#include "sym/kallsyms.h"

/* What is new since the last batch. Everything is owned by the batch, objects excepted (they
 * live as long as the object table). */
struct batch {
	const struct object **objects;
	struct store_location *locations;
	struct store_process *processes; /* with strings of their own */
	struct store_thread *threads;
	struct store_node *nodes;
	uint32_t *sizes;	/* by node, or NULL: not measured */
	struct origin *origins; /* with runs of their own */
	struct store_sample *samples;
	size_t n_objects, n_locations, n_processes, n_threads, n_nodes, n_origins, n_samples;
	struct batch_counter {
		char name[40];
		uint64_t value;
	} * counters;
	size_t n_counters;
	struct store_recording totals; /* numbers only; see store_writer_commit() */
	struct batch *next;	       /* the archive's own */
};

struct batch *batch_new(void); /* NULL for lack of memory */
void batch_free(struct batch *batch);

struct archive;

struct archive_options {
	const char *path;
	uint64_t keep_age_s, keep_bytes; /* retention; 0: no limit */
};

/* Opens the store, begins a recording, starts the thread. 0 or negative errno with a malloc()ed
 * sentence in *ret_error. */
int archive_new(const struct archive_options *options, const struct store_recording *info,
		struct archive **ret_archive, char **ret_error);

/* Hands over a batch; never waits for the disk. */
void archive_submit(struct archive *archive, struct batch *batch);

/* The kernel's symbols, once they are loaded; borrowed until the archive is freed. */
void archive_set_kallsyms(struct archive *archive, const struct kallsyms *ksyms);

/* A descriptor that becomes readable when writing has failed for good. */
int archive_poll_fd(const struct archive *archive);

/* Waits until all batches are committed and all names found, and ends the recording as finished.
 * 0, or the negative errno of the first failure, with the sentence in *ret_error. */
int archive_finish(struct archive *archive, char **ret_error);

/* Takes the recording out of the store again, where the run did not come about. */
void archive_discard(struct archive *archive);

int64_t archive_recording(const struct archive *archive); /* its id in the store */

void archive_free(struct archive *archive); /* NULL is fine; without archive_finish: as it is */

#endif
