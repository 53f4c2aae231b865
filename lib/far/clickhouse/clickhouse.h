/* SPDX-License-Identifier: MIT */
/*
 * A database of a ClickHouse server, over its HTTP interface.
 *
 * Every failure has a sentence for the user, which names the server, what is wrong, and what can be
 * done about it; it never has the password.
 */
#ifndef CLICKHOUSE_CLICKHOUSE_H
#define CLICKHOUSE_CLICKHOUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define CLICKHOUSE_SCHEME     "clickhouse://"  /* port 8123 */
#define CLICKHOUSE_SCHEME_TLS "clickhouses://" /* by TLS, port 8443 */

struct clickhouse;

struct clickhouse_options {
	const char *url;	     /* clickhouse://[USER@]HOST[:PORT]/DATABASE[?cluster=NAME] */
	const char *user, *password; /* NULL: the URL's user, or the server's default one */
	const char *authority;	     /* file with authorities of TLS; NULL: the system's */
	unsigned timeout_s;	     /* for so long nothing may come or go; 0: HTTP_STALLED_S */
};

/* Returns whether a name is the URL of such a database, right or wrong. */
bool clickhouse_is_url(const char *name);

/* Makes a connection to be; nothing is asked yet. 0; -EINVAL: the URL is none; -ENOSYS: libcurl is
 * not installed; -ENOMEM. On failure *ret_error is a malloc()ed sentence, or NULL without memory.
 */
int clickhouse_new(const struct clickhouse_options *options, struct clickhouse **ret_clickhouse,
		   char **ret_error);
void clickhouse_free(struct clickhouse *c); /* NULL is fine */

/* Makes a connection to the database of the same name on another host, at the same port and as the
 * same user. 0 or -ENOMEM. */
int clickhouse_new_beside(const struct clickhouse *c, const char *host,
			  struct clickhouse **ret_clickhouse);

/* Returns the server and database for messages: "clickhouse://host:8123/db". */
const char *clickhouse_name(const struct clickhouse *c);

/* Returns the database's name alone. */
const char *clickhouse_database(const struct clickhouse *c);

/* Returns the cluster that the URL names; NULL: it names none. */
const char *clickhouse_cluster(const struct clickhouse *c);

/* Settings of the server's for all requests that follow; NULL: none. It is borrowed. */
void clickhouse_set(struct clickhouse *c, const char *settings);

/* A query of a Distributed table leaves shards out that do not answer, and does not fail. */
#define CLICKHOUSE_LEAVE_OUT "skip_unavailable_shards=1"
/* An INSERT into one ends when all shards have their rows. */
#define CLICKHOUSE_WAIT_FOR_SHARDS "insert_distributed_sync=1"

/* Returns the sentence about the last request's failure, "" if it had none. */
const char *clickhouse_error(const struct clickhouse *c);

/* Notes a failure and its sentence; returns `err`. */
int clickhouse_fail(struct clickhouse *c, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Notes another connection's failure as one of this; returns `err`. */
int clickhouse_fail_as(struct clickhouse *c, int err, const struct clickhouse *other);

/* Asks; the answer replaces what is in the buffer. If `ids` is not NULL, the query can use a table
 * `ids` with a column `id` of these numbers, 8 bytes each, little-endian. 0; -EHOSTUNREACH,
 * -ECONNREFUSED, -ETIMEDOUT: the server is away; -ECONNRESET: it went away; -EACCES: the
 * credentials are wrong, or do not allow that; -ENOENT: there is no such database; -ENETDOWN: a
 * shard of the server's cluster does not answer; -ENOSPC: its disk is full; -EPROTO: it failed, or
 * is no ClickHouse; -EMSGSIZE; -ENOMEM. */
int clickhouse_ask(struct clickhouse *c, const char *query, const struct buf *ids,
		   struct buf *ret_answer);

/* Runs a query, INSERT say, with data behind it, which is sent compressed. Errors as above. */
int clickhouse_send(struct clickhouse *c, const char *query, const struct buf *data);

#endif
