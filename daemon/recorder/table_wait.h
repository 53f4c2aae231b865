/* SPDX-License-Identifier: MIT */
/*
 * Holds back a record, and all younger ones, while the daemon makes the table that its walk has
 * missed.
 *
 * The daemon walks the first samples of a file itself, and reads call frame information for them at
 * once. Rules of code without it come from the tables, which take a while for a large file:
 * analysis does about ten megabytes a second. Without the table, a walk uses the instructions
 * around each frame (unwind/runtime_code.h), which give a rule less often.
 */
#ifndef RECORDER_TABLE_WAIT_H
#define RECORDER_TABLE_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#define TABLE_WAIT_NS	 UINT64_C(4000000000) /* after this long, no record is held back */
#define TABLE_WAIT_BYTES (UINT64_C(16) << 20) /* nor if so many bytes of records wait */

struct table_wait { /* zeroed: nothing is held back */
	uint64_t since_ns;
};

/* Returns whether a record is held back at a moment of the monotonic clock. `awaits`: its table is
 * being made. */
bool table_wait_goes_on(struct table_wait *wait, bool awaits, uint64_t now_ns,
			uint64_t waiting_bytes);

#endif
