/* SPDX-License-Identifier: MIT */
/*
 * Makes HTTP requests, by libcurl.
 *
 * libcurl is loaded for the first request, not at the start: it depends on forty other libraries,
 * which would delay each report of a local store. Each request has a connection of its own. On a
 * connection that is kept open, libcurl repeats a failed request by itself, which the server may
 * have accepted the first time.
 */
#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

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
	const char *user, *password; /* NULL: none */
	const char *authority;	     /* file with certificates of authorities; NULL: the system's */
	unsigned stalled_s;	     /* limit for a time without any data; 0: HTTP_STALLED_S */
	const void *body;	     /* the body; NULL: a form with `part` */
	size_t len;
	const char *content_type; /* of the body; NULL: libcurl's own */
	bool is_gzip;		  /* the body is compressed; a header says so */
	const char *part;	  /* name of the part of a form, which has `content`; NULL: none */
	const struct buf *content;
};

/* Loads libcurl. Returns 0, -ENOSYS if it is not installed, or -ENOMEM. */
int http_new(struct http **ret_http);
void http_free(struct http *http); /* NULL is fine */

/* Sends a request (POST) and waits for the answer, which is appended to *ret_answer. Returns 0,
 * with the HTTP status in *ret_status; -EHOSTUNREACH if there is no such host; -ECONNREFUSED if it
 * does not listen; -ETIMEDOUT; -ECONNRESET if the connection ended before the answer did; -EMSGSIZE
 * if the answer was too long; -ENOMEM; or -EPROTO for another failure. http_error() returns
 * libcurl's message. */
int http_post(struct http *http, const struct http_request *request, long *ret_status,
	      struct buf *ret_answer);

/* Returns libcurl's message about the last failure, "" if there is none. */
const char *http_error(const struct http *http);

/* Returns the seconds to wait before the next request, by the last answer's header Retry-After,
 * which has seconds or a date; 0 if there was none. */
long http_retry_after(const struct http *http);

/* Appends the first line of a server's message, escaped, shortened and with a final NUL, for
 * quoting in a sentence. Writes a NUL into `text` after that line. */
void http_put_said(char *text, struct buf *b);

/* Appends a text, escaped as a part of a URL. Returns 0 or -ENOMEM. */
int http_escape(struct http *http, const char *text, struct buf *b);

#endif
