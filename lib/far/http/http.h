/* SPDX-License-Identifier: MIT */
/*
 * Makes HTTP requests, by libcurl.
 *
 * libcurl is loaded for the first request, not at the start: it depends on forty other libraries,
 * which would delay each report of a local store. Each request has a connection of its own. If
 * connections were kept open, libcurl would repeat a failed request by itself, although the server
 * may have accepted it the first time.
 */
#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "http/login.h"

#define HTTP_CONNECT_S	10L	     /* limit for making a connection, in seconds */
#define HTTP_STALLED_S	60u	     /* limit for a time without any data, in seconds */
#define HTTP_MAX_ANSWER (256u << 20) /* bytes */

/* The message for -ENOSYS. */
#define HTTP_MISSING                                                                               \
	"libcurl.so.4 is not installed, without which no server can be reached: apt install "      \
	"libcurl4, or dnf install libcurl"

struct http;

struct http_request {
	const char *url;
	const struct login *login; /* NULL: none */
	const char *user;	   /* the name that is used with the login's password; NULL: none */
	unsigned stalled_s;	   /* limit for a time without any data; 0: HTTP_STALLED_S */
	const void *body;	   /* the body; NULL: a form with `part` */
	size_t len;
	const char *content_type; /* type of the body; NULL: libcurl's default */
	bool is_gzip;		  /* the body is compressed; a header says so */
	const char *part;	  /* name of the part of a form, which has `content`; NULL: none */
	const struct buf *content;
};

/* Loads libcurl. Returns 0; -ENOSYS: it is not installed; -ENOMEM. */
int http_new(struct http **ret_http);
void http_free(struct http *http); /* NULL is fine */

/* Sends a request (POST), waits for the answer and appends it to *ret_answer. Returns 0, with the
 * HTTP status in *ret_status; -EHOSTUNREACH: there is no such host; -ECONNREFUSED: nothing listens
 * there; -EACCES: the server wants another certificate of the client; -ETIMEDOUT; -ECONNRESET: the
 * connection ended before the answer did; -EMSGSIZE: the answer was too long; -ENOMEM; -EPROTO:
 * another failure, as that the login's token cannot be read. http_error() returns libcurl's
 * message, or one of this. */
int http_post(struct http *http, const struct http_request *request, long *ret_status,
	      struct buf *ret_answer);

/* Returns libcurl's message about the last failure, "" if there is none. */
const char *http_error(const struct http *http);

/* Returns how many seconds the server wants the next request to wait, from the header Retry-After
 * of its last answer (seconds or a date); 0: the answer had no such header. */
long http_retry_after(const struct http *http);

/* Appends the first line of a server's message, escaped, shortened and with a final NUL, to be
 * quoted in a sentence. Overwrites in `text` the secrets of the last request, whose login must
 * still be there, and the end of that line. */
void http_put_said(const struct http *http, char *text, struct buf *b);

/* Appends a text, escaped so that it can be a part of a URL. Returns 0 or -ENOMEM. */
int http_escape(struct http *http, const char *text, struct buf *b);

#endif
