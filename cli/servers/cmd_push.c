/* SPDX-License-Identifier: MIT */
/*
 * stackctl push: sends the recordings of a store to a server for many hosts: ClickHouse here,
 * profile servers in push_server.c.
 *
 * A recording that the server has is not sent again, so the verb can be repeated at any time. With
 * --follow it runs as a service: at each interval it sends what has been finished. If the server
 * cannot be reached it waits, longer each time, and then sends everything that was recorded
 * meanwhile.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/argp_help.h"
#include "base/clock.h"
#include "base/duration.h"
#include "base/text.h"
#include "clickhouse/clickhouse.h"
#include "clickhouse/push.h"
#include "cli/cmd.h"
#include "cli/servers/credentials.h"
#include "cli/input.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/servers/push_metrics.h"
#include "cli/servers/push_server.h"
#include "cli/servers/unsent.h"

#define PUSH_EVERY_NS (30 * UINT64_C(1000000000))
#define DAY_NS	      (86400 * UINT64_C(1000000000))
#define PUSH_MOST_NS  (600 * UINT64_C(1000000000)) /* longest pause between two tries */

enum {
	PUSH_CREDENTIALS = 0x180,
	PUSH_FOLLOW,
	PUSH_EVERY,
	PUSH_APP,
	PUSH_SENT,
	PUSH_TIMEOUT,
	PUSH_METRICS,
	PUSH_KEEP,
	PUSH_PATHS
};

struct cmd_push {
	struct input input;
	const char *url, *credentials_file;
	const char *metrics; /* a file for Prometheus; NULL: none */
	struct push_figures figures;
	struct push_server_options server_options;
	struct push_server *server; /* NULL: it is ClickHouse */
	bool is_following;
	size_t most_paths;
	uint64_t every_ns;
	struct login login;
	struct clickhouse *clickhouse;
	struct push *push; /* NULL: the server has not been reached yet */
	uint64_t there;	   /* number of recordings that the server had already */
	struct unsent waiting;
	unsigned keep_days;    /* for which ClickHouse keeps what it has; 0: as it does */
	uint64_t kept_unix_ns; /* when that was last asked of it */
};

/* Parses the argument of --keep-age; returns whole days. */
static unsigned parse_days(struct argp_state *state, const char *arg)
{
	uint64_t ns = 0;

	if (!duration_parse(arg, &ns) || ns / DAY_NS < 1 || ns / DAY_NS > UPKEEP_MAX_DAYS)
		argp_help_error(state, "--keep-age: '%s' is not a time of 1d to %ud, such as 30d",
				arg, UPKEEP_MAX_DAYS);
	return (unsigned)((ns + DAY_NS - 1) / DAY_NS);
}

/* Parses the argument of an option that takes a time above 0. */
static uint64_t parse_time(struct argp_state *state, const char *option, const char *arg)
{
	uint64_t ns = 0;

	if (!duration_parse(arg, &ns) || !ns)
		argp_help_error(state, "%s: '%s' is not a time such as 30s or 5m", option, arg);
	return ns;
}

static size_t parse_paths(struct argp_state *state, const char *arg)
{
	char *end;
	const unsigned long n = strtoul(arg, &end, 10);

	if (!*arg || strspn(arg, "0123456789") != strlen(arg) || n > UINT32_MAX)
		argp_help_error(state, "--paths: '%s' is not a number", arg);
	return n;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cmd_push *args = state->input;
	uint64_t ns;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->input;
		return 0;
	case PUSH_CREDENTIALS:
		args->credentials_file = arg;
		return 0;
	case PUSH_FOLLOW:
		args->is_following = true;
		return 0;
	case PUSH_EVERY:
		args->every_ns = parse_time(state, "--every", arg);
		return 0;
	case PUSH_APP:
		if (!server_push_is_app(arg))
			argp_help_error(state,
					"--app: '%s' is not a name of letters, digits, '_', '-', "
					"'.' and '/'",
					arg);
		args->server_options.app = arg;
		return 0;
	case PUSH_SENT:
		args->server_options.sent = arg;
		return 0;
	case PUSH_METRICS:
		args->metrics = arg;
		return 0;
	case PUSH_PATHS:
		args->most_paths = parse_paths(state, arg);
		return 0;
	case PUSH_KEEP:
		args->keep_days = parse_days(state, arg);
		return 0;
	case PUSH_TIMEOUT:
		ns = parse_time(state, "--timeout", arg);
		args->server_options.timeout_s = (unsigned)((ns + 999999999) / 1000000000);
		return 0;
	case ARGP_KEY_ARG:
		if (args->url)
			argp_help_error(state, "give one URL, not several");
		args->url = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_help_error(state,
				"give a server: stackctl push "
				"clickhouse://HOST[:PORT]/DATABASE, pyroscope://HOST[:PORT], "
				"parca://HOST[:PORT] or otlp+http://HOST[:PORT]");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* --- one round -------------------------------------------------------------------------------- */

/* Prints an error of the server, or of reading the store. Returns the exit status. */
static int explain(const struct cmd_push *args, int err)
{
	const char *error = clickhouse_error(args->clickhouse);

	message("%s", *error ? error : strerror(-err));
	return push_status_of(err);
}

/* Lets the database delete what is old and what does not count, once a day. */
static int keep(struct cmd_push *args)
{
	const uint64_t now = clock_ns(CLOCK_REALTIME);
	struct upkeep_done done;
	int err;

	if (!args->keep_days || (args->kept_unix_ns && now - args->kept_unix_ns < DAY_NS))
		return 0;
	err = push_keep(args->push, args->keep_days, &done);
	if (err < 0)
		return err;
	args->kept_unix_ns = now;
	if (done.days)
		message("%s: days of tables deleted: %" PRIu64, clickhouse_name(args->clickhouse),
			done.days);
	if (done.pushes)
		message("%s: interrupted or replaced pushes, whose rows are being deleted: %" PRIu64,
			clickhouse_name(args->clickhouse), done.pushes);
	return 0;
}

static int begin(void *arg, const struct store_recording *recordings, size_t n)
{
	struct cmd_push *args = arg;
	int64_t deleted;
	int err;

	deleted = unsent_look(&args->waiting, &args->input, recordings, n);
	args->figures.deleted += deleted > 0 ? (uint64_t)deleted : 0;
	unsent_report(deleted);
	err = args->push ? 0 : push_new(args->clickhouse, args->most_paths, &args->push);
	args->there = 0;
	if (err == 0)
		err = keep(args);
	if (err == 0)
		err = push_ask(args->push, recordings, n);
	return err < 0 ? explain(args, err) : CMD_DONE;
}

/* Returns whether to send a recording, which the server must not have. A service (--follow) sends
 * it only when it has ended. */
static bool wants(void *arg, const struct store_recording *recording)
{
	struct cmd_push *args = arg;

	if (push_has(args->push, recording)) {
		args->there++;
		unsent_done(&args->waiting, recording->id);
		return false;
	}
	return !args->is_following || push_has_ended(recording);
}

static int send_one(void *arg, const struct input_open *open)
{
	struct cmd_push *args = arg;
	int err = push_add(args->push, open->profile);

	if (err < 0)
		return explain(args, err);
	input_regions_off(open->profile);
	unsent_done(&args->waiting, profile_tables(open->profile)->recording.id);
	return CMD_DONE;
}

static void report(const struct cmd_push *args, const struct push_counts *before)
{
	struct push_counts now = push_counts(args->push);

	if (now.collisions > before->collisions)
		message("%" PRIu64
			" of the paths and locations share%s an id with another one: the column "
			"alt differs",
			now.collisions - before->collisions,
			text_plural(now.collisions - before->collisions, "s", ""));
	if (now.rare > before->rare)
		message("rare paths are not sent, and %" PRIu64
			" record%s below '[paths not sent]'; --paths 0 sends all paths",
			now.rare - before->rare,
			text_plural(now.rare - before->rare, " on them counts", "s on them count"));
	if (now.windows > before->windows || !args->is_following)
		message("%s: recordings sent: %" PRIu64 " (%" PRIu64 " rows, %" PRIu64
			" bytes); there already: %" PRIu64,
			clickhouse_name(args->clickhouse), now.windows - before->windows,
			now.rows - before->rows, now.bytes - before->bytes, args->there);
}

static int push_fleet(struct cmd_push *args)
{
	const struct input_each each = {
		.begin = begin, .wants = wants, .each = send_one, .arg = args};
	struct push_counts before = {0};
	int status;

	if (args->push)
		before = push_counts(args->push);
	status = input_each(&args->input, &each);
	if (args->push && (status == CMD_DONE || push_counts(args->push).windows > before.windows))
		report(args, &before);
	return status;
}

/* Writes the metrics after a round that ended with `status`. If the file cannot be written, the
 * round has failed. Returns the exit status. */
static int write_metrics(struct cmd_push *args, int status)
{
	struct push_figures *f = &args->figures;
	const struct unsent *waiting = &args->waiting;
	const char *name;
	int written;

	f->rounds++;
	f->failed_rounds += status != CMD_DONE;
	if (status == CMD_DONE)
		f->success_unix_ns = clock_ns(CLOCK_REALTIME);
	if (args->server) {
		waiting = push_server_figures(args->server, f);
		f->is_of_profiles = true;
		name = push_server_name(args->server);
	} else {
		const struct push_counts counts =
			args->push ? push_counts(args->push) : (struct push_counts){0};

		f->recordings = counts.windows;
		f->bytes = counts.bytes;
		name = clickhouse_name(args->clickhouse);
	}
	written = args->metrics ? push_metrics_write(args->metrics, name, f, waiting) : CMD_DONE;
	return status == CMD_DONE ? written : status;
}

static int push_once(struct cmd_push *args)
{
	const int status =
		args->server ? push_server_once(args->server, &args->input, args->is_following)
			     : push_fleet(args);

	return write_metrics(args, status);
}

/* Returns the server's sentence about the last failure; "" if reading failed. */
static const char *said(const struct cmd_push *args)
{
	return args->server ? push_server_error(args->server) : clickhouse_error(args->clickhouse);
}

/* --- as a service ----------------------------------------------------------------------------- */

static void wait_ns(uint64_t ns)
{
	const struct timespec time = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

	nanosleep(&time, NULL);
}

/* Runs until a signal ends it, or until a failure that waiting does not remove: the store may not
 * be read, or the server reports an error about the database. If the store does not exist yet,
 * waits for it. Returns the exit status. */
static int follow(struct cmd_push *args)
{
	uint64_t wait = args->every_ns;

	for (;;) {
		int status = push_once(args);

		if (status == CMD_NO_SUPPORT || (status == CMD_USAGE && *said(args)))
			return status;
		wait = status == CMD_FAILED || status == CMD_USAGE ? wait * 2 : args->every_ns;
		if (wait > PUSH_MOST_NS)
			wait = PUSH_MOST_NS > args->every_ns ? PUSH_MOST_NS : args->every_ns;
		wait_ns(wait);
	}
}

static int open_fleet(struct cmd_push *args)
{
	struct clickhouse_options options = {.url = args->url,
					     .login = &args->login,
					     .timeout_s = args->server_options.timeout_s};
	char *error = NULL;
	int err = clickhouse_new(&options, &args->clickhouse, &error);

	if (err < 0)
		message("%s", error ? error : strerror(-err));
	free(error);
	return err < 0 ? push_status_of(err) : CMD_DONE;
}

static int run(struct cmd_push *args)
{
	const bool is_server = server_is_url(args->url);
	int status = credentials_read(args->credentials_file,
				      is_server ? CREDENTIALS_PUSH : CREDENTIALS_CLICKHOUSE,
				      &args->login);

	if (status == CMD_DONE)
		status = is_server ? push_server_open(args->url, &args->login,
						      &args->server_options, &args->server)
				   : open_fleet(args);
	if (status != CMD_DONE)
		return status;
	return args->is_following ? follow(args) : push_once(args);
}

/* Chooses all recordings of the store, each as a whole, unless the options choose recordings. */
static void choose(struct input *input, bool is_server)
{
	/* A fleet's database has whole paths, of which its readers leave frames out. */
	input->shows_interpreter = !is_server;
	if (!input->is_range && input->recording)
		input->range.first = input->range.last = input->recording;
	input->is_range = true;
	input->is_whole = true;
}

static const struct argp_option push_options[] = {
	{NULL, 0, NULL, 0, "How to send:", 3},
	{"credentials", PUSH_CREDENTIALS, "FILE", 0,
	 "Log in as lines of this file say: 'user = NAME', 'password = SECRET', 'token = "
	 "SECRET', 'token_file = FILE', 'certificate = FILE', 'key = FILE', 'ca = FILE', "
	 "'org = NAME', 'header = NAME: VALUE' (default: the environment's CLICKHOUSE_USER "
	 "and CLICKHOUSE_PASSWORD, for other servers STACKD_PUSH_USER and "
	 "STACKD_PUSH_PASSWORD)",
	 3},
	{"follow", PUSH_FOLLOW, 0, 0,
	 "Keep running: send each recording when it has ended, and retry while the server "
	 "cannot be reached",
	 3},
	{"every", PUSH_EVERY, "TIME", ARGP_HELP_RARE,
	 "With --follow: look for new recordings at this interval (default: 30s)", 3},
	{"timeout", PUSH_TIMEOUT, "TIME", ARGP_HELP_RARE,
	 "Give up if the server sends nothing for so long (default: 60s)", 3},
	{"app", PUSH_APP, "NAME", ARGP_HELP_RARE,
	 "Pyroscope, Parca, OTLP: the name of the application in the profiles (default: "
	 "stackd)",
	 3},
	{"paths", PUSH_PATHS, "N", 0,
	 "ClickHouse: of each metric of a recording send the N most frequent nodes of the tree of "
	 "call paths, and '[paths not sent]' below these for the others (default: 100000; 0: all)",
	 3},
	{"keep-age", PUSH_KEEP, "TIME", ARGP_HELP_RARE,
	 "ClickHouse: have the server keep everything for this time, such as 30d, and delete "
	 "rows that do not count",
	 3},
	{"metrics", PUSH_METRICS, "FILE", ARGP_HELP_RARE,
	 "Write lag, refusals and counts to this file after each round, as metrics for "
	 "Prometheus (node_exporter's textfile collector)",
	 3},
	{"sent", PUSH_SENT, "FILE", ARGP_HELP_RARE,
	 "Pyroscope, Parca, OTLP: note in this file which recordings the server has "
	 "accepted (default: the store's name and '.sent')",
	 3},
	{0},
};

int cmd_push(int argc, char **argv)
{
	static const struct argp_child children[] = {{&input_recordings_argp, 0, NULL, 0}, {0}};
	static const struct argp argp = {
		.options = push_options,
		.parser = parse,
		.args_doc = "clickhouse://[USER@]HOST[:PORT]/DATABASE\n"
			    "pyroscope://[USER@]HOST[:PORT][/PATH]\n"
			    "parca://[USER@]HOST[:PORT][/PATH]\n"
			    "otlp+http://[USER@]HOST[:PORT][/PATH]",
		.doc = "Sends recordings to a server for many hosts (docs/FLEETS.md). Recordings "
		       "that the server has are not sent again, so this can be repeated at any "
		       "time. An 's' before the colon (clickhouses:) means TLS.",
		.children = children,
	};
	struct cmd_push args = {.every_ns = PUSH_EVERY_NS,
				.most_paths = PUSH_MOST_PATHS,
				.server_options.app = "stackd"};
	int status;

	options_parse(&argp, argc, argv, &args);
	choose(&args.input, server_is_url(args.url));
	status = run(&args);
	push_server_free(args.server);
	push_free(args.push);
	unsent_free(&args.waiting);
	clickhouse_free(args.clickhouse);
	login_fini(&args.login);
	return status;
}
