/* SPDX-License-Identifier: MIT */
/*
 * When tables that were made before may be made again.
 *
 * Where the tables of the programs that run do not all fit, each would be missed, made and evict
 * another without end, and a large one takes seconds. So what is made again is paid for with time
 * that passes: 5 ms a second, of which two seconds can be saved up. A table that was made lately,
 * or was turned down, waits, the longer the more often it is turned down in a row. Walks of the
 * file end in copies of stacks meanwhile, which the daemon finishes.
 *
 * Times are of the monotonic clock. Files are numbers, below the number that was given.
 */
#ifndef TABLES_REMAKES_H
#define TABLES_REMAKES_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/tables/room.h"

#define REMAKES_PAUSE_NS  UINT64_C(10000000000) /* between two makings of one table, at least */
#define REMAKES_SHARE	  200			/* of the time, one part is for remaking */
#define REMAKES_SAVED_NS  UINT64_C(2000000000)	/* at most */
#define REMAKES_MOST_WAIT (REMAKES_PAUSE_NS << 4)

struct remakes;

/* With all that can be saved up. 0 or -ENOMEM; the caller frees it with remakes_free(). */
int remakes_new(uint32_t n_files, struct remakes **ret_remakes);
void remakes_free(struct remakes *remakes); /* NULL is fine */

/* Gives the size of a file's table, if it was made before; else false. */
bool remakes_size(const struct remakes *remakes, uint32_t file, struct room_size *ret_size);

/* Whether a file's table was loaded before. */
bool remakes_was_loaded(const struct remakes *remakes, uint32_t file);

/* Whether a file's table, which was made before, may be made now. */
bool remakes_may(struct remakes *remakes, uint32_t file, uint64_t now_ns);

/* A table was made, in so much time, and loaded or not: a later one waits. */
void remakes_made(struct remakes *remakes, uint32_t file, struct room_size size, uint64_t spent_ns,
		  bool is_loaded, uint64_t now_ns);

/* Takes time that was spent on a file's table from what is saved up, if it had been loaded. */
void remakes_spend(struct remakes *remakes, uint32_t file, uint64_t spent_ns, uint64_t now_ns);

/* A file's table must wait. */
void remakes_put_off(struct remakes *remakes, uint32_t file, uint64_t now_ns);

/* Whether a file's table was put off, and still waits. */
bool remakes_is_put_off(const struct remakes *remakes, uint32_t file, uint64_t now_ns);

#endif
