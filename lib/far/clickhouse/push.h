/* SPDX-License-Identifier: MIT */
/*
 * Sends recordings to a fleet's database (clickhouse/layout.h), each as a window (layout.h). A
 * window is valid as a whole or not at all, and counts once, however often it is sent.
 *
 * Before a window's rows are sent, a query finds out which of its paths and locations the server
 * has; these are not sent again. If the server has another thing with the same id, the window's
 * thing gets another alternative (rows/identity.h).
 */
#ifndef CLICKHOUSE_PUSH_H
#define CLICKHOUSE_PUSH_H

#include "clickhouse/clickhouse.h"
#include "clickhouse/upkeep.h"
#include "model/profile.h"

struct push;

struct push_counts {
	uint64_t windows; /* sent */
	uint64_t rows, bytes;
	uint64_t collisions; /* paths and locations whose id belongs to another one */
	uint64_t rare;	     /* records whose paths were not sent */
};

#define PUSH_MOST_PATHS 100000 /* of a metric of a recording */

/* Creates the tables if they are missing. Of each metric of a recording the `most_paths` most
 * frequent paths are sent (rows/rare.h); 0: all. Returns 0, -ENOMEM, or an error of
 * database_ensure(). */
int push_new(struct clickhouse *c, size_t most_paths, struct push **ret_push);
void push_free(struct push *push); /* NULL is fine */

/* Queries which of these recordings the server has. Errors are those of clickhouse_ask(). */
int push_ask(struct push *push, const struct store_recording *recordings, size_t n);

/* Returns whether the server had a recording, up to its present end, at the last push_ask(), or
 * would delete it by its age. */
bool push_has(const struct push *push, const struct store_recording *recording);

/* Makes the database keep what it has for so many days, and deletes rows that do not count; see
 * upkeep(). */
int push_keep(struct push *push, unsigned days, struct upkeep_done *ret_done);

/* Sends all of a recording. Returns 0, an error of rows_add(), or an error of clickhouse_send();
 * after a failure no part of it is valid in the database. The sentence is in clickhouse_error(); ""
 * if reading the recording failed. */
int push_add(struct push *push, struct profile *profile);

/* Returns the counts of what has been sent. */
struct push_counts push_counts(const struct push *push);

#endif
