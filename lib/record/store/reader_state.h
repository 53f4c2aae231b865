/* SPDX-License-Identifier: MIT */
/*
 * Inside the reader: store_reader.c opens, store_load.c and store_load_chunks.c fill the tables,
 * store_samples.c yields the samples. No other module includes this.
 */
#ifndef STORE_READER_STATE_H
#define STORE_READER_STATE_H

#include "store/store_db.h"
#include "store/store_reader.h"

/* Strings that live as long as the reader, in blocks. */
struct reader_arena {
	struct reader_block *blocks; /* the newest first */
};

/* A recording that was added up with others; see store_join.c. */
struct reader_part {
	struct store_reader *window;	     /* its connection is the whole's */
	uint32_t *threads, *nodes, *origins; /* the whole's numbers, by the recording's own */
	uint64_t from_ns,
		to_ns;	   /* samples of these times, by the recording's clock; to is exclusive */
	bool is_later;	   /* than the range: read for records that began in the range */
	uint64_t start_ns; /* on the recording's clock */
	uint64_t base_ns;  /* the same moment on the whole's */
};

struct store_reader {
	sqlite3 *db;
	bool has_layouts;    /* the store's version has layouts of objects */
	const char *damaged; /* the table in which damage was found */
	struct reader_arena arena;
	struct store_tables tables;

	/* The pointers in `tables` lead to these. */
	VEC(struct store_object) objects;
	VEC(struct store_process) processes;
	VEC(struct store_thread) threads;
	VEC(struct store_counter) counters;
	VEC(struct store_location) locations;
	struct store_line *lines;
	uint32_t *line_first;
	struct node_coder nodes;
	uint64_t *tags;		    /* NULL until the first request */
	VEC(struct origin) origins; /* their runs are set when all are loaded */
	VEC(struct origin_run) runs;
	VEC(uint32_t) sizes;	       /* [0] is the empty path's */
	VEC(struct reader_part) parts; /* empty: there is one recording */
	VEC(struct store_span) selected;
	bool is_summed; /* made by store_memory.c: no db, and sums instead of samples */
	VEC(struct store_sum) sums;
	VEC(struct store_labels) labels; /* of threads */
	uint64_t series;		 /* bit 1 << number: the series that the sums are of */
};

/* Prepares a query whose parameters are 64-bit integers. 0 or -errno. */
int store_load_prepare(sqlite3 *db, const char *sql, const int64_t *parameters, int n,
		       sqlite3_stmt **ret_stmt);

/* The columns of `recordings` in the order in which store_load_recording() takes them. */
#define STORE_LOAD_RECORDING                                                                       \
	"SELECT id, start_unix_ns, start_ns, end_ns, host, kernel, arch, command, target, event,"  \
	" note, frequency_hz, period, cpus, finished, samples, lost, kernel_ns, kernel_runs,"      \
	" (SELECT value FROM counters WHERE recording=id AND name='" STORE_RUN_COUNTER "')"        \
	" FROM recordings "

/* Reads one row; its strings go to the arena. 0, -ENOMEM, -EBADMSG. */
int store_load_recording(sqlite3_stmt *row, struct reader_arena *arena,
			 struct store_recording *ret_recording);

/* Reads all tables of tables.recording. 0 or -errno; r->damaged names the table of -EBADMSG. */
int store_load_tables(struct store_reader *r);
/* Reads the counters alone. */
int store_load_figures(struct store_reader *r);
/* Publishes the reader's arrays in its tables. */
void store_load_publish(struct store_reader *r);
void store_load_free(struct store_reader *r);
/* Frees the arrays; strings, and the numbers of entries, stay. */
void store_load_free_arrays(struct store_reader *r);

/* Gives whether a recording has a record that lasts, and began before a moment of its clock. 0 or
 * -errno. */
int store_samples_reach(struct store_reader *r, uint64_t before_ns, bool *ret_reach);

/* Reads the tables that are in chunks, after the objects. */
int store_load_chunks(struct store_reader *r);

/* Returns a copy with a final NUL, or NULL for lack of memory. */
char *store_load_copy(struct reader_arena *arena, const char *s, size_t len);

#endif
