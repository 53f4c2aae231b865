/* SPDX-License-Identifier: MIT */
/*
 * stackctl web: shows a store as a page in the browser, until it is interrupted.
 *
 * The first steps have a fixed order. As root, stackctl opens the store's files (held_store.h) and
 * makes the socket. Then it gives up root's rights. Only after that does it read data of profiled
 * programs, start the browser, and answer clients.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "browser.h"
#include "base/argp_help.h"
#include "base/parts.h"
#include "cli/cmd.h"
#include "cli/fold_answer.h"
#include "cli/input.h"
#include "cli/input_fleet.h"
#include "cli/input_tags.h"
#include "cli/message.h"
#include "cli/options.h"
#include "held_store.h"
#include "rights.h"
#include "page_server.h"
#include "store/store_reader.h"

#define CMD_WEB_LINK  128 /* size of a link */
#define CMD_WEB_END_S 1	  /* the server ends within this time after SIGINT */

enum { CMD_WEB_PORT = 0x200, CMD_WEB_NO_OPEN, CMD_WEB_FILES };

struct cmd_web {
	struct input input;
	unsigned port;
	bool no_open;
	const char *files;
	char *path; /* of the store */
	struct rights rights;
	struct held_store *held; /* or NULL */
	struct web_source source;
	struct web *web;
	struct page_server *server;
	struct browser browser;
};

static const struct argp_option cmd_web_options[] = {
	{NULL, 0, NULL, 0, "How to serve the page:", 3},
	{"port", CMD_WEB_PORT, "N", 0, "Listen on this port (default: a free one)", 3},
	{"no-open", CMD_WEB_NO_OPEN, 0, 0, "Print the link without opening the browser", 3},
	{"files", CMD_WEB_FILES, "DIR", OPTION_HIDDEN,
	 "Serve the page's files from this folder, for its development", 2},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cmd_web *args = state->input;
	char *end;
	unsigned long port;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->input;
		return 0;
	case CMD_WEB_PORT:
		port = strtoul(arg, &end, 10);
		if (*arg < '0' || *arg > '9' || *end || port > UINT16_MAX)
			argp_help_error(state, "--port: '%s' is not a number from 0 to %u", arg,
					UINT16_MAX);
		args->port = (unsigned)port;
		return 0;
	case CMD_WEB_NO_OPEN:
		args->no_open = true;
		return 0;
	case CMD_WEB_FILES:
		args->files = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Opens a server's database, or a file of sums. */
static int open_sums(const void *arg, struct store_reader **ret_reader, char **ret_error)
{
	const struct input *input = arg;
	const int status = input_is_fleet(input) ? input_fleet_open(input, ret_reader)
						 : input_tags_open(input, ret_reader);

	/* The message has been printed. */
	*ret_error = NULL;
	return status == CMD_DONE ? 0 : status == CMD_NO_SAMPLES ? -ENODATA : -EIO;
}

/* Prepares sums: they are kept by all labels, which the page may divide them by. Returns a
 * cmd_status. */
static int choose_sums(struct cmd_web *args)
{
	int status = input_fleet_by(&args->input, PARTITION_BY_ALL);

	if (status == CMD_DONE)
		status = input_tags_by(&args->input, PARTITION_BY_ALL);
	args->source.open = open_sums;
	args->source.arg = &args->input;
	args->source.metric = args->input.filter.metric;
	return status;
}

/* Makes the store's files readable for later, as root. Returns a cmd_status. */
static int hold_store(struct cmd_web *args)
{
	int err;

	args->source = (struct web_source){.path = args->path,
					   .label = args->path,
					   .new_names = input_reader_names,
					   .fold = part_is_built(PART_FOLD) ? fold_answer : NULL};
	if (input_is_fleet(&args->input) || input_is_tags(&args->input))
		return choose_sums(args);
	if (args->input.since || args->input.filter.metric != METRIC_CPU) {
		message("--since and --metric choose from a server's database: the page chooses from "
			"a store");
		return CMD_USAGE;
	}
	if (!args->rights.is_root)
		return CMD_DONE;
	err = held_store_new(args->path, &args->held);
	if (err)
		return input_explain(&args->input, args->path, err, NULL);
	args->source.path = held_store_path();
	args->source.look = held_store_look;
	args->source.arg = args->held;
	return CMD_DONE;
}

/* Checks that there is something to show. Returns a cmd_status. */
static int check_store(const struct cmd_web *args)
{
	struct store_reader *reader = NULL;
	char *error = NULL;
	int err;

	if (args->source.open) {
		err = args->source.open(args->source.arg, &reader, &error);
		store_reader_close(reader);
		return err == -ENODATA ? CMD_NO_SAMPLES : err ? CMD_FAILED : CMD_DONE;
	}
	err = store_reader_open_figures(args->source.path, args->input.recording, &reader, &error);
	store_reader_close(reader);
	return err ? input_explain(&args->input, args->path, err, error) : CMD_DONE;
}

/* Prints the link, and how to reach it from another machine if this one has no display. Returns a
 * cmd_status. */
static int print_link(const struct cmd_web *args, const char *link, bool is_opened)
{
	char host[HOST_NAME_MAX + 1] = "HOST";
	const unsigned port = page_server_port(args->server);

	if (printf("%s\n", link) < 0 || fflush(stdout) != 0)
		return CMD_FAILED; /* main() says so */
	gethostname(host, sizeof(host) - 1);
	if (!is_opened && !browser_is_possible())
		message("on another machine: ssh -N -L %u:127.0.0.1:%u %s, and open the link there",
			port, port, host);
	message("only someone with the link can see the page; Ctrl+C ends it");
	return CMD_DONE;
}

/* Makes the socket, and gives up root's rights. Returns a cmd_status. */
static int listen_and_drop(struct cmd_web *args)
{
	int err = page_server_new((uint16_t)args->port, &args->server);

	if (err) {
		message("cannot listen on 127.0.0.1:%u: %s", args->port, strerror(-err));
		return err == -EADDRINUSE || err == -EACCES ? CMD_USAGE : CMD_FAILED;
	}
	err = rights_become(&args->rights);
	if (err)
		message("cannot give up root's rights: %s", strerror(-err));
	return err ? CMD_NO_SUPPORT : CMD_DONE;
}

/* Writes the link, with the recordings that the options choose as the page's state. */
static void put_link(const struct cmd_web *args, char ret_link[static CMD_WEB_LINK])
{
	const struct store_range *range = &args->input.range;
	const int len = snprintf(ret_link, CMD_WEB_LINK, "http://127.0.0.1:%u/%s/",
				 page_server_port(args->server), page_server_token(args->server));
	char *end = ret_link + len;
	const size_t size = CMD_WEB_LINK - (size_t)len;

	if (args->input.is_range && range->first)
		snprintf(end, size, "#recording=%" PRId64 "..%" PRId64, range->first, range->last);
	else if (args->input.recording)
		snprintf(end, size, "#recording=%" PRId64, args->input.recording);
}

/* Opens the browser, and begins to serve. Returns a cmd_status. */
static int serve(struct cmd_web *args)
{
	char link[CMD_WEB_LINK];
	bool is_opened;
	int err;

	put_link(args, link);
	is_opened = !args->no_open && !args->rights.is_nobody && browser_open(link, &args->browser);
	err = rights_lock();
	if (err == 0)
		err = web_new(&args->source, &args->web);
	if (err == 0)
		err = page_server_start(args->server, args->web, args->files);
	if (err) {
		message("cannot start the server: %s", strerror(-err));
		return CMD_FAILED;
	}
	return print_link(args, link, is_opened);
}

/* A question that does not end in time is left alone: nothing is written. */
static void end_now(int signal_number)
{
	(void)signal_number;
	_exit(CMD_DONE);
}

static void end(struct cmd_web *args)
{
	browser_end(&args->browser);
	signal(SIGALRM, end_now);
	alarm(CMD_WEB_END_S);
	page_server_free(args->server);
	web_free(args->web);
	held_store_free(args->held);
	free(args->path);
}

/* Blocks the signals that end the program, in all threads that start from now on. */
static void block_signals(sigset_t *ret_set)
{
	sigemptyset(ret_set);
	sigaddset(ret_set, SIGINT);
	sigaddset(ret_set, SIGTERM);
	sigaddset(ret_set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, ret_set, NULL);
}

int cmd_web(int argc, char **argv)
{
	static const struct argp_child children[] = {{&input_sources_argp, 0, NULL, 0}, {0}};
	static const struct argp argp = {
		.options = cmd_web_options,
		.parser = parse,
		.doc = "Shows the recordings of a store as a page in the browser: lanes over time, "
		       "flame graphs, functions, waits, heap, and what changed; also while stackd "
		       "records.\vThe page is served on this machine alone, to whoever has the "
		       "link, until stackctl is interrupted. Started by root or sudo, it opens the "
		       "store and then gives up root's rights.",
		.children = children,
	};
	struct cmd_web args = {0};
	sigset_t set;
	int status, number;

	options_parse(&argp, argc, argv, &args);
	args.rights = rights_choose();
	args.path = input_path(&args.input);
	if (!args.path) {
		message("out of memory");
		return CMD_FAILED;
	}
	block_signals(&set);
	status = hold_store(&args);
	if (status == CMD_DONE)
		status = listen_and_drop(&args);
	if (status == CMD_DONE)
		status = check_store(&args);
	if (status == CMD_DONE)
		status = serve(&args);
	signal(SIGPIPE, SIG_IGN); /* now that the link is printed */
	if (status == CMD_DONE)
		sigwait(&set, &number);
	end(&args);
	return status;
}
