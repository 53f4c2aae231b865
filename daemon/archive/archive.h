/* SPDX-License-Identifier: MIT */
/*
 * Writes batches to the store in a thread of its own, so that the loop that empties the ring buffer
 * never waits for a disk. Another thread finds the names (functions and lines) of new locations
 * (namer.h), which are written with a later commit.
 */
#ifndef ARCHIVE_ARCHIVE_H
#define ARCHIVE_ARCHIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/archive/batch.h"
#include "store/store.h"
#include "sym/kallsyms.h"

struct archive;

struct names;

struct archive_options {
	struct names *names;		 /* borrowed */
	const char *path;		 /* borrowed */
	uint64_t keep_age_s, keep_bytes; /* retention; 0: no limit */
	/* The length of a window; 0: the recording is not cut into windows. If the store cannot be
	 * written to, a recording in windows goes on (outage.h), and any other recording ends. No
	 * two recordings in windows may write to one store. */
	uint64_t window_ns;
	/* Called with `arg`, in the archive's thread, when the store's file was made anew after it
	 * was deleted. */
	void (*made)(void *arg);
	void *arg;
};

/* Opens the store at the path, or makes it, which waits for the disk several times. archive_begin()
 * is to be called next. 0 or negative errno, with a malloc()ed sentence or NULL in *ret_error. */
int archive_new(const struct archive_options *options, struct archive **ret_archive,
		char **ret_error);

/* Begins a recording and starts the thread. `info` is read during the call alone. Errors as of
 * archive_new(). */
int archive_begin(struct archive *archive, const struct store_recording *info, char **ret_error);

/* Takes over a batch, and never waits for the disk. A batch that ends a window closes the window's
 * recording, after all names were found, and begins the next one; then old recordings are deleted,
 * as the options say. */
void archive_submit(struct archive *archive, struct batch *batch);

/* Returns the number of batches that wait to be written, without the one that is being written. */
size_t archive_waiting(struct archive *archive);

/* Sets the kernel's symbols, once they are loaded. They are borrowed until the archive is freed. */
void archive_set_kallsyms(struct archive *archive, const struct kallsyms *ksyms);

/* Sets the share of a core that finding names may take in the long run, in a run that is cut into
 * windows; see namer_set_share(). Until archive_finish(), which sets no limit to them. */
void archive_set_share(struct archive *archive, double cpu_share, bool keeps_saved);

struct archive_state {
	int err;	    /* why the store cannot be written to; 0: it can */
	bool wants_window;  /* the window must end, so that writing can be tried again */
	uint64_t unwritten; /* samples that were given up so far, since they could not be written
			     * for long */
	uint64_t dropped;   /* windows that were deleted to make room */
	size_t waiting;	    /* batches that wait to be committed */
};

/* Gives the state of the store, for a recording that is cut into windows. */
void archive_look(struct archive *archive, struct archive_state *ret_state);

/* Returns a descriptor that becomes readable when writing has failed for good; it belongs to the
 * archive. */
int archive_poll_fd(const struct archive *archive);

/* Waits until all batches are committed and all names are found (in a run that is cut into windows:
 * those that are found within ten seconds, and one and a half after the one before), and marks the
 * recording as finished. `hurries`: nothing is fetched from debuginfod servers any more, as in each
 * run that is cut into windows. 0, or the negative errno of the first failure, with a malloc()ed
 * sentence or NULL in *ret_error. */
int archive_finish(struct archive *archive, bool hurries, char **ret_error);

/* Deletes the recording from the store; to be called if the run could not start. */
void archive_discard(struct archive *archive);

/* Returns the recording's id in the store; of a run that is cut into windows, the last one's. To be
 * called before the first batch, or after archive_finish(). */
int64_t archive_recording(const struct archive *archive);

/* Ends the thread, drops batches that are not written yet, and frees. Without archive_finish() the
 * recording stays as last committed, not marked as finished. NULL is fine. */
void archive_free(struct archive *archive);

#endif
