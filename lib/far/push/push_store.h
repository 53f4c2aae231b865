/* SPDX-License-Identifier: MIT */
/*
 * Sends a recording to a server of profiles, in as many requests as its limits ask for.
 *
 * The server adds up what comes, so nothing may be sent again that it has taken. The entries of a
 * recording that has ended have an order, and requests have them one after the other: how many the
 * server has taken is all that there is to remember, and a push that was cut off goes on there. One
 * case is left in which something counts twice: the connection, or this program, ends when the
 * server has taken a request and its answer has not come.
 */
#ifndef SERVER_SERVER_PUSH_H
#define SERVER_SERVER_PUSH_H

#include <stddef.h>

#include "model/profile.h"
#include "push/push.h"

/* What servers take by default: Pyroscope's limits. */
#define SERVER_PUSH_SAMPLES 16000u
#define SERVER_PUSH_BYTES   (4u << 20)

struct server_push {
	struct server *server;
	const char *app; /* the application's name: server_push_is_app() */
	size_t from;	 /* entries that the server has taken before */
	/* The server has taken the entries up to here, of so many. What it returns but 0 ends the
	 * push. */
	int (*done)(void *arg, size_t taken, size_t all);
	void *arg;
	uint64_t requests, samples, bytes; /* sent; added to what is there */
	uint64_t rejected;  /* profiles that the server did not take of what it took (OTLP) */
	struct buf said;    /* what it said last of what it took; the caller frees it */
	uint64_t too_large; /* samples that are too large by themselves, and were left out */
};

/* Returns whether a text is an application's name: letters, digits, '_', '-', '.' and '/'. */
bool server_push_is_app(const char *text);

/* Sends the entries of a recording. 0; an error of server_post(), with a sentence in
 * server_error(); one of store_reader_series() or -EOVERFLOW, without; or what done() returned. */
int server_push(struct server_push *push, struct profile *profile);

#endif
