/* SPDX-License-Identifier: MIT */
/*
 * Reads a fleet's database (clickhouse/layout.h: the recordings of many hosts on a ClickHouse
 * server) as one recording. The server sums up the samples that the query selects, and only the
 * paths and locations of these sums are fetched. If the database is on a cluster and one of its
 * servers does not answer, the data of the other servers is read and the missing records are
 * counted.
 */
#ifndef CLICKHOUSE_FLEET_H
#define CLICKHOUSE_FLEET_H

#include "clickhouse/clickhouse.h"
#include "stack/metric.h"
#include "store/store_reader.h"

/* the name of the frame that stands for paths beyond fleet_query.most_paths, which the server has;
 * what it was not sent has another (rows/rare.h) */
#define FLEET_RARE "[rare paths]"

#define FLEET_WHY 256 /* size of a reason, with its NUL */

/* The labels by which sums are kept apart, as bits. */
enum fleet_label {
	FLEET_HOST = 1,
	FLEET_COMMAND = 2,
	FLEET_UNIT = 4,
	FLEET_CONTAINER = 8,
	FLEET_RANK = 16,
};

struct fleet_names {
	const char *const *items; /* names or patterns with * and ? */
	size_t n;		  /* 0: all */
};

struct fleet_query {
	uint64_t from_unix_ns, to_unix_ns; /* windows that overlap this time; 0: no limit */
	struct fleet_names hosts, commands, units;
	struct fleet_names with; /* labels "NAME=PATTERN", all of which samples must have */
	const char *event;	 /* only windows of this event; NULL: of the newest window's */
	enum metric metric;
	unsigned labels;
	const char *by_label; /* the name of a label by which sums are kept apart; NULL: none */
	/* the most paths whose sums are kept apart; those with the fewest records beyond that are
	 * added up, without their frames. Only if sums are kept apart by nothing, or by command. 0:
	 * all */
	uint32_t most_paths;
};

struct fleet_found {
	uint64_t windows, hosts;
	/* windows (recordings of a host) that are left out, because their event is another one than
	 * that which is shown; and the names of these events */
	uint64_t left_out;
	char events[FLEET_WHY];
	uint64_t lost_samples; /* samples whose path the server lacks; shown without frames */
	uint64_t rare;	       /* records of paths beyond the query's most_paths */
	uint64_t ambiguous;    /* paths with two definitions under one tag and alt */
	/* How many records the windows have, and how many of these the servers that answered did
	 * not have. */
	uint64_t records, missing;
	char why[FLEET_WHY];
};

/* Reads the database. Returns 0; -ENODATA: there is no window in the range; -EINVAL: the database
 * has no such tables; -EBADMSG: its data contradicts itself; or an error of clickhouse_ask(). The
 * sentence is in clickhouse_error(). */
int fleet_open(struct clickhouse *c, const struct fleet_query *query,
	       struct store_reader **ret_reader, struct fleet_found *ret_found);

#endif
