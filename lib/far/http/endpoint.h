/* SPDX-License-Identifier: MIT */
/*
 * Where a server is and as whom it is asked: what the URLs of all kinds of servers have in common.
 *
 *   [USER@]HOST[:PORT][/REST]
 *
 * A password is never a part of the URL, since everybody on a machine can see the arguments of its
 * processes.
 */
#ifndef HTTP_ENDPOINT_H
#define HTTP_ENDPOINT_H

#include <stdbool.h>

#include "http/http.h"

struct endpoint {
	char *host, *port;		   /* host: with the brackets of an IPv6 address */
	char *user, *password, *authority; /* as those of a request */
};

/* Keeps copies of who asks, each of which may be NULL. 0 or -ENOMEM; the caller frees in any
 * case. */
int endpoint_init(struct endpoint *endpoint, const char *user, const char *password,
		  const char *authority);
void endpoint_free(struct endpoint *endpoint); /* what it owns; the password is overwritten */

/* Reads what is behind the scheme of a URL. The URL's user counts only where endpoint_init() got
 * none; `port` is that of a URL without one; `variable` is the environment's for the password, for
 * the sentence that refuses one in the URL. *ret_rest is what is behind the first slash, "" if
 * there is nothing; the caller frees it. Returns why the URL is wrong, as half a sentence, or NULL.
 * Without memory it returns NULL, and host, port or *ret_rest is NULL. */
const char *endpoint_parse(struct endpoint *endpoint, const char *text, const char *port,
			   const char *variable, char **ret_rest);

/* Whether a text has only letters, digits and characters of `also`. */
bool endpoint_has_only(const char *text, const char *also);

/* Fills in as whom a request is made: `anybody` is the user of a password without one. */
void endpoint_sign(const struct endpoint *endpoint, const char *anybody,
		   struct http_request *request);

#endif
