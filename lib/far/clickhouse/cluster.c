/* SPDX-License-Identifier: MIT */
/* Finds and writes to the servers of a fleet's database; see cluster.h. */
#include "clickhouse/cluster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/vec.h"
#include "clickhouse/database.h"
#include "clickhouse/layout.h"

struct cluster {
	struct clickhouse *asked; /* the server of the URL; borrowed */
	char *name;		  /* the cluster's name; NULL: there is no cluster */
	VEC(struct clickhouse *) servers;
	struct database *databases; /* by server */
};

void cluster_free(struct cluster *cluster)
{
	if (!cluster)
		return;
	for (size_t i = 0; i < cluster->servers.count; i++)
		if (cluster->servers.items[i] != cluster->asked)
			clickhouse_free(cluster->servers.items[i]);
	free(cluster->servers.items);
	free(cluster->databases);
	free(cluster->name);
	free(cluster);
}

/* --- which it is ------------------------------------------------------------------------------ */

/* Finds the name of the cluster: that of the existing tables, or if there are no tables yet, the
 * one in the URL. It is an error if both exist and differ. */
static int find_name(struct cluster *cluster)
{
	const char *named = clickhouse_cluster(cluster->asked);
	int err = database_cluster(cluster->asked, &cluster->name);

	if (err < 0 || !named)
		return err;
	if (cluster->name && strcmp(cluster->name, named) != 0)
		return clickhouse_fail(cluster->asked, -EINVAL,
				       "its tables are of the cluster '%s', and not of '%s'",
				       cluster->name, named);
	if (!cluster->name)
		cluster->name = strdup(named);
	return cluster->name ? 0 : -ENOMEM;
}

static int add_server(struct cluster *cluster, struct clickhouse *server)
{
	int err = VEC_RESERVE(&cluster->servers, 1);

	if (err == 0)
		cluster->servers.items[cluster->servers.count++] = server;
	return err;
}

static int take_servers(struct cluster *cluster, struct buf *answer)
{
	char *rest;
	int err = 0;

	buf_put_u8(answer, '\0');
	if (answer->failed)
		return -ENOMEM;
	for (char *host = strtok_r((char *)answer->data, "\n", &rest); err == 0 && host;
	     host = strtok_r(NULL, "\n", &rest)) {
		struct clickhouse *server;

		err = clickhouse_new_beside(cluster->asked, host, &server);
		if (err < 0)
			break;
		err = add_server(cluster, server);
		if (err < 0)
			clickhouse_free(server);
	}
	if (err == 0 && !cluster->servers.count)
		return clickhouse_fail(
			cluster->asked, -EINVAL,
			"the server's configuration has no cluster '%s' "
			"(<remote_servers>; SELECT cluster FROM system.clusters lists them)",
			cluster->name);
	return err;
}

static int find_servers(struct cluster *cluster)
{
	struct buf query = {0}, answer = {0};
	int err;

	text_put_raw(&query, "SELECT host_name FROM system.clusters WHERE cluster = '");
	text_put_raw(&query, cluster->name);
	text_put_raw(&query, "' ORDER BY shard_num, replica_num FORMAT TabSeparatedRaw");
	buf_put_u8(&query, '\0');
	err = query.failed
		      ? -ENOMEM
		      : clickhouse_ask(cluster->asked, (const char *)query.data, NULL, &answer);
	if (err == 0)
		err = take_servers(cluster, &answer);
	buf_free(&query);
	buf_free(&answer);
	return err;
}

static int make_tables(struct cluster *cluster)
{
	int err = 0;

	cluster->databases = calloc(cluster->servers.count, sizeof(*cluster->databases));
	if (!cluster->databases)
		return -ENOMEM;
	for (size_t i = 0; err == 0 && i < cluster->servers.count; i++) {
		struct clickhouse *server = cluster->servers.items[i];

		err = clickhouse_fail_as(
			cluster->asked,
			database_ensure(server, cluster->name, &cluster->databases[i]), server);
	}
	return err;
}

/* Checks that the server of the URL is one of the cluster: then it has the cluster's tables by
 * now. */
static int check_asked(struct cluster *cluster)
{
	char *name;
	int err = database_cluster(cluster->asked, &name);

	if (err == 0 && !name)
		err = clickhouse_fail(
			cluster->asked, -EINVAL,
			"the server is not part of the cluster '%s': name one of its servers",
			cluster->name);
	free(name);
	return err;
}

int cluster_open(struct clickhouse *c, struct cluster **ret_cluster)
{
	struct cluster *cluster = calloc(1, sizeof(*cluster));
	int err;

	if (!cluster)
		return -ENOMEM;
	cluster->asked = c;
	err = find_name(cluster);
	if (err == 0)
		err = cluster->name ? find_servers(cluster) : add_server(cluster, c);
	if (err == 0)
		err = make_tables(cluster);
	if (err == 0 && cluster->name)
		err = check_asked(cluster);
	if (err == 0 && cluster->name)
		clickhouse_set(c, CLICKHOUSE_WAIT_FOR_SHARDS);
	if (err < 0)
		cluster_free(cluster);
	else
		*ret_cluster = cluster;
	return err;
}

/* --- requests --------------------------------------------------------------------------------- */

struct clickhouse *cluster_asked(const struct cluster *cluster)
{
	return cluster->asked;
}

unsigned cluster_keep_days(const struct cluster *cluster)
{
	return cluster->databases[0].keep_days;
}

int cluster_each(struct cluster *cluster,
		 int (*each)(struct clickhouse *c, const struct database *database, void *arg),
		 void *arg)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < cluster->servers.count; i++) {
		struct clickhouse *server = cluster->servers.items[i];

		err = clickhouse_fail_as(cluster->asked, each(server, &cluster->databases[i], arg),
					 server);
	}
	return err;
}

int cluster_ask(struct cluster *cluster, const char *query, const struct buf *ids,
		struct buf *ret_answer)
{
	struct clickhouse *last = cluster->servers.items[cluster->servers.count - 1];

	return clickhouse_fail_as(cluster->asked, clickhouse_ask(last, query, ids, ret_answer),
				  last);
}

int cluster_send(struct cluster *cluster, int table, const char *query, const struct buf *data)
{
	int err = 0;

	if (table == ROWS_SAMPLES)
		return clickhouse_send(cluster->asked, query, data);
	for (size_t i = 0; err == 0 && i < cluster->servers.count; i++) {
		struct clickhouse *server = cluster->servers.items[i];

		err = clickhouse_fail_as(cluster->asked, clickhouse_send(server, query, data),
					 server);
	}
	return err;
}

int cluster_execute(struct cluster *cluster, const struct buf *statement)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < cluster->servers.count; i++) {
		struct clickhouse *server = cluster->servers.items[i];

		err = clickhouse_fail_as(cluster->asked, clickhouse_execute(server, statement),
					 server);
	}
	return err;
}
