/* SPDX-License-Identifier: MIT */
/*
 * stackctl push to a profile server. Such a server does not tell what it has, so a file (sent.h)
 * has a record of what it accepted, and only finished recordings are sent.
 */
#ifndef CLI_PUSH_SERVER_H
#define CLI_PUSH_SERVER_H

#include <stdbool.h>

#include "cli/input.h"
#include "cli/servers/push_metrics.h"
#include "http/login.h"
#include "push/server.h"
#include "push/push_store.h"

struct push_server_options {
	const char *app;    /* the application's name: server_push_is_app() */
	unsigned timeout_s; /* as for server_new() */
	const char *sent;   /* the file; NULL: the store's name and ".sent" */
};

struct push_server;

/* Returns the exit status for a server's failure. */
int push_status_of(int err);

/* Returns whether a recording has ended, or has not grown for so long that it will not grow any
 * more. */
bool push_has_ended(const struct store_recording *recording);

/* Opens a server and its file of sent recordings; `options` must outlive the result. Returns a
 * cmd_status; a message has been printed if it is not CMD_DONE. */
int push_server_open(const char *url, const struct login *login,
		     const struct push_server_options *options, struct push_server **ret_push);
void push_server_free(struct push_server *push); /* NULL is fine */

/* Sends the chosen recordings that have not been sent yet. What the server refuses does not keep
 * the rest from it. A profile that it has refused three times, in as many rounds or runs, is set
 * aside for good, which the file of sent recordings has. With `is_service`, prints nothing if there
 * is nothing to send, goes on after refusals if the server has ever accepted something, and waits
 * for twenty rounds before it tries again what was refused. Returns as push_server_open() does. */
int push_server_once(struct push_server *push, const struct input *input, bool is_service);

/* Adds what the last round did to the figures, but for its rounds; gives the recordings that the
 * server does not have. */
const struct unsent *push_server_figures(const struct push_server *push,
					 struct push_figures *figures);

/* Returns the server's name for messages. */
const char *push_server_name(const struct push_server *push);

/* Returns the server's sentence about the last failure; "" if the failure was not the server's. */
const char *push_server_error(const struct push_server *push);

#endif
