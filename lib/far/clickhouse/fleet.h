/* SPDX-License-Identifier: MIT */
/*
 * Reads a fleet's database (clickhouse/layout.h) as a recording. The server sums up the samples
 * that are asked for, and only their paths and locations are fetched. If the database is on a
 * cluster and one of its servers does not answer, the data of the others is read and the missing
 * records are counted.
 */
#ifndef CLICKHOUSE_FLEET_H
#define CLICKHOUSE_FLEET_H

#include "clickhouse/clickhouse.h"
#include "stack/metric.h"
#include "store/store_reader.h"

#define FLEET_WHY 256 /* size of a reason, with its NUL */

/* The labels by which sums are kept apart, as bits. */
enum fleet_label {
	FLEET_HOST = 1,
	FLEET_COMMAND = 2,
	FLEET_UNIT = 4,
	FLEET_CONTAINER = 8,
	FLEET_RANK = 16,
};

struct fleet_query {
	uint64_t from_unix_ns, to_unix_ns; /* windows that overlap this time; 0: no limit */
	const char *const *hosts;	   /* names or patterns with * and ?; none: all */
	size_t n_hosts;
	enum metric metric;
	unsigned labels;
};

struct fleet_found {
	uint64_t windows, hosts;
	/* windows left out, since their event is not that of the newest window */
	uint64_t left_out;
	uint64_t lost_samples; /* samples whose path the server lacks; shown without frames */
	uint64_t ambiguous;    /* paths with two definitions under one tag and alt */
	/* How many records the windows have, and how many of them no server that answered had (only
	 * in a cluster). */
	uint64_t records, missing;
	char why[FLEET_WHY];
};

/* Reads the database. Returns 0; -ENODATA if there is no window; -EINVAL if the database has no
 * such tables; -EBADMSG if its data contradicts itself; or an error of clickhouse_ask(). The
 * sentence is in clickhouse_error(). */
int fleet_open(struct clickhouse *c, const struct fleet_query *query,
	       struct store_reader **ret_reader, struct fleet_found *ret_found);

#endif
