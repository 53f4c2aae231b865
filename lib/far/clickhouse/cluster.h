/* SPDX-License-Identifier: MIT */
/*
 * The servers that a fleet's database is on: the one of its URL or, where that names a cluster or
 * its tables are of one, all of these.
 *
 * stackctl makes the tables of each server, and writes those that are whole everywhere
 * (clickhouse/layout.h) to one server after the other, always in the cluster's order. So what the
 * last one has all have, whoever has written it, and however far another got. Samples go to the
 * server of the URL, which gives each shard its own.
 *
 * They are reached by the names that the cluster's configuration has, at the port of the URL. What
 * the engine has for that itself (ON CLUSTER) wants ZooKeeper or Keeper.
 */
#ifndef CLICKHOUSE_CLUSTER_H
#define CLICKHOUSE_CLUSTER_H

#include "clickhouse/clickhouse.h"

struct cluster;

/* Finds the servers, and makes their tables. The connection is borrowed. 0; -EINVAL: there is no
 * such cluster, or the tables are of another one or another layout; or an error of
 * clickhouse_ask(). The sentence is in clickhouse_error(c). */
int cluster_open(struct clickhouse *c, struct cluster **ret_cluster);
void cluster_free(struct cluster *cluster); /* NULL is fine */

/* Asks the last server, as clickhouse_ask(). */
int cluster_ask(struct cluster *cluster, const char *query, const struct buf *ids,
		struct buf *ret_answer);

/* Sends rows of a table (clickhouse/layout.h) to all servers that shall have them, as
 * clickhouse_send(). After a failure some may have them. */
int cluster_send(struct cluster *cluster, int table, const char *query, const struct buf *data);

#endif
