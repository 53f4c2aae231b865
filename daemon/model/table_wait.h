/* SPDX-License-Identifier: MIT */
/*
 * Holds a record and all younger ones back while the table that its walk has missed is made.
 *
 * The daemon walks the first samples of a file itself, and finds rules of call frame information at
 * once. Rules of other code come from the tables, which take a while for a large file: ten
 * megabytes a second. Without them, a walk goes by the instructions around each frame
 * (unwind/runtime_code.h), which give a rule less often.
 */
#ifndef MODEL_TABLE_WAIT_H
#define MODEL_TABLE_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#define TABLE_WAIT_NS	 UINT64_C(4000000000) /* at most, until a record awaits none */
#define TABLE_WAIT_BYTES (UINT64_C(16) << 20) /* no longer once records of so many bytes wait */

struct table_wait { /* zeroed: nothing is held */
	uint64_t since_ns;
};

/* Whether a record is to be held on, at a moment of the monotonic clock. `awaits`: its table is
 * being made. */
bool table_wait_goes_on(struct table_wait *wait, bool awaits, uint64_t now_ns,
			uint64_t waiting_bytes);

#endif
