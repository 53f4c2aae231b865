/* SPDX-License-Identifier: MIT */
/*
 * Inside the writer: the data handed over (store_writer.c fills it), and the part of it that is in
 * the file (store_commit.c and store_retain.c). No other module includes this.
 */
#ifndef STORE_WRITER_STATE_H
#define STORE_WRITER_STATE_H

#include "stack/metric.h"
#include "store/chunk.h"
#include "store/store_db.h"
#include "store/store_intern.h"
#include "store/store_writer.h"

/* A full chunk that the next commit will write. */
struct writer_chunk {
	uint32_t kind, seq, count;
	struct buf blob;
};

/* One of the tables of table_codec.h, and its chunk that is being filled. */
struct writer_table {
	struct buf columns[CHUNK_MAX_COLUMNS];
	uint32_t seq;	/* number of that chunk */
	uint32_t count; /* entries in that chunk */
	uint32_t total; /* entries in all chunks */
	bool is_dirty;	/* the chunk has entries that were not committed yet */
};

struct writer_counter {
	char *name;
	uint64_t value;
	bool is_dirty;
};

/* Records of a series that are in memory: those of its last chunk, and new ones. */
struct writer_series {
	VEC(struct store_sample) records;
	uint32_t seq;	/* number of the chunk that records[0] belongs to */
	size_t written; /* how many of the records were committed */
};

/* The SQL statements that each commit runs. They are compiled once, since compiling one takes about
 * as long as running it. */
enum writer_statement {
	WRITER_BEGIN,
	WRITER_COMMIT,
	WRITER_RECORDING,
	WRITER_COUNTER,
	WRITER_CHUNK,
	WRITER_STATEMENTS
};

struct writer_statements {
	sqlite3_stmt *all[WRITER_STATEMENTS]; /* NULL: not compiled yet */
};

struct store_writer {
	sqlite3 *db;
	struct writer_statements statements;
	char *made; /* path of the file, if this writer made it; else NULL */
	int64_t recording;
	uint64_t start_bytes;  /* size of the file's content when the window began */
	uint64_t window_bytes; /* by how much the previous window made it grow */
	/* the first recording of the run; 0: the run is not cut into windows */
	int64_t run;
	char *error; /* text of the last error, or NULL */

	/* Rows that the next commit will write, and how many rows the recording has so far. */
	VEC(struct store_object) objects;
	VEC(struct store_process) processes;
	VEC(struct store_thread) threads;
	VEC(struct writer_counter) counters;
	uint32_t n_objects, n_processes, n_threads;

	uint32_t n_runs; /* runs of all origins together */

	struct store_intern names;
	struct writer_table tables[TABLE_KINDS];
	VEC(struct writer_chunk) full;
	struct function_coder function_coder;
	struct location_coder location_coder;
	struct line_coder line_coder;
	struct cgroup_coder cgroup_coder, label_coder;
	struct node_coder node_coder;
	struct size_coder *size_coder; /* NULL until the first size comes */

	struct writer_series series[SERIES_COUNT];
};

/* Copies SQLite's text for the last failure to w->error, and returns the failure as a negative
 * errno. */
int store_commit_failed(struct store_writer *w, int rc);

/* Inserts the row of the recording and commits it. Sets w->recording; for a window, also w->run,
 * unless it is set. Returns 0 or -errno. */
int store_commit_begin(struct store_writer *w, const struct store_recording *info);

/* Packs a table's chunk and begins the next one. Returns 0, or -ENOMEM with the table unchanged. */
int store_commit_seal(struct store_writer *w, enum table_kind kind);

/* Frees the compiled statements, before the database is closed. */
void store_commit_fini(struct store_writer *w);

/* Frees the strings of the rows in `objects`, `processes` and `threads`, and removes the rows. */
void store_commit_forget_rows(struct store_writer *w);

/* Gives pages that no recording uses back to the file system, in small transactions, except for
 * `keep_bytes` of them, which the next data will use. Returns 0 or -errno. */
int store_retain_shrink(struct store_writer *w, uint64_t keep_bytes);

/* Gives the size of the pages that recordings use, in bytes. Returns 0 or -errno. */
int store_retain_content(struct store_writer *w, uint64_t *ret_bytes);

#endif
