/* SPDX-License-Identifier: MIT */
/*
 * Decides when a table that was made before may be made again.
 *
 * If there is no room for the tables of all running programs, walks would miss one, which would be
 * made and evict another one, without end; and to make a large table takes seconds. So making
 * tables again has a budget of time: 5 ms a second, of which up to two seconds can be saved. A
 * table that was made lately is not made again for a while. Nor is a table whose request was
 * refused (put off), and for longer, the more often in a row that has happened. Meanwhile walks in
 * that file end with copies of stacks, which the daemon walks.
 *
 * Times are of the monotonic clock. Files are numbers below `n_files`.
 */
#ifndef TABLES_REMAKES_H
#define TABLES_REMAKES_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/tables/room.h"

#define REMAKES_PAUSE_NS  UINT64_C(10000000000) /* shortest time before a table is made again */
#define REMAKES_SHARE	  200			/* remaking may use one second in so many */
#define REMAKES_SAVED_NS  UINT64_C(2000000000)	/* most time that can be saved */
#define REMAKES_MOST_WAIT (REMAKES_PAUSE_NS << 4)

struct remakes;

/* Begins with the full budget. 0 or -ENOMEM; the caller frees it with remakes_free(). */
int remakes_new(uint32_t n_files, struct remakes **ret_remakes);
void remakes_free(struct remakes *remakes); /* NULL is fine */

/* Gives the size of a file's table. false: the table was not made before. */
bool remakes_size(const struct remakes *remakes, uint32_t file, struct room_size *ret_size);

/* Returns whether a file's table was loaded before. */
bool remakes_was_loaded(const struct remakes *remakes, uint32_t file);

/* Returns whether a file's table, which was made before, may be made again now. */
bool remakes_may(struct remakes *remakes, uint32_t file, uint64_t now_ns);

/* Notes that a table was made, in spent_ns, and whether it was loaded. It may not be made again for
 * REMAKES_PAUSE_NS. */
void remakes_made(struct remakes *remakes, uint32_t file, struct room_size size, uint64_t spent_ns,
		  bool is_loaded, uint64_t now_ns);

/* Takes the time `spent_ns`, which was spent on a file's table, from the budget, if that table had
 * been loaded before. */
void remakes_spend(struct remakes *remakes, uint32_t file, uint64_t spent_ns, uint64_t now_ns);

/* Refuses the request of a file's table for now: remakes_is_put_off() is true for a while. */
void remakes_put_off(struct remakes *remakes, uint32_t file, uint64_t now_ns);

/* Returns whether a request of a file's table was put off by remakes_put_off(), and that time is
 * not over. */
bool remakes_is_put_off(const struct remakes *remakes, uint32_t file, uint64_t now_ns);

/* Forgets a file's table: its number is another file's from now on, or no table is loaded any
 * more. */
void remakes_forget(struct remakes *remakes, uint32_t file);

#endif
