/* SPDX-License-Identifier: MIT */
/*
 * The tables that a server's database has: finds, checks, makes and upgrades them.
 *
 * A database of an older version is upgraded by the first push of a newer stackctl, in place, and
 * can be read before that: readers read the version of LAYOUT_VERSION and the one before. Columns
 * and tables that were added by others are left alone.
 */
#ifndef CLICKHOUSE_DATABASE_H
#define CLICKHOUSE_DATABASE_H

#include "clickhouse/clickhouse.h"

struct database {
	unsigned version;   /* of the tables; 0: there are none */
	bool is_cluster;    /* samples may be on other servers, too */
	bool has_ttl;	    /* the server can delete rows by their age */
	unsigned keep_days; /* for which it keeps windows; 0: for ever, or not known */
};

/* Finds the cluster over which the table of samples is distributed. *ret_cluster receives its name,
 * which the caller frees, or NULL if there is no cluster or no such table. Returns 0; -EINVAL: the
 * table is distributed in another way than database_ensure() does it; -ENOMEM; or an error of
 * clickhouse_ask(). The sentence is in clickhouse_error(). */
int database_cluster(struct clickhouse *c, char **ret_cluster);

/* Creates the missing tables and views, for a single server (`cluster` NULL) or for a server of a
 * cluster, upgrades tables of an older version, and checks that the others have this layout.
 * Returns 0; -EINVAL: they have another layout, or are of a newer version; -EAGAIN: another process
 * is upgrading them; or an error of clickhouse_ask(). The sentence is in clickhouse_error(). */
int database_ensure(struct clickhouse *c, const char *cluster, struct database *ret_database);

/* Checks that the tables exist and can be read, and changes none. Errors as database_ensure();
 * -EINVAL also if a table is missing. */
int database_check(struct clickhouse *c, struct database *ret_database);

#endif
