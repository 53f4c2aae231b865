/* SPDX-License-Identifier: MIT */
/*
 * A profile server: another program that stores the profiles of many hosts, and has its own format.
 * This sends requests to it, and repeats them where that can help.
 *
 *   pyroscope://  Pyroscope: pprof (/ingest)
 *   parca://      Parca: pprof in JSON (/profiles/writeraw)
 *   otlp+http://  OpenTelemetry's Collector, and others: OTLP (/v1development/profiles)
 *
 * An "s" before the colon means TLS. Such a server does not tell what it has, and counts data twice
 * that it receives twice: see push_store.h.
 *
 * A request is repeated, with longer and longer pauses, if the server cannot accept it now (status
 * 429, or 5xx; with OTLP only 502 to 504), or if the connection breaks off; never if the server
 * says that the request is wrong. With a status of 5xx other than 503, it is not repeated if the
 * server failed at the request before, too, nor if the answer has gRPC's error "unknown": Parca
 * gives that for data that it can never take. Every failure has a sentence for the user, which
 * names the server, the fault, and what can be done about it; it never contains the password.
 */
#ifndef PUSH_SERVER_H
#define PUSH_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "http/login.h"

#define SERVER_TRIES	 5u  /* attempts to send a request */
#define SERVER_LONGEST_S 60u /* the longest pause that a server may ask for */

enum server_kind { SERVER_PYROSCOPE, SERVER_PARCA, SERVER_OTLP };

struct server;

struct server_options {
	const char *url;	   /* SCHEME://[USER@]HOST[:PORT][/PATH] */
	const struct login *login; /* NULL: the URL's user, or none */
	unsigned timeout_s;	   /* limit for a time without any data; 0: HTTP_STALLED_S */
};

/* Returns whether a name has the scheme of such a server's URL. */
bool server_is_url(const char *name);

/* Makes a server from its URL; nothing is sent yet. Returns 0; -EINVAL: the URL is wrong; -ENOSYS:
 * libcurl is not installed; -ENOMEM. On failure *ret_error is a malloc()ed sentence, or NULL if
 * memory is short. */
int server_new(const struct server_options *options, struct server **ret_server, char **ret_error);
void server_free(struct server *server); /* NULL is fine */

/* Returns the kind of server that the URL names. */
enum server_kind server_kind(const struct server *server);

/* Returns the server's name for messages: "pyroscope://host:4040/ingest". */
const char *server_name(const struct server *server);

/* Returns the sentence about the last request's failure; "" if it succeeded. */
const char *server_error(const struct server *server);

/* Appends a server's message as http_put_said() does. */
void server_put_said(const struct server *server, char *text, struct buf *b);

/* Returns how many requests were repeated. */
uint64_t server_retries(const struct server *server);

/* Appends a text, escaped so that it can be a part of a URL. Returns 0 or -ENOMEM. */
int server_escape(struct server *server, const char *text, struct buf *b);

/* Sends a body to the server's path with a query ("": none). `is_packed`: the body is compressed by
 * gzip, which a header tells the server. On success, the answer replaces the content of
 * `ret_answer`. Returns 0; -EHOSTUNREACH, -ECONNREFUSED or -ETIMEDOUT: the server cannot be
 * reached; -ECONNRESET: the connection broke off each time; -EBUSY: the server cannot accept it
 * now; -EMSGSIZE: the body is too large for it; -EACCES: it refuses the user; -ENOENT: it has no
 * such path; -EINVAL: it says that the request is wrong; -EREMOTEIO: it failed (5xx), by a fault of
 * its own or because of the data; -EPROTO: another failure; -ENOMEM. */
int server_post(struct server *server, const char *query, const char *content_type, bool is_packed,
		const struct buf *body, struct buf *ret_answer);

#endif
