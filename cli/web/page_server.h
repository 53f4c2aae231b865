/* SPDX-License-Identifier: MIT */
/*
 * The page's server: HTTP on 127.0.0.1 (libmicrohttpd), for whoever has the token.
 *
 * Everything is below /TOKEN/: the page's files and, below api/, its questions. A request without
 * the token, or for another host's name (which a page of another site would have), is refused
 * before anything else is looked at. Nothing is written. Questions are answered from the store, and
 * names that it lacks are looked up in files of this machine.
 */
#ifndef CLI_WEB_PAGE_SERVER_H
#define CLI_WEB_PAGE_SERVER_H

#include <stdint.h>

#include "web/web.h"

#define PAGE_SERVER_TOKEN 33 /* size of a token: 32 hexadecimal digits */

struct page_server;

/* Opens a socket on a port (0: the kernel chooses one) and makes a token. Until
 * page_server_start(), who connects waits. Returns 0 or a negative errno: -EADDRINUSE, -ENOMEM. */
int page_server_new(uint16_t port, struct page_server **ret_server);

/* Starts to serve, in threads of its own. `web` is borrowed. `files` is a folder with the page's
 * files, for its development; NULL: those that the build has put into the program. Returns 0 or a
 * negative errno. */
int page_server_start(struct page_server *server, struct web *web, const char *files);

/* Ends all connections and questions. NULL is allowed. */
void page_server_free(struct page_server *server);

/* Returns the port. */
uint16_t page_server_port(const struct page_server *server);

/* Returns the token, which lives as long as the server. */
const char *page_server_token(const struct page_server *server);

#endif
