/* SPDX-License-Identifier: MIT */
/*
 * Requests over HTTP, by libcurl.
 *
 * The library is loaded when the first request is made: it brings forty others with it, which a
 * report of a local store shall not wait for. Each request has a connection of its own, since the
 * library sends what failed on a kept one again by itself, and a server may have taken it the first
 * time.
 */
#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define HTTP_CONNECT_S	10L	     /* for so long a connection may take */
#define HTTP_STALLED_S	60u	     /* for so long nothing may come or go */
#define HTTP_MAX_ANSWER (256u << 20) /* bytes */

/* What to say of -ENOSYS. */
#define HTTP_MISSING                                                                               \
	"libcurl.so.4 is not installed, without which no server can be reached: apt install "      \
	"libcurl4, or dnf install libcurl"

struct http;

struct http_request {
	const char *url;
	const char *user, *password; /* NULL: none */
	const char *authority;	     /* file with the authorities of TLS; NULL: the system's */
	unsigned stalled_s;	     /* for so long nothing may come or go; 0: HTTP_STALLED_S */
	const void *body;	     /* what is sent; NULL: the parts */
	size_t len;
	const char *content_type; /* of the body; NULL: libcurl's own */
	bool is_gzip;		  /* the body is compressed, which a header tells */
	const char *part;	  /* name of a part of a form, with this content; NULL: none */
	const struct buf *content;
};

/* Loads the library. 0; -ENOSYS: it is not installed; -ENOMEM. */
int http_new(struct http **ret_http);
void http_free(struct http *http); /* NULL is fine */

/* Sends a request (POST) and waits for the answer, which is appended to *ret_answer. 0, and the
 * status in *ret_status; -EHOSTUNREACH: there is no such host; -ECONNREFUSED: it does not listen;
 * -ETIMEDOUT; -ECONNRESET: the connection ended before the answer did; -EMSGSIZE: the answer was
 * too long; -ENOMEM; -EPROTO: another failure. http_error() has the library's words. */
int http_post(struct http *http, const struct http_request *request, long *ret_status,
	      struct buf *ret_answer);

/* Returns what the library said of the last failure, "" if nothing. */
const char *http_error(const struct http *http);

/* Returns for how many seconds the server of the last answer wants to be left alone (its header
 * Retry-After, as seconds or as a date); 0: it does not say. */
long http_retry_after(const struct http *http);

/* Appends the first line of what a server says, escaped, not all too long, and a NUL: to be quoted
 * in a sentence. The text is cut there. */
void http_put_said(char *text, struct buf *b);

/* Appends text as a part of a URL. -ENOMEM, or 0. */
int http_escape(struct http *http, const char *text, struct buf *b);

#endif
