/* SPDX-License-Identifier: MIT */
/*
 * stackctl push to a server of profiles, which cannot be asked what it has: what it has taken is
 * noted in a file (sent.h), and only recordings that have ended are sent.
 */
#ifndef CLI_PUSH_SERVER_H
#define CLI_PUSH_SERVER_H

#include <stdbool.h>

#include "cli/servers/credentials.h"
#include "cli/input.h"
#include "push/push.h"
#include "push/push_store.h"

struct push_server_options {
	const char *app;    /* the application's name: server_push_is_app() */
	unsigned timeout_s; /* as for server_new() */
	const char *sent;   /* the file; NULL: the store's name and ".sent" */
};

struct push_server;

/* Returns what to exit with after a server's failure. */
int push_status_of(int err);

/* Returns whether a recording has ended, or has not grown for so long that it will no more. */
bool push_has_ended(const struct store_recording *recording);

/* Makes one; the options must outlive it. A cmd_status; a message has been given if it is not
 * CMD_DONE. */
int push_server_open(const char *url, const struct credentials *credentials,
		     const struct push_server_options *options, struct push_server **ret_push);
void push_server_free(struct push_server *push); /* NULL is fine */

/* Sends what is chosen and not sent yet. A recording that the server refuses does not keep the
 * others from it; it is not sent again by this push_server. A service says nothing if there is
 * nothing, and goes on after recordings that were refused, if the server has ever taken one. As
 * above. */
int push_server_once(struct push_server *push, const struct input *input, bool is_service);

/* Returns what the server said of the last failure; "" if that was none of the server's. */
const char *push_server_error(const struct push_server *push);

#endif
