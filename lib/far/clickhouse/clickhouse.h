/* SPDX-License-Identifier: MIT */
/*
 * Talks to a database of a ClickHouse server, over its HTTP interface.
 *
 * Every failure has a sentence for the user, which names the server, the fault, and what can be
 * done about it; it never contains the password.
 */
#ifndef CLICKHOUSE_CLICKHOUSE_H
#define CLICKHOUSE_CLICKHOUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "http/login.h"

#define CLICKHOUSE_SCHEME     "clickhouse://"  /* port 8123 */
#define CLICKHOUSE_SCHEME_TLS "clickhouses://" /* by TLS, port 8443 */

struct clickhouse;

struct clickhouse_options {
	const char *url;	   /* clickhouse://[USER@]HOST[:PORT]/DATABASE[?cluster=NAME] */
	const struct login *login; /* NULL: the URL's user, or none */
	unsigned timeout_s;	   /* limit for a time without any data; 0: HTTP_STALLED_S */
};

/* Returns whether a name has the form of such a database's URL, whether or not the URL is valid. */
bool clickhouse_is_url(const char *name);

/* Makes a connection from a URL; nothing is sent yet. Returns 0; -EINVAL: the URL is wrong;
 * -ENOSYS: libcurl is not installed; -ENOMEM. On failure *ret_error is a malloc()ed sentence, or
 * NULL if memory is short. */
int clickhouse_new(const struct clickhouse_options *options, struct clickhouse **ret_clickhouse,
		   char **ret_error);
void clickhouse_free(struct clickhouse *c); /* NULL is fine */

/* Makes a connection to the database of the same name on another host, with the same port and user.
 * Returns 0 or -ENOMEM. */
int clickhouse_new_beside(const struct clickhouse *c, const char *host,
			  struct clickhouse **ret_clickhouse);

/* Returns the name of server and database for messages: "clickhouse://host:8123/db". */
const char *clickhouse_name(const struct clickhouse *c);

/* Returns the database's name alone. */
const char *clickhouse_database(const struct clickhouse *c);

/* Returns the cluster that the URL names; NULL: it names none. */
const char *clickhouse_cluster(const struct clickhouse *c);

/* Sets the server's settings for all later requests, as a part of the URL ("name=value"); NULL:
 * none. The text is borrowed. */
void clickhouse_set(struct clickhouse *c, const char *settings);

/* Sets how long a later request may go on without any data, in seconds; 0: as long as the options
 * say. */
void clickhouse_wait(struct clickhouse *c, unsigned seconds);

/* Setting: a query of a Distributed table skips shards that do not answer, instead of failing. */
#define CLICKHOUSE_LEAVE_OUT "skip_unavailable_shards=1"
/* Setting: an INSERT into a Distributed table returns only when all shards have their rows. */
#define CLICKHOUSE_WAIT_FOR_SHARDS "insert_distributed_sync=1"

/* Returns the sentence about the last request's failure; "" if it succeeded. */
const char *clickhouse_error(const struct clickhouse *c);

/* Notes a failure and its sentence; returns `err`. */
int clickhouse_fail(struct clickhouse *c, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Copies the sentence about another connection's failure to this one. Returns `err`. */
int clickhouse_fail_as(struct clickhouse *c, int err, const struct clickhouse *other);

/* Runs a query; the answer replaces the content of `ret_answer`. If `ids` is not NULL, it has
 * numbers of 8 bytes, little-endian, which the query can use as column `id` of a table `ids`.
 * Returns 0; -EHOSTUNREACH, -ECONNREFUSED or -ETIMEDOUT: the server cannot be reached; -ECONNRESET:
 * the connection broke off; -EACCES: the credentials are wrong or lack a right; -ENOENT: there is
 * no such database; -EEXIST: there is such a table already; -ENETDOWN: a shard of the server's
 * cluster does not answer; -ENOSPC: the server's disk is full; -ESTALE: a table that is needed is
 * not there, or not any more; -EPROTO: the query failed, or the server is no ClickHouse; -EMSGSIZE:
 * the answer is too long; -ENOMEM. */
int clickhouse_ask(struct clickhouse *c, const char *query, const struct buf *ids,
		   struct buf *ret_answer);

/* Runs a query with data, such as an INSERT. The data is compressed for sending. Errors as
 * clickhouse_ask(). */
int clickhouse_send(struct clickhouse *c, const char *query, const struct buf *data);

/* Runs a long statement without an answer, such as an INSERT that computes its rows, compressed and
 * by one thread, which keeps the order of rows. Errors as clickhouse_ask(). */
int clickhouse_execute(struct clickhouse *c, const struct buf *statement);

/* Runs a query that tidies up: whether it fails does not matter, and the sentence about the request
 * before stays. */
void clickhouse_send_after(struct clickhouse *c, const char *query);

#endif
