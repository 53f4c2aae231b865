/* SPDX-License-Identifier: MIT */
/*
 * A server that has profiles of many hosts and is spoken to in its own format: where it is, and
 * requests that are made again where that can help.
 *
 *   pyroscope://  Pyroscope: pprof (/ingest)
 *   parca://      Parca: pprof in JSON (/profiles/writeraw)
 *   otlp+http://  OpenTelemetry's Collector, and others: OTLP (/v1development/profiles)
 *
 * An "s" before the colon makes it TLS. Such a server cannot be asked what it has, and takes what
 * comes twice for twice as much: see push_store.h.
 *
 * A request is made again, with longer and longer pauses, if the server says that it cannot take it
 * now (429, and failures of its own, of OTLP 502 to 504 alone), and if the connection breaks off;
 * never if the server says that the request is wrong. Every failure has a sentence for the user,
 * which names the server, what is wrong, and what can be done about it; it never has the password.
 */
#ifndef PUSH_PUSH_H
#define PUSH_PUSH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

#define SERVER_TRIES	 5u  /* to send a request */
#define SERVER_LONGEST_S 60u /* pause that a server may ask for */

enum server_kind { SERVER_PYROSCOPE, SERVER_PARCA, SERVER_OTLP };

struct server;

struct server_options {
	const char *url;	     /* SCHEME://[USER@]HOST[:PORT][/PATH] */
	const char *user, *password; /* NULL: the URL's user, or none */
	const char *authority;	     /* file with authorities of TLS; NULL: the system's */
	unsigned timeout_s;	     /* for so long nothing may come or go; 0: HTTP_STALLED_S */
};

/* Returns whether a name has the scheme of such a server's URL. */
bool server_is_url(const char *name);

/* Makes a connection to be; nothing is sent yet. 0; -EINVAL: the URL is none; -ENOSYS: libcurl is
 * not installed; -ENOMEM. On failure *ret_error is a malloc()ed sentence, or NULL without memory.
 */
int server_new(const struct server_options *options, struct server **ret_server, char **ret_error);
void server_free(struct server *server); /* NULL is fine */

/* Returns what kind of server the URL names. */
enum server_kind server_kind(const struct server *server);

/* Returns the server for messages: "pyroscope://host:4040/ingest". */
const char *server_name(const struct server *server);

/* Returns the sentence about the last request's failure, "" if it had none. */
const char *server_error(const struct server *server);

/* Returns how many requests were made again. */
uint64_t server_retries(const struct server *server);

/* Appends text as a part of a URL. -ENOMEM, or 0. */
int server_escape(struct server *server, const char *text, struct buf *b);

/* Sends a body to the server's path, with a query behind it ("" for none); with `is_packed` the
 * body is compressed by gzip, and a header says so. 0; -EHOSTUNREACH, -ECONNREFUSED, -ETIMEDOUT:
 * the server is away; -ECONNRESET: the connection broke off each time; -EBUSY: it cannot take it
 * now; -EMSGSIZE: it says that this is too large; -EACCES: it does not let the user in; -ENOENT: it
 * has no such path; -EINVAL: it says that the request is wrong; -EPROTO: another failure; -ENOMEM.
 * The answer of a success replaces what is in the buffer. */
int server_post(struct server *server, const char *query, const char *content_type, bool is_packed,
		const struct buf *body, struct buf *ret_answer);

#endif
