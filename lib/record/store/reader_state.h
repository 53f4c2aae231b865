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

/* One of several recordings that are read as one ("the whole"); see store_join.c. */
struct reader_part {
	/* reader of this recording; it uses the SQLite connection of the whole's reader */
	struct store_reader *window;
	/* number in the recording -> number in the whole */
	uint32_t *threads, *nodes, *origins;
	/* samples in this time are read, by the recording's clock; to_ns is exclusive */
	uint64_t from_ns, to_ns;
	/* The recording comes after the range that is read: only its records that began in the
	 * range are read. */
	bool is_later;
	uint64_t start_ns; /* start of the recording, by its own clock */
	uint64_t base_ns;  /* start of the recording, by the whole's clock */
};

struct store_reader {
	sqlite3 *db;
	bool has_layouts;    /* The store's version has object layouts. */
	const char *damaged; /* name of the table that was found damaged */
	struct reader_arena arena;
	struct store_tables tables;

	/* The pointers in `tables` point to these. */
	VEC(struct store_object) objects;
	VEC(struct store_process) processes;
	VEC(struct store_thread) threads;
	VEC(struct store_counter) counters;
	VEC(struct store_location) locations;
	struct store_line *lines;
	uint32_t *line_first;
	struct node_coder nodes;
	uint32_t *shown;	    /* by node: the node that its samples count for; NULL: itself */
	uint64_t *tags;		    /* NULL until store_reader_tags() is called */
	VEC(struct origin) origins; /* the runs of each are set when all origins are loaded */
	VEC(struct origin_run) runs;
	VEC(uint32_t) sizes;	       /* sizes[0] is the empty path's */
	VEC(struct reader_part) parts; /* empty if there is only one recording */
	VEC(struct store_span) selected;
	bool is_summed; /* made by store_memory.c: it has no db, and has sums instead of samples */
	VEC(struct store_sum) sums;
	VEC(struct store_labels) labels; /* labels of the threads */
	uint64_t series;		 /* the series that the sums are of: bits 1 << number */
};

/* Prepares a query, and binds 64-bit integers to its parameters. Returns 0 or -errno. */
int store_load_prepare(sqlite3 *db, const char *sql, const int64_t *parameters, int n,
		       sqlite3_stmt **ret_stmt);

/* The query for the columns of `recordings` in the order in which store_load_recording() takes
 * them. */
#define STORE_LOAD_RECORDING                                                                       \
	"SELECT id, start_unix_ns, start_ns, end_ns, host, kernel, arch, command, target, event,"  \
	" note, frequency_hz, period, cpus, finished, samples, lost, kernel_ns, kernel_runs,"      \
	" (SELECT value FROM counters WHERE recording=id AND name='" STORE_RUN_COUNTER "')"        \
	" FROM recordings "

/* Fills *ret_recording from one row of STORE_LOAD_RECORDING; the arena owns its strings. Returns 0,
 * -ENOMEM or -EBADMSG. */
int store_load_recording(sqlite3_stmt *row, struct reader_arena *arena,
			 struct store_recording *ret_recording);

/* Reads all tables of the recording tables.recording. Returns 0 or -errno; after -EBADMSG,
 * r->damaged is the damaged table. */
int store_load_tables(struct store_reader *r);
/* Reads the counters alone. */
int store_load_figures(struct store_reader *r);
/* Makes the pointers in `tables` point to the reader's arrays. */
void store_load_publish(struct store_reader *r);
void store_load_free(struct store_reader *r);
/* Frees the arrays of the tables; their strings and numbers of entries stay valid. */
void store_load_free_arrays(struct store_reader *r);

/* Sets *ret_reach to whether the recording has a record of something that lasts (a wait, a pass)
 * and began before `before_ns`, by the recording's clock. Returns 0 or -errno. */
int store_samples_reach(struct store_reader *r, uint64_t before_ns, bool *ret_reach);

/* Reads the tables that are stored in chunks. The objects must be loaded. */
int store_load_chunks(struct store_reader *r);

/* Returns a copy of `len` bytes with a NUL behind them, or NULL if memory is short. */
char *store_load_copy(struct reader_arena *arena, const char *s, size_t len);

#endif
