/* SPDX-License-Identifier: MIT */
/*
 * Sends a recording to a profile server, in as many requests as the server's limits require.
 *
 * The server adds up everything that it receives, so nothing that it has accepted may be sent
 * again. The entries of a finished recording have a fixed order, and requests send them in that
 * order. So only the number of accepted entries has to be kept, and an interrupted push continues
 * after these. In one case entries still count twice: if the connection, or this program, ends
 * after the server has accepted a request and before its answer has arrived.
 */
#ifndef SERVER_SERVER_PUSH_H
#define SERVER_SERVER_PUSH_H

#include <stddef.h>

#include "model/profile.h"
#include "push/server.h"

/* The default limits of servers: Pyroscope's. */
#define SERVER_PUSH_SAMPLES 16000u
#define SERVER_PUSH_BYTES   (4u << 20)

struct server_push {
	struct server *server;
	const char *app; /* the application's name: server_push_is_app() */
	size_t from;	 /* number of entries that the server accepted in an earlier push */
	/* Called when the server has accepted the first `taken` of `all` entries. A non-zero result
	 * ends the push and is returned. */
	int (*done)(void *arg, size_t taken, size_t all);
	void *arg;
	uint64_t requests, samples, bytes; /* what has been sent; server_push() adds to these */
	uint64_t rejected; /* profiles that the server rejected in accepted requests (OTLP) */
	/* the server's last message in an answer that accepted a request; the caller frees it */
	struct buf said;
	uint64_t too_large; /* samples left out because a single one exceeds the limit */
};

/* Returns whether a text is an application's name: letters, digits, '_', '-', '.' and '/'. */
bool server_push_is_app(const char *text);

/* Sends the entries of a recording. Returns 0; an error of server_post(), with a sentence in
 * server_error(); an error of store_reader_series(), or -EOVERFLOW, without a sentence; or the
 * non-zero result of done(). */
int server_push(struct server_push *push, struct profile *profile);

#endif
