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

/* Opens a recording; 0: the latest one. Errors: -ENOENT; -EINVAL: the file is no store, or empty;
 * -ENOTSUP: a store of a newer version; -EBADMSG: a damaged one; -EACCES; -ENODATA: it has no such
 * recording. On failure *ret_error is a malloc()ed sentence that names the file, the fault and the
 * remedy. */
int store_reader_open(const char *path, int64_t recording, struct store_reader **ret_reader,
		      char **ret_error);
/* Opens only the recording's row and counters, in a time that does not depend on the recording's
 * size: the other tables are empty, and there are no samples to read. */
int store_reader_open_figures(const char *path, int64_t recording, struct store_reader **ret_reader,
			      char **ret_error);
void store_reader_close(struct store_reader *reader);

/* Opens all recordings of a range as one, which begins and ends with the range. Call paths are
 * added up by tag, threads and processes by number and name. Its clock continues the clock of its
 * first recording; where the wall clock was set back, or recordings overlap, a recording begins
 * where the previous one ends. Errors as for store_reader_open(), and -EXDEV: the recordings count
 * different events. If the range has limits of time, -ENODATA means that nothing was recorded in
 * it. */
int store_reader_open_range(const char *path, const struct store_range *range,
			    struct store_reader **ret_reader, char **ret_error);

/* Lists all recordings of a store, oldest first, without opening them. store_recordings_free()
 * frees the array and its strings. Errors as for store_reader_open(). */
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

/* The tables of a recording, which live until the reader is closed. Lines are sorted by (location,
 * depth). line_first has n_locations + 1 entries: the lines of location i are lines[line_first[i]
 * .. line_first[i+1]). */
struct store_tables {
	struct store_recording recording; /* if several were added up: with the least number */
	int64_t last_recording;		  /* number of the recording; of several, the largest */
	uint32_t n_recordings;		  /* 1, or how many recordings were added up */
	/* recordings within the range of time that were left out, because they have another target,
	 * host or event */
	uint32_t left_out;
	/* If several recordings were added up: the times that the range selects, in order. Times
	 * that touch are joined. NULL: there is one recording, and all of it is selected. */
	const struct store_span *selected;
	uint32_t n_selected;
	/* Wall-clock time of the begin of the first recording and of the end of the last one: the
	 * counters cover all the time in between. */
	uint64_t whole_from_unix_ns, whole_to_unix_ns;
	bool is_cut; /* the range selects only a part of that time */
	/* there are more than STORE_RANGE_LATER windows after the range, so some were not searched
	 * for records that began in the range */
	bool is_not_all;
	const struct store_object *objects;
	const struct store_location *locations;
	const struct store_line *lines;
	const uint32_t *line_first;
	const struct store_process *processes;
	const struct store_thread *threads;
	const struct store_node *nodes; /* [0] is the empty path: parent 0, location UINT32_MAX */
	const struct store_counter *counters;
	const struct origin *origins; /* [0] is ORIGIN_WALKED */
	/* By node: bytes of stack between two slots, the one that held the node's program counter
	 * and the one that held its parent's; 0: unknown. NULL: not measured. */
	const uint32_t *sizes;
	uint32_t n_objects, n_locations, n_lines, n_processes, n_threads, n_nodes, n_counters;
	uint32_t n_origins;   /* at least 1 */
	uint64_t store_bytes; /* of the whole file, with its WAL */
};

/* Returns the tables, which the reader owns. */
const struct store_tables *store_reader_tables(const struct store_reader *reader);

/* Adds names to the tables, for this reader alone; writes nothing. `lines` are in order of
 * (location, depth), and only for locations that have no lines yet. Their strings must outlive the
 * reader. Returns 0 or -ENOMEM. */
int store_reader_add_lines(struct store_reader *reader, const struct store_line *lines, size_t n);

/* Removes the nodes for which is_out[NODE] is set from all paths, for this reader alone: their
 * samples and children move to their parents. The tags stay those of the paths when
 * store_reader_tags() is first called. May be called once. Returns 0 or -ENOMEM. */
int store_reader_leave_out(struct store_reader *reader, const bool *is_out);

/* Gives the tags of the reader's nodes, by node number; the empty path's is 0. The first call
 * computes them. They are borrowed until the reader is closed. Returns 0 or -ENOMEM. */
int store_reader_tags(struct store_reader *reader, const uint64_t **ret_tags);

/* Calls `each` for every sample in order of time (samples of equal time mostly by thread). Its
 * thread, node, origin and end reason are valid. A non-zero result ends the calls and is returned.
 * `each` runs in the caller's thread, but another thread may decode ahead meanwhile, so `each` must
 * read nothing from the reader but its tables. Returns 0, -EBADMSG, -ENOMEM or -EIO. */
int store_reader_samples(struct store_reader *reader,
			 int (*each)(void *arg, const struct store_sample *sample), void *arg);

/* Returns the sums that a reader of store_memory.h has instead of samples and records; NULL: the
 * reader has samples. */
const struct store_sum *store_reader_sums(const struct store_reader *reader, size_t *ret_count);

/* Gives the series that have records, as bits 1 << number, without those that this version does not
 * know. Returns 0 or -errno. */
int store_reader_series(struct store_reader *reader, uint64_t *ret_series);

/* Does what store_reader_samples() does, for the records of any series (stack/metric.h). A record's
 * value is in its `period`. If the recording lacks the series, `each` is not called. */
int store_reader_records(struct store_reader *reader, enum metric_series series,
			 int (*each)(void *arg, const struct store_sample *record), void *arg);

/* Does what store_reader_records() does, but also gives records outside of the reader's range,
 * because a wait or a pass whose record is after the range may have begun in it. */
int store_reader_all_records(struct store_reader *reader, enum metric_series series,
			     int (*each)(void *arg, const struct store_sample *record), void *arg);

/* Returns whether a moment, by the clock of the tables, is in the reader's range. */
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
