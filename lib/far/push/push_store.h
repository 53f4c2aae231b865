/* SPDX-License-Identifier: MIT */
/*
 * Sends a recording to a profile server, in as many requests as the server's limits require.
 *
 * The server adds up everything that it receives, so nothing that it has accepted may be sent
 * again. Each metric is a profile of its own (push_profile.h). The entries of a finished
 * recording's profile have a fixed order, and requests send them in that order. So only the number
 * of settled entries of each profile has to be kept, and an interrupted push continues after these.
 * In one case entries still count twice: if the connection, or this program, ends after the server
 * has accepted a request and before its answer has arrived.
 *
 * What a server refuses does not keep the other profiles from it.
 */
#ifndef PUSH_PUSH_STORE_H
#define PUSH_PUSH_STORE_H

#include <stddef.h>

#include "model/profile.h"
#include "push/push_profile.h"
#include "push/server.h"

/* The default limits of servers: Pyroscope's. It takes 4 MiB a second of a tenant, 2 MiB at once,
 * so a profile of more than that is never taken; and what it makes of OTLP can be larger than what
 * it got. */
#define SERVER_PUSH_SAMPLES 16000u
#define SERVER_PUSH_BYTES   (1u << 20)

/* Why entries are not with the server. */
enum server_refusal {
	SERVER_REJECTED, /* it rejected them for good in an answer that accepted the request */
	SERVER_REFUSED,	 /* its answer says that they are wrong, too old or too large */
	SERVER_FAILED,	 /* it failed, by a fault of its own or because of them */
};

struct server_push {
	struct server *server;
	const char *app; /* the application's name: server_push_is_app() */
	/* Returns how many entries of a profile are settled: accepted, or set aside. */
	size_t (*settled)(void *arg, const struct push_profile *profile);
	/* Called when the first `settled` entries of a profile are settled, since the server has
	 * accepted the last ones, or, unless `is_sent`, since there is nothing to send of them.
	 * Returns 0, or an error, which ends the push. */
	int (*taken)(void *arg, const struct push_profile *profile, size_t settled, bool is_sent);
	/* Called when the server did not take the next `n` entries; server_error() says why, except
	 * for SERVER_REJECTED. Returns 1: they are set aside, and those behind them are
	 * sent; 0: they and the rest of the profile are left for another push; or an error, which
	 * ends the push. */
	int (*refused)(void *arg, const struct push_profile *profile, size_t n,
		       enum server_refusal why);
	void *arg;
	uint64_t requests, samples, bytes; /* what has been sent; server_push() adds to these */
	uint64_t rejected; /* profiles that the server rejected in accepted requests (OTLP) */
	/* the server's last message in an answer that accepted a request, with a final NUL, or
	 * nothing; the caller frees it */
	struct buf said;
	uint64_t too_large; /* samples left out because a single one exceeds the limit */
};

/* Returns whether a text is an application's name: letters, digits, '_', '-', '.' and '/'. */
bool server_push_is_app(const char *text);

/* Sends the profiles of a recording. Returns 0: all of them are settled; 1: some are left for
 * another push; an error of server_post(), with a sentence in server_error(); an error of
 * store_reader_series(), or -EOVERFLOW, without a sentence; or the error of a function above. */
int server_push(struct server_push *push, struct profile *profile);

#endif
