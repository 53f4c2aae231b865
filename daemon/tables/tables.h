/* SPDX-License-Identifier: MIT */
/*
 * The recipe tables in the kernel: loaded when a walk first misses them, by a thread of their own
 * (off the hot path), shared by all processes that map a file, bounded in memory.
 *
 * The kernel half names files by number; a file's number is its object's number plus one. A walk
 * that meets an unknown inode, or a file without a table, ends in a record that says so; the
 * recorder finds the object and asks for it here. When there is no room, the file that was used
 * least since the last time is evicted; it comes back when it is next missed.
 *
 * Until a table is there, samples come with a copy of the stack, which costs a thousand times a
 * walk. So the thread goes before others of the same CPU, if it may.
 */
#ifndef TABLES_TABLES_H
#define TABLES_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proc/object.h"
#include "unwind/recipe.h"
#include "stackd_abi.h"

struct tables;

/* The kernel half's maps: the arrays mapped into this process, and the map of inodes. */
struct tables_maps {
	int rows_fd;
	uint32_t n_rows;
	int chunks_fd;
	uint32_t n_chunks;
	struct stackd_rule *rules; /* 65,536 */
	struct stackd_file *files;
	uint32_t n_files;
	int inodes_fd;
};

/* Starts the thread. 0 or negative errno. */
int tables_new(const struct tables_maps *maps, struct tables **ret_tables);
void tables_free(struct tables *tables); /* ends the thread */

/* Asks for an object's table, and for its inode to be known (`key` NULL: it is, or is not). Asking
 * again costs little. 0 or -ENOMEM. */
int tables_want(struct tables *tables, const struct object *object, const struct stackd_inode *key);

/* Says that walks will probably come to an object: its table is loaded when nothing is asked for,
 * if there is room for it without evicting another. 0 or -ENOMEM. */
int tables_prepare(struct tables *tables, const struct object *object);

/* The file number and offset of a short frame's segment. false: no such segment. */
bool tables_segment(const struct tables *tables, uint32_t segment, uint32_t *ret_file,
		    uint64_t *ret_offset);

struct tables_counts {
	uint64_t loaded, evicted, refused; /* files; refused: no room, or too many */
	uint64_t rows, rules;
	uint64_t refused_entries[RECIPE_REFUSED_COUNT]; /* files and parts of them, by reason */
	uint64_t compile_ns;
};
/* As of the last request that has been served. */
void tables_counts(struct tables *tables, struct tables_counts *ret_counts);

#endif
