/* SPDX-License-Identifier: MIT */
/*
 * Holds a record back while the table is made that it has missed, and all younger ones.
 *
 * The daemon walks the first samples of a file itself, and finds rules of call frame information at
 * once. Those of code without it come from the tables, which take a while for a large file: ten
 * megabytes a second. Records that are handed out earlier are walked by what the code around a
 * frame tells (unwind/runtime_code.h), which is less.
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
