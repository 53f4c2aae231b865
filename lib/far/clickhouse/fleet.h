/* SPDX-License-Identifier: MIT */
/*
 * Reads a fleet's database (clickhouse/layout.h) as a recording: the server adds the samples up
 * that are asked for, and only the paths and locations of these are fetched. Where it is on a
 * cluster and a server of that does not answer, what the others have is read, and what is missing
 * counted.
 */
#ifndef CLICKHOUSE_FLEET_H
#define CLICKHOUSE_FLEET_H

#include "clickhouse/clickhouse.h"
#include "stack/metric.h"
#include "store/store_reader.h"

#define FLEET_WHY 256 /* bytes of a reason, with its end */

/* What sums are kept apart by: bits. */
enum fleet_label {
	FLEET_HOST = 1,
	FLEET_COMMAND = 2,
	FLEET_UNIT = 4,
	FLEET_CONTAINER = 8,
	FLEET_RANK = 16,
};

struct fleet_query {
	uint64_t from_unix_ns, to_unix_ns; /* windows that go on in this time; 0: no limit */
	const char *const *hosts;	   /* names or patterns with * and ?; none: all */
	size_t n_hosts;
	enum metric metric;
	unsigned labels;
};

struct fleet_found {
	uint64_t windows, hosts;
	uint64_t left_out;     /* windows of another event than the newest has */
	uint64_t lost_samples; /* whose path the server does not have: they are shown without one */
	uint64_t ambiguous;    /* paths that have two definitions under one tag and alt */
	/* Records that the windows have, and those of them that no server had that answered: none,
	 * unless the database is on several. Why, as half a sentence, where that is known. */
	uint64_t records, missing;
	char why[FLEET_WHY];
};

/* Reads. 0; -ENODATA: there is no window; -EINVAL: the database has no such tables; -EBADMSG: what
 * it has is not possible; or an error of clickhouse_ask(). The sentence is in clickhouse_error().
 */
int fleet_open(struct clickhouse *c, const struct fleet_query *query,
	       struct store_reader **ret_reader, struct fleet_found *ret_found);

#endif
