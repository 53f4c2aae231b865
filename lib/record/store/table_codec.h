/* SPDX-License-Identifier: MIT */
/*
 * The large tables (strings, functions, locations, lines, trie nodes and others) as columns.
 * Entries are decoded in the order in which they were encoded. Each is coded as differences to
 * earlier entries, also to those of earlier chunks, so a chunk alone cannot be read. Each kind of
 * table has a coder (state that the writer and the reader advance in step), a put function, a get
 * function, and a number of columns. If a get function finds the end of a column or a value out of
 * range, it marks the column `failed` and returns zeroes; the caller checks chunk_done() once per
 * chunk.
 */
#ifndef STORE_TABLE_CODEC_H
#define STORE_TABLE_CODEC_H

#include "base/buf.h"
#include "base/vec.h"
#include "store/store.h"

#define TABLE_CODEC_MAX 65536u /* entries of a chunk */

/* Kinds of chunks. The numbers stand in stores: new kinds go to the end. */
enum table_kind {
	TABLE_STRINGS,
	TABLE_FUNCTIONS,
	TABLE_LOCATIONS,
	TABLE_LINES,
	TABLE_NODES,
	TABLE_SAMPLES,	   /* no table: sample_codec.h has its chunks */
	TABLE_ORIGINS,	   /* since version 2 */
	TABLE_SIZES,	   /* sizes of nodes; only if they were measured, and since version 2 */
	TABLE_PROVENANCES, /* provenances of locations; since version 3 */
	TABLE_CGROUPS,	   /* cgroups of threads; since version 4 */
	TABLE_LABELS,	   /* labels of threads, coded as cgroups are; older readers of version 5 do
			    * not look for this kind */
	TABLE_KINDS
};

/* Chunks of a series of records other than samples (stack/metric.h) have the kind TABLE_SERIES +
 * the number of the series. They are coded like chunks of samples. Since version 4. */
#define TABLE_SERIES 64u

/* Returns the kind of a series' chunks. */
static inline uint32_t table_series_kind(uint32_t series)
{
	return series ? TABLE_SERIES + series : TABLE_SAMPLES;
}

/* Columns by kind. */
#define STRING_COLUMNS	   2u
#define FUNCTION_COLUMNS   3u
#define LOCATION_COLUMNS   5u
#define LINE_COLUMNS	   5u
#define NODE_COLUMNS	   6u
#define ORIGIN_COLUMNS	   3u
#define SIZE_COLUMNS	   1u
#define PROVENANCE_COLUMNS 1u
#define CGROUP_COLUMNS	   2u

/* Returns the number of columns of a kind of chunk. */
size_t table_columns(enum table_kind kind);

/* Appends, or reads, a string. The string that string_get() returns is borrowed from the column,
 * and has no NUL at its end. */
void string_put(struct buf *columns, const char *s, size_t len);
const char *string_get(struct buf_reader *columns, size_t *ret_len);

/* A function. Its strings are numbers + 1; 0: none. */
struct table_function {
	uint32_t name;
	uint32_t file;
	uint64_t start; /* file offset */
};

struct function_coder {
	uint32_t last_name; /* the largest number of a name so far */
	uint32_t last_file;
	uint64_t last_start;
};

/* Appends a function. */
void function_put(struct function_coder *c, struct buf *columns, const struct table_function *f);

/* Reads what function_put() wrote; a fault marks its column `failed`. */
struct table_function function_get(struct function_coder *c, struct buf_reader *columns);

struct location_coder {
	uint32_t last_object;
	VEC(uint64_t) last_offset; /* by object */
};

/* Frees the coder's memory, not the coder itself. */
void location_coder_fini(struct location_coder *c);
/* Appends, or reads, a location. location_put() returns 0, or -ENOMEM with nothing appended.
 * `objects`: number of objects that a location may refer to. */
int location_put(struct location_coder *c, struct buf *columns, const struct store_location *l);
int location_get(struct location_coder *c, struct buf_reader *columns, uint32_t objects,
		 struct store_location *ret_location);

/* Appends, or reads, the provenance of a location's rule. provenance_get() returns 0 or -EBADMSG.
 */
void provenance_put(struct buf *columns, uint8_t provenance);
int provenance_get(struct buf_reader *columns, uint8_t *ret_provenance);

/* The cgroup of a thread. `path` is the number of a string. */
struct table_cgroup {
	uint32_t thread, path;
};

struct cgroup_coder {
	uint32_t last_thread, last_path;
};

/* Appends the cgroup of a thread. */
void cgroup_put(struct cgroup_coder *c, struct buf *columns, const struct table_cgroup *cgroup);

/* Reads what cgroup_put() wrote; a fault marks its column `failed`. */
struct table_cgroup cgroup_get(struct cgroup_coder *c, struct buf_reader *columns);

struct table_line {
	uint32_t location, depth, function, line;
	bool is_inlined;
};

struct line_coder {
	uint32_t last_location;
	uint32_t last_function; /* the largest number of a function so far + 1 */
	uint32_t last_line;
};

/* Appends a line of a location. */
void line_put(struct line_coder *c, struct buf *columns, const struct table_line *l);

/* Reads what line_put() wrote; a fault marks its column `failed`. */
struct table_line line_get(struct line_coder *c, struct buf_reader *columns);

/* Appends, or reads, an origin. origin_get() reads its runs to *ret_runs, which has room for
 * ORIGIN_MAX_RUNS, and returns 0 or -EBADMSG. */
void origin_put(struct buf *columns, const struct origin *origin);
int origin_get(struct buf_reader *columns, struct origin_run *ret_runs, struct origin *ret_origin);

/* Node sizes, coded as the difference to the last size at the same call site. */
#define SIZE_SITES 65536u
struct size_coder {
	uint32_t last[SIZE_SITES];
};

/* Appends the size of `node`, whose parent is `parent`. */
void size_put(struct size_coder *c, struct buf *columns, const struct store_node *parent,
	      const struct store_node *node, uint32_t size);

/* Reads what size_put() wrote; a fault marks its column `failed`. */
uint32_t size_get(struct size_coder *c, struct buf_reader *columns, const struct store_node *parent,
		  const struct store_node *node);

#define NODE_RECENT 4u
struct node_recent {
	uint32_t location[NODE_RECENT]; /* the location + 1; 0: none */
};

struct node_coder {
	VEC(struct store_node) nodes;	/* [0] is the empty path */
	VEC(struct node_recent) recent; /* by the parent's location + 1 */
	uint32_t next_location;		/* the largest location so far + 1 */
};

/* Makes a coder that holds the empty path. Returns 0 or -ENOMEM. */
int node_coder_init(struct node_coder *c);

/* Frees the coder's memory, not the coder itself. */
void node_coder_fini(struct node_coder *c);

/* Appends a node. Returns 0, or -ENOMEM with nothing appended. */
int node_put(struct node_coder *c, struct buf *columns, const struct store_node *node);
/* Reads a node, and appends it to c->nodes. Returns 0; -ENOMEM; -EBADMSG: its parent is not an
 * earlier node, or its location is not below `locations`. */
int node_get(struct node_coder *c, struct buf_reader *columns, uint32_t locations);
/* Does the same for `count` nodes, but faster. */
int node_get_all(struct node_coder *c, struct buf_reader *columns, size_t count,
		 uint32_t locations);

#endif
