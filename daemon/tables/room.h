/* SPDX-License-Identifier: MIT */
/*
 * Allocates room for recipe tables in the kernel half's arrays of rows and chunks, and chooses the
 * tables to evict.
 *
 * A file's worth is how often walks look up its rules in ten seconds, whether they find its table
 * or miss it. The kernel half counts both (stackd_file.uses), and room_look() averages the counts
 * over time. A table that needs room takes the extent whose present tables have the lowest sum of
 * worths. So a large table that is hardly used is evicted before many small ones, or before a small
 * one that is used as much.
 *
 * Room is given to another table only after the walks that may read it have ended.
 */
#ifndef TABLES_ROOM_H
#define TABLES_ROOM_H

#include <stdbool.h>
#include <stdint.h>

struct tables_maps;
struct room;

struct room_size {
	uint32_t rows, chunks; /* numbers of elements; `chunks` includes the end entry */
};

struct room_place {
	uint32_t row, chunk; /* first elements of the table in the arrays */
};

enum room_offer {
	ROOM_IS_FREE,
	ROOM_OF_WORSE, /* the tables to be evicted are worth less than the file */
	ROOM_OF_BETTER,
};

/* Begins with empty arrays. `maps` is borrowed. 0 or -ENOMEM; the caller frees *ret_room with
 * room_free(). */
int room_new(const struct tables_maps *maps, struct room **ret_room);
void room_free(struct room *room); /* NULL is fine */

/* Averages the uses of all files, if that is due at a moment of the monotonic clock. */
void room_look(struct room *room, uint64_t now_ns);

/* Returns whether a table of this size for `file` would find free room, or which tables it would
 * have to evict. For a table larger than a whole array, ROOM_OF_BETTER. */
enum room_offer room_offer(const struct room *room, uint32_t file, struct room_size size);

/* Takes room for a file's table, which must have none. `may_evict`: evicts other tables if it must.
 * 0; -ENOSPC: there is no room; -E2BIG: the table is larger than an array, and nothing is evicted;
 * -ENOMEM. */
int room_take(struct room *room, uint32_t file, struct room_size size, bool may_evict,
	      struct room_place *ret_place);

/* Gives back the room of a file's table, which walks do not read. */
void room_give(struct room *room, uint32_t file);

/* Hides a table from walks, waits for those that may read it, and gives back its room. */
void room_drop(struct room *room, uint32_t file);

/* Takes room, without evicting, for a table that is to replace the present one of a file. Errors as
 * of room_take(). Then the caller calls either room_replaced(), once walks use the new table, to
 * give back the room of the old one; or room_not_replaced(), to give back the new room. */
int room_take_second(struct room *room, uint32_t file, struct room_size size,
		     struct room_place *ret_place);
void room_replaced(struct room *room, uint32_t file, struct room_place place);
void room_not_replaced(struct room *room, struct room_place place);

/* Waits until all walks that are running have ended. */
void room_await_walks(void);

/* Forgets how much a file's table was used: its number is another file's from now on. */
void room_forget(struct room *room, uint32_t file);

/* Return how many tables were evicted, and how many rows are taken. */
uint64_t room_evicted(const struct room *room);
uint32_t room_rows(const struct room *room);

#endif
