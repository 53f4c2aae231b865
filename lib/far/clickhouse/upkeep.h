/* SPDX-License-Identifier: MIT */
/*
 * The age of what a fleet's database keeps, and the rows in it that do not count: those of pushes
 * that were interrupted, or that a later one has replaced.
 */
#ifndef CLICKHOUSE_UPKEEP_H
#define CLICKHOUSE_UPKEEP_H

#include "clickhouse/cluster.h"

#define UPKEEP_MAX_DAYS 10000

struct upkeep_done {
	bool is_set;	 /* the servers delete old days by themselves from now on */
	uint64_t days;	 /* days of tables that were deleted, on servers that do not */
	uint64_t pushes; /* whose rows the servers are deleting */
};

/* Makes all servers keep windows, and what they need, for so many days, at most UPKEEP_MAX_DAYS: by
 * the tables' own TTL, or, on a server that has none, by deleting what is older now. Then has them
 * delete rows that have not counted for a day. Returns 0 or an error of clickhouse_ask(). The
 * sentence is in clickhouse_error() of the connection that the cluster was opened with. */
int upkeep(struct cluster *cluster, unsigned days, struct upkeep_done *ret_done);

#endif
