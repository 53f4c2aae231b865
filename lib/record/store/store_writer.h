/* SPDX-License-Identifier: MIT */
/*
 * Writing a recording. The caller hands over what is new as it appears and commits about once a
 * second; between commits everything is in memory, so a failed commit (disk full) is reported and
 * leaves all earlier commits intact.
 *
 * The last chunk of samples and of nodes is written again at each commit until it is full, so
 * the file holds few, large, well compressed chunks without a merge step.
 *
 * Errors are negative errno: -ENOSPC for a full disk, -EROFS, -EACCES, -EBUSY (another writer
 * held the store for 10 s), -EIO, -ENOMEM; store_writer_error() has SQLite's text for the last.
 *
 * Samples come roughly in order of time. Within a commit any order is fine; samples that come in a
 * later commit are merged by the reader, up to 16 million that overlap in time. One thread at a
 * time may use a writer.
 */
#ifndef STORE_STORE_WRITER_H
#define STORE_STORE_WRITER_H

#include <stdbool.h>

#include "stack/metric.h"
#include "store/store.h"

struct store_writer;

/* Opens or makes the store at `path`, for store_writer_begin(). Returns 0 or -errno. -ENOTSUP: the
 * file is a store of a newer version; -EINVAL: it is not a store; in both cases it is not changed.
 * -EBADMSG: it is a damaged store. On failure *ret_error, unless NULL, is a malloc()ed sentence. A
 * new file gets mode 0600; making one waits for the disk several times. */
int store_writer_open(const char *path, struct store_writer **ret_writer, char **ret_error);

/* Begins the recording, and commits its row at once. `info->id` is ignored; `info->run` is not 0 if
 * the recording is the first window of a run. Returns 0 or -errno. On failure *ret_error, if asked
 * for, is a malloc()ed sentence about the store at `path`. */
int store_writer_begin(struct store_writer *writer, const struct store_recording *info,
		       const char *path, char **ret_error);

/* Opens a store and begins a recording in it. */
int store_writer_new(const char *path, const struct store_recording *info,
		     struct store_writer **ret_writer, char **ret_error);

/* Frees the writer without committing; NULL is fine. Removes the file if this writer made it and it
 * has no recording. */
void store_writer_free(struct store_writer *writer);

/* Begins the next window of the run, after the previous one has been committed as finished. All
 * numbers begin at 0 again. `info` as for store_writer_begin(). Returns 0, or -errno with the
 * writer unchanged, so that the call can be repeated. */
int store_writer_next_window(struct store_writer *w, const struct store_recording *info);

int64_t store_writer_recording(const struct store_writer *writer); /* its id */

/* Add new entries. Numbers must come densely from 0 (nodes: from 1). Strings are copied, and cut at
 * 65,535 bytes. Return 0; -ENOMEM; -EINVAL: a number is out of order or refers to an entry that
 * does not exist, or there are more entries than a recording can hold (2^28 nodes, 2^26 locations
 * or lines, 2^24 of each other kind). Nothing reaches the file before the commit. */
int store_writer_object(struct store_writer *w, const struct store_object *object);
int store_writer_location(struct store_writer *w, const struct store_location *location);
int store_writer_line(struct store_writer *w, const struct store_line *line);
int store_writer_process(struct store_writer *w, const struct store_process *process);
int store_writer_thread(struct store_writer *w, const struct store_thread *thread);
/* Adds the cgroup of a thread, at most once for each thread. */
int store_writer_cgroup(struct store_writer *w, uint32_t thread, const char *path);

/* Adds the labels of a thread (stack/label_set.h), in place of those that it has. */
int store_writer_labels(struct store_writer *w, uint32_t thread, const char *label_set);
int store_writer_node(struct store_writer *w, const struct store_node *node);
/* Adds the size of a node (see struct store_tables). Sizes must come in order of the nodes, from 1,
 * and after the nodes themselves. */
int store_writer_size(struct store_writer *w, uint32_t node, uint32_t size);
/* Adds an origin; numbers come densely from 1. Errors as above; -EINVAL also for an origin without
 * runs and height, or with invalid runs. */
int store_writer_origin(struct store_writer *w, uint32_t number, const struct origin *origin);
int store_writer_sample(struct store_writer *w, const struct store_sample *sample);
/* Adds a record to a series other than samples. Its value is record->period. */
int store_writer_record(struct store_writer *w, enum metric_series series,
			const struct store_sample *record);

/* Sets a named counter (end reasons, losses, cache statistics). */
int store_writer_counter(struct store_writer *w, const char *name, uint64_t value);

/* Commits all new data. Also stores, from `info`, end_ns, samples, lost, kernel_ns, kernel_runs,
 * finished and, unless it is NULL, note. Returns 0 or -errno. After an error the data is still in
 * memory, so the caller can commit again, or free the writer. After -ESTALE (another process
 * deleted the recording) it can only be freed. */
int store_writer_commit(struct store_writer *w, const struct store_recording *info);

/* Returns SQLite's text for the last error, or "" if there was none. The writer owns it, and the
 * next error replaces it. */
const char *store_writer_error(const struct store_writer *w);

/* Removes the recording that was begun, for the case that its run fails to start. Afterwards the
 * writer can only be freed. Returns 0 or an error as above. */
int store_writer_discard(struct store_writer *w);

/* Deletes recordings that ended more than `max_age_s` seconds ago, then the oldest recordings until
 * the file's content and the WAL together have at most `max_bytes`; 0 means no limit. Never deletes
 * the recording being written. If it is called after each store_writer_next_window(), the store
 * exceeds `max_bytes` by at most one window; the pages of deleted windows are used again. Returns
 * the number deleted, or -errno. */
int store_writer_retain(struct store_writer *w, uint64_t max_age_s, uint64_t max_bytes);

/* Deletes the oldest recording that is not being written, and gives its pages back to the file
 * system, for the case that the disk is full. Returns the number deleted, 1 or 0 (there was none to
 * delete), or -errno. */
int store_writer_drop_oldest(struct store_writer *w);

/* Returns whether the store's file has been deleted or replaced since it was opened, so that
 * commits would go to a file that nobody can find. */
bool store_writer_has_moved(const struct store_writer *w);

/* Reserves a store for one process that will write windows for a long time. Creates the file (mode
 * 0600) if it does not exist. The caller calls it before store_writer_open() or store_writer_new(),
 * and closes *ret_fd after store_writer_free(), because closing it drops SQLite's locks on the
 * file. Returns 0, -EBUSY (another process has reserved it), -EPERM (it was there already, and
 * belongs to another user, who would read what is written), or the -errno of open(). */
int store_writer_reserve(const char *path, int *ret_fd);

#endif
