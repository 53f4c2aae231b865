/* SPDX-License-Identifier: MIT */
/*
 * Sends recordings to a fleet's database (clickhouse/layout.h), each as a window that counts as a
 * whole or not at all, and once, however often it is sent.
 *
 * Before a window's rows are sent, the server is asked which of its paths and locations it has:
 * these are not sent again, and an id that is another thing's there gets another alternative.
 */
#ifndef CLICKHOUSE_PUSH_H
#define CLICKHOUSE_PUSH_H

#include "clickhouse/clickhouse.h"
#include "model/profile.h"

struct push;

struct push_counts {
	uint64_t windows; /* that were sent */
	uint64_t rows, bytes;
	uint64_t collisions; /* paths and locations with an id that another one has */
};

/* Makes the tables if need be. 0, -ENOMEM, or an error of layout_ensure(). */
int push_new(struct clickhouse *c, struct push **ret_push);
void push_free(struct push *push); /* NULL is fine */

/* Asks which of these recordings the server has. Errors of clickhouse_ask(). */
int push_ask(struct push *push, const struct store_recording *recordings, size_t n);

/* Returns whether the server has a recording as far as it goes, by the last push_ask(). */
bool push_has(const struct push *push, const struct store_recording *recording);

/* Sends a recording: all of it. 0, an error of rows_add(), or of clickhouse_send(); on failure
 * nothing of it counts. The sentence is in clickhouse_error(), "" if the reading failed. */
int push_add(struct push *push, struct profile *profile);

/* Returns what has been sent. */
struct push_counts push_counts(const struct push *push);

#endif
