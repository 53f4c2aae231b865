/* SPDX-License-Identifier: MIT */
/*
 * Reading a recording: the tables as arrays indexed by their dense numbers, the trie with its
 * tags recomputed, and the samples in time order.
 *
 * A reader sees one moment of the store (one SQLite read transaction), also while it is being
 * written. Nothing in the file is trusted: numbers out of range, cut blobs and cycles make the
 * open fail with -EBADMSG and a sentence that names the table.
 */
#ifndef STORE_STORE_READER_H
#define STORE_STORE_READER_H

#include "stack/metric.h"
#include "store/store.h"
#include "store/store_range.h"

struct store_reader;

/* -ENOENT; -EINVAL: not a store, or an empty file; -ENOTSUP: of a newer version; -EBADMSG: damaged;
 * -EACCES; -ENODATA: it has no such recording (`recording` 0: the latest). On failure *ret_error is
 * a malloc()ed sentence that names the file, the fault and the remedy. */
int store_reader_open(const char *path, int64_t recording, struct store_reader **ret_reader,
		      char **ret_error);
/* The same for the recording's row and counters alone, in a time that does not depend on its size:
 * the other tables are empty, and there are no samples to read. */
int store_reader_open_figures(const char *path, int64_t recording, struct store_reader **ret_reader,
			      char **ret_error);
void store_reader_close(struct store_reader *reader);

/* Opens all recordings of a range as one, which begins and ends with the range: paths are added up
 * by tag, threads and processes by number and name. Its clock continues that of its first
 * recording; where the clock was set back, or recordings overlap, one follows the other. Errors as
 * above; with limits of time, -ENODATA: nothing was recorded then; -EXDEV: the recordings count
 * different events. */
int store_reader_open_range(const char *path, const struct store_range *range,
			    struct store_reader **ret_reader, char **ret_error);

/* Lists all recordings of a store, oldest first, without opening any. store_recordings_free() frees
 * the array and its strings. Errors as above. */
int store_list_recordings(const char *path, struct store_recording **ret_recordings,
			  size_t *ret_count, char **ret_error);
void store_recordings_free(struct store_recording *recordings, size_t count);

/* A span of time: from_ns to to_ns, exclusive. */
struct store_span {
	uint64_t from_ns, to_ns;
};

struct store_counter {
	const char *name;
	uint64_t value;
};

/* The tables; borrowed until close. lines are sorted by (location, depth), and line_first has
 * n_locations + 1 entries: the lines of location i are lines[line_first[i] .. line_first[i+1]). */
struct store_tables {
	struct store_recording recording; /* of several recordings: the least number */
	int64_t last_recording;		  /* the largest number */
	uint32_t n_recordings;		  /* 1, or more that were added up */
	uint32_t left_out;		  /* of another target, host or event, in the same time */
	/* The times that the range selects of recordings that were added up, in order; those that
	 * touch are one. NULL: there is one recording, and all of it is selected. */
	const struct store_span *selected;
	uint32_t n_selected;
	/* The wall clock's time at the begin of the first recording, and at the end of the last
	 * one: the counters cover all this time. */
	uint64_t whole_from_unix_ns, whole_to_unix_ns;
	bool is_cut;	 /* the range selects a part of that */
	bool is_not_all; /* there are more than STORE_RANGE_LATER windows after the range */
	const struct store_object *objects;
	const struct store_location *locations;
	const struct store_line *lines;
	const uint32_t *line_first;
	const struct store_process *processes;
	const struct store_thread *threads;
	const struct store_node *nodes; /* [0] is the empty path: parent 0, location UINT32_MAX */
	const struct store_counter *counters;
	const struct origin *origins; /* [0] is ORIGIN_WALKED */
	/* By node, or NULL if they were not measured: bytes of stack from the slot from which the
	 * node's program counter was read to that of its parent; 0: not known. */
	const uint32_t *sizes;
	uint32_t n_objects, n_locations, n_lines, n_processes, n_threads, n_nodes, n_counters;
	uint32_t n_origins;   /* at least 1 */
	uint64_t store_bytes; /* of the whole file, with its WAL */
};

/* Returns the tables, which the reader owns. */
const struct store_tables *store_reader_tables(const struct store_reader *reader);

/* Adds names to the tables, for this reader alone: nothing is written. The lines are in order of
 * (location, depth), their locations have none yet, and their strings must outlive the reader. 0 or
 * -ENOMEM. */
int store_reader_add_lines(struct store_reader *reader, const struct store_line *lines, size_t n);

/* Gives the tags of its nodes, by number; [0] is 0. They are computed at the first request, and
 * borrowed until close. 0 or -ENOMEM. */
int store_reader_tags(struct store_reader *reader, const uint64_t **ret_tags);

/* Calls `each` for every sample in time order (equal times: by thread, mostly); thread, node,
 * origin and end reason are in range; a non-zero result stops and is returned. Calls it in this
 * thread; another thread may decode ahead, so `each` must not read from the reader but its tables.
 * 0, -EBADMSG, -ENOMEM, -EIO. */
int store_reader_samples(struct store_reader *reader,
			 int (*each)(void *arg, const struct store_sample *sample), void *arg);

/* Returns the sums that a reader has instead of samples and records; NULL: it has these. */
const struct store_sum *store_reader_sums(const struct store_reader *reader, size_t *ret_count);

/* Gives which series the recordings have records of: bit 1 << number, without those that this
 * version does not know. 0 or -errno. */
int store_reader_series(struct store_reader *reader, uint64_t *ret_series);

/* The same as store_reader_samples() for any series (stack/metric.h), whose values are the periods;
 * one that the recording does not have is empty. */
int store_reader_records(struct store_reader *reader, enum metric_series series,
			 int (*each)(void *arg, const struct store_sample *record), void *arg);

/* The same with records outside of the reader's range, since a wait or a pass that ended there may
 * have begun in it. */
int store_reader_all_records(struct store_reader *reader, enum metric_series series,
			     int (*each)(void *arg, const struct store_sample *record), void *arg);

/* Returns whether a moment of the clock of the whole is in the reader's range. */
static inline bool store_reader_selects(const struct store_tables *tables, uint64_t time_ns)
{
	for (uint32_t i = 0; i < tables->n_selected; i++)
		if (time_ns < tables->selected[i].to_ns)
			return time_ns >= tables->selected[i].from_ns;
	return !tables->n_selected;
}

/* Returns how much of the time between two moments is in the reader's range. */
static inline uint64_t store_reader_selected_ns(const struct store_tables *tables, uint64_t from_ns,
						uint64_t to_ns)
{
	uint64_t ns = 0;

	if (!tables->n_selected)
		return to_ns > from_ns ? to_ns - from_ns : 0;
	for (uint32_t i = 0; i < tables->n_selected; i++) {
		const struct store_span *span = &tables->selected[i];
		const uint64_t from = span->from_ns > from_ns ? span->from_ns : from_ns;
		const uint64_t to = span->to_ns < to_ns ? span->to_ns : to_ns;

		ns += to > from ? to - from : 0;
	}
	return ns;
}

#endif
