/* SPDX-License-Identifier: MIT */
/*
 * Decides how long a record, and all younger ones, are held back while the daemon makes the recipe
 * table that the record's walk has missed.
 *
 * The daemon walks the first samples in a file itself, and reads the file's call frame information
 * for them at once. For code without call frame information it takes rules from the table, which is
 * made by analysing the code: about ten megabytes a second. Without the table, a walk derives rules
 * from the instructions around each frame (unwind/runtime_code.h), which succeeds less often.
 *
 * Where many tables are missed one after the other, each of these waits is short enough, and all of
 * them together are not: the end of a recording would take minutes. So they have a limit, too.
 */
#ifndef RECORDER_TABLE_WAIT_H
#define RECORDER_TABLE_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#define TABLE_WAIT_NS	  UINT64_C(4000000000)	/* after this long, no record is held back */
#define TABLE_WAIT_BYTES  (UINT64_C(16) << 20)	/* nor if so many bytes of records are queued */
#define TABLE_WAIT_ALL_NS UINT64_C(12000000000) /* nor if one after another was, for so long */

struct table_wait { /* zeroed: nothing is held back */
	uint64_t since_ns;
	uint64_t done_ns; /* how long records were held back that are not any more */
};

/* Returns whether the oldest record is held back. `awaits`: its table is being made; `now_ns`:
 * CLOCK_MONOTONIC; `waiting_bytes`: bytes of all records in the queue. */
bool table_wait_goes_on(struct table_wait *wait, bool awaits, uint64_t now_ns,
			uint64_t waiting_bytes);

/* All records have been handed out, so nothing is late: further ones may be held back anew. */
void table_wait_forget(struct table_wait *wait);

#endif
