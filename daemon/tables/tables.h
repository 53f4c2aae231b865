/* SPDX-License-Identifier: MIT */
/*
 * Loads recipe tables (the unwind rules of a file) into the kernel half's maps when a walk first
 * misses them, in a thread of its own. One table serves all processes that map the file. The memory
 * of all tables is bounded.
 *
 * The kernel half names files by number, which an object gets with its first request, as long as
 * numbers are left (file_numbers.h). Numbers of files that nobody maps any more are taken back, and
 * given to others. A walk that comes to an unknown inode, or to a file without a table, ends with a
 * record that names it; the recorder finds the object and requests its table here. When there is no
 * room, the tables that are used least are evicted (room.h). If a walk misses an evicted table, the
 * table is made again, but only if it is worth more than the tables that it would evict, and only
 * for a small share of the time (remakes.h).
 *
 * Until a table is loaded, samples carry a copy of the stack, which costs a thousand times a walk.
 * So the thread raises its priority, if it may.
 */
#ifndef TABLES_TABLES_H
#define TABLES_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/tables/table_source.h"
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
	int inodes_fd;	     /* inode key to file number; up to n_files entries */
	int interpreters_fd; /* map of interpreters by file number; -1: no managed frames */
	int cache_fd;	     /* of rules, and its size */
	uint64_t cache_bytes;
	uint32_t *numbers_ended; /* see mapping.bpf.h */
};

/* Starts the thread. The first two arguments are copied; the maps themselves must outlive the
 * tables. `cpu_share`: of a core, which making the tables of root's files may take in the long run,
 * and making those of all users' files as much again; while it is used up, requests are put off,
 * and frames are walked by the daemon. For root's 20 s can be saved, for the others' three. 0: no
 * limit. 0 or negative errno. */
int tables_new(const struct tables_maps *maps, const struct table_source *source, double cpu_share,
	       struct tables **ret_tables);
void tables_free(struct tables *tables); /* ends the thread */

/* Sets `cpu_share` from now on; unless `keeps_saved`, what was saved is given up. */
void tables_set_share(struct tables *tables, double cpu_share, bool keeps_saved);

/* Returns the number by which the kernel half names an object's file; 0: it has none. */
uint32_t tables_number(const struct tables *tables, const struct object *object);

/* Gives the object (its number) whose file has a number in a record. false: no file has it. */
bool tables_object(const struct tables *tables, uint32_t number, uint32_t *ret_object);

/* Returns the kernel half's count of look-ups in a file's table. */
uint32_t tables_uses(const struct tables *tables, uint32_t number);

/* Takes the numbers of these files back; but not of those whose table is being requested. Returns
 * false if others are still being taken back: then it does nothing. */
bool tables_end_numbers(struct tables *tables, const uint32_t *numbers, size_t count);

/* Makes numbers that were taken back free, if no record on its way can have them. `done_ns`: all
 * records that began before were handed out. */
void tables_free_numbers(struct tables *tables, uint64_t done_ns);

/* Drops all tables, so that rules get their numbers anew. Tables are made again when walks miss
 * them. Returns false if numbers of files are being taken back: then it does nothing. */
bool tables_begin_rules(struct tables *tables);

/* Requests an object's table. `key` is the object's inode, which the thread then enters into the
 * kernel half's map of inodes; NULL: only the table. The object is borrowed. Repeated requests are
 * cheap. 0 or -ENOMEM. */
int tables_want(struct tables *tables, const struct object *object, const struct stackd_inode *key);

/* Requests an object's table before a walk has missed it: the thread loads it once no request of
 * tables_want() is pending, if there is room without evicting another table. `key` and result as
 * for tables_want(). */
int tables_prepare(struct tables *tables, const struct object *object,
		   const struct stackd_inode *key);

/* Waits until no request of an object's table is pending, and no longer than `until_ns`
 * (CLOCK_MONOTONIC). Returns whether none is. Not for the main loop, which must not wait. */
bool tables_await(struct tables *tables, const struct object *object, uint64_t until_ns);

/* Gives the file number, and the offset in the file, of the slice by which a record names a short
 * frame (stackd_abi.h). false: there is no such slice. */
bool tables_slice(const struct tables *tables, uint32_t slice, uint32_t *ret_file,
		  uint64_t *ret_offset);

/* Returns the provenance of the rule at an object's file offset, in a table that walks have used.
 */
enum provenance tables_provenance(const struct tables *tables, const struct object *object,
				  uint64_t offset);

/* Returns the interpreter that an object's file has, by a table that was made of it; NULL: none is
 * known. It lives as long as the tables. */
const struct stackd_interpreter *tables_interpreter(const struct tables *tables,
						    const struct object *object);

/* Returns what a runtime's machine needs of an object's file (runtime/runtime.h), by a table that
 * was made of it; NULL: none is known. It lives as long as the tables. */
const struct runtime_layout *tables_layout(const struct tables *tables,
					   const struct object *object);

/* Gives the unwind rule at an object's file offset, whatever it was made from; STACKD_CFA_NONE:
 * there is none. 0; -EAGAIN: the table is not loaded; it was requested now, or is put off
 * (tables_put_off()); -ENOMEM. */
int tables_rule(struct tables *tables, const struct object *object, uint64_t offset,
		struct stackd_rule *ret_rule);

/* Returns whether an object's table is loaded, or the object is known to have none. */
bool tables_have(const struct tables *tables, const struct object *object);

/* Returns whether an object's table was evicted and is not made again for now (remakes.h), or
 * cannot be made, since the file was changed: records that miss it must not wait for it. */
bool tables_put_off(struct tables *tables, const struct object *object);

struct tables_counts {
	uint64_t loaded, evicted, refused; /* tables loaded and evicted; files refused: no room
					    */
	uint64_t remade;		   /* of `loaded`: tables that were loaded before */
	uint64_t put_off;		   /* requests of evicted tables that were turned down */
	uint64_t rows, rules;
	uint64_t files;	       /* numbers of files that are not free */
	uint64_t ended;	       /* numbers of files that were taken back */
	uint64_t unnumbered;   /* requests of files for which no number was left */
	uint64_t inodes;       /* entries in the kernel half's map of inodes */
	uint64_t most_files;   /* room for files, and for inodes */
	uint64_t runtime_rows; /* rows of `loaded` that come from tables of runtimes (Go's), before
				* merging */
	uint64_t refused_entries[RECIPE_REFUSED_COUNT]; /* files, or parts of files, that got no
							 * rules, by reason */
	uint64_t compile_ns;
	uint64_t unread; /* files with an interpreter whose managed frames are not read */
};
/* Gives the counters as of the last request that was served. */
void tables_counts(struct tables *tables, struct tables_counts *ret_counts);

#endif
