/* SPDX-License-Identifier: MIT */
/*
 * A server's address and the user of a request: the part that the URLs of all kinds of servers have
 * in common.
 *
 *   [USER@]HOST[:PORT][/REST]
 *
 * A password is never a part of the URL, since everybody on a machine can see the arguments of its
 * processes. It is a part of the login, as are tokens and certificates.
 */
#ifndef HTTP_ENDPOINT_H
#define HTTP_ENDPOINT_H

#include <stdbool.h>

#include "http/http.h"

struct endpoint {
	char *host, *port; /* host: with the brackets of an IPv6 address */
	struct login login;
};

/* Copies the login; NULL: none. Returns 0 or -ENOMEM; the caller frees the endpoint in any case. */
int endpoint_init(struct endpoint *endpoint, const struct login *login);
void endpoint_free(struct endpoint *endpoint); /* frees what it owns; overwrites secrets */

/* Returns how messages name the one whom a server does not let in: "user 'ann'", or "the token".
 * `anybody` is the user's name if the endpoint has none. The result lives until the next call in
 * this thread. */
const char *endpoint_who(const struct endpoint *endpoint, const char *anybody);

/* Parses the part of a URL after its scheme. The URL's user is used only if endpoint_init() got
 * none; `port` is the default port. A password in the URL is refused, with a message that names
 * `variable`, the environment variable to be used instead. *ret_rest receives the part after the
 * first slash ("" if there is none), which the caller frees. Returns NULL, or the reason why the
 * URL is wrong, as half a sentence. If memory is short it returns NULL, and host, port or *ret_rest
 * is NULL. */
const char *endpoint_parse(struct endpoint *endpoint, const char *text, const char *port,
			   const char *variable, char **ret_rest);

/* Returns whether a text has only letters, digits and characters of `also`. */
bool endpoint_has_only(const char *text, const char *also);

/* Sets the login of a request. `anybody` is the user's name if the endpoint has only a password. */
void endpoint_sign(const struct endpoint *endpoint, const char *anybody,
		   struct http_request *request);

#endif
