/* SPDX-License-Identifier: MIT */
/*
 * The servers of a fleet's database: the server of the URL or, if the URL names a cluster or the
 * tables belong to one, all servers of the cluster.
 *
 * stackctl creates the tables on each server. It writes the tables that are complete on every
 * server (clickhouse/layout.h) to one server after the other, always in the cluster's order. So all
 * servers have at least what the last server has, whichever writer wrote it, even if writers were
 * interrupted. Samples go to the server of the URL, which distributes them to the shards.
 *
 * Servers are reached by their names in the cluster's configuration, at the port of the URL.
 * ClickHouse's own way to do this (ON CLUSTER) was rejected, because it needs ZooKeeper or Keeper.
 */
#ifndef CLICKHOUSE_CLUSTER_H
#define CLICKHOUSE_CLUSTER_H

#include "clickhouse/clickhouse.h"
#include "clickhouse/database.h"

struct cluster;

/* Finds the servers, and creates the tables that they lack. The connection is borrowed. Returns 0;
 * -EINVAL: there is no such cluster, or the tables belong to another cluster or have another
 * layout; or an error of clickhouse_ask(). The sentence is in clickhouse_error(c). */
int cluster_open(struct clickhouse *c, struct cluster **ret_cluster);
void cluster_free(struct cluster *cluster); /* NULL is fine */

/* Returns the connection to the server of the URL. */
struct clickhouse *cluster_asked(const struct cluster *cluster);

/* Returns for how many days the servers keep windows; 0: for ever, or it is not known. */
unsigned cluster_keep_days(const struct cluster *cluster);

/* Calls a function with each server, in the cluster's order, until one call fails. Returns its
 * error, whose sentence is then that of the server of the URL. */
int cluster_each(struct cluster *cluster,
		 int (*each)(struct clickhouse *c, const struct database *database, void *arg),
		 void *arg);

/* Runs a query on the last server, as clickhouse_ask() does. */
int cluster_ask(struct cluster *cluster, const char *query, const struct buf *ids,
		struct buf *ret_answer);

/* Sends rows of a table, as clickhouse_send() does: rows of tables that are complete on every
 * server (clickhouse/layout.h) to all servers, others to the server of the URL. After a failure,
 * some servers may have the rows. */
int cluster_send(struct cluster *cluster, int table, const char *query, const struct buf *data);

/* Runs a statement on all servers, in the cluster's order, as clickhouse_execute() does. */
int cluster_execute(struct cluster *cluster, const struct buf *statement);

#endif
