/* SPDX-License-Identifier: MIT */
/* Encodes the lines of a location (struct store_line: its function, file and line, one for each
 * inlined call) as bytes, in the worker, and decodes them in stackd. */
#ifndef WORKER_NAME_WIRE_H
#define WORKER_NAME_WIRE_H

#include "base/buf.h"
#include "store/store.h"

#define NAME_WIRE_MAX_LINES 64
#define NAME_WIRE_MAX_BYTES (64u << 10) /* longest string; longer ones are cut */

/* Appends a line. */
void name_wire_put(const struct store_line *line, struct buf *bytes);

/* Calls `each` with each line, of `location`; strings are valid during the call. The bytes are not
 * trusted. Returns 0, -EBADMSG, or the nonzero result of `each`. */
int name_wire_get(struct buf_reader *bytes, uint32_t location,
		  int (*each)(void *arg, const struct store_line *line), void *arg);

#endif
