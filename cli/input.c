/* SPDX-License-Identifier: MIT */
/* Opens the input of verbs; see input.h. */
#include "base/argp_help.h"
#include "input.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "cmd.h"
#include "input_fleet.h"
#include "input_nothing.h"
#include "input_range.h"
#include "input_tags.h"
#include "message.h"
#include "report/report_header.h"
#include "sym/reader_names.h"
#include "model/interpreter.h"
#include "model/labels.h"
#include "base/text.h"
#include "store/store_path.h"
#include "store/store_reader.h"

#define INPUT_NAMES_NS 2000000000u /* limit for looking up names, measured by input_now() */

enum {
	INPUT_RECORDING = 0x100,
	INPUT_METRIC,
	INPUT_PID,
	INPUT_TID,
	INPUT_COMM,
	INPUT_UNIT,
	INPUT_LABEL,
	INPUT_CONTAINER,
	INPUT_DSO,
	INPUT_SYMBOL,
	INPUT_FOCUS,
	INPUT_IGNORE,
	INPUT_SINCE,
	INPUT_FROM,
	INPUT_TO,
	INPUT_DEPTH,
	INPUT_FOLD,
	INPUT_NO_FOLD,
	INPUT_INLINE,
	INPUT_NO_INLINE,
	INPUT_INTERPRETER,
	INPUT_NO_RECONSTRUCTED,
	INPUT_HOST,
	INPUT_EVENT,
	INPUT_CREDENTIALS
};

static const struct argp_option input_store_options[] = {
	{"input", 'i', "FILE", 0, "Read this store (default: the one that stackd writes to)", 1},
	{0},
};

static const struct argp_option input_recordings_options[] = {
	{"input", 'i', "FILE", 0, "Read this store (default: the one that stackd writes to)", 1},
	{"recording", INPUT_RECORDING, "ID[..ID]", 0,
	 "This recording of the store, or all from one to another (default: all)", 1},
	{"since", INPUT_SINCE, "TIME", ARGP_HELP_RARE,
	 "All recordings of the last 2h, 3d, or since a moment such as 14:05", 1},
	{0},
};

#define HOST_HELP                                                                                  \
	"In a server's database, only this host (* and ? match any letters); may be repeated"
#define EVENT_HELP                                                                                 \
	"In a server's database, only recordings of this event (default: that of the newest)"
#define CREDENTIALS_HELP                                                                           \
	"For a server's database: a file with user, password, token, certificates and the like, "  \
	"as for stackctl push"

static const struct argp_option input_sources_options[] = {
	{"input", 'i', "FILE", 0,
	 "Read this store (default: the one that stackd writes to), a file that 'stackctl merge' "
	 "wrote, or a server's database of many hosts: clickhouse://HOST[:PORT]/DATABASE "
	 "(docs/FLEETS.md)",
	 1},
	{"host", INPUT_HOST, "NAME", ARGP_HELP_RARE, HOST_HELP, 1},
	{"event", INPUT_EVENT, "NAME", ARGP_HELP_RARE, EVENT_HELP, 1},
	{"credentials", INPUT_CREDENTIALS, "FILE", ARGP_HELP_RARE, CREDENTIALS_HELP, 1},
	{"since", INPUT_SINCE, "TIME", ARGP_HELP_RARE,
	 "In a server's database: the sum of the last 2h, 3d", 1},
	{"metric", INPUT_METRIC, "NAME", 0,
	 "In a server's database or a file of 'stackctl merge': this metric (default: cpu)", 1},
	{0},
};

static const struct argp_option input_options[] = {
	{"input", 'i', "FILE", 0,
	 "Read this store (default: the one that stackd writes to). Also, for report and "
	 "flamegraph, a file that 'stackctl merge' wrote; for these and top, a server's database "
	 "of many hosts: clickhouse://HOST[:PORT]/DATABASE (docs/FLEETS.md)",
	 1},
	{"host", INPUT_HOST, "NAME", ARGP_HELP_RARE, HOST_HELP, 1},
	{"event", INPUT_EVENT, "NAME", ARGP_HELP_RARE, EVENT_HELP, 1},
	{"credentials", INPUT_CREDENTIALS, "FILE", ARGP_HELP_RARE, CREDENTIALS_HELP, 1},
	{"recording", INPUT_RECORDING, "ID[..ID]", 0,
	 "This recording of the store (default: the latest), or the sum of several", 1},
	{"since", INPUT_SINCE, "TIME", ARGP_HELP_RARE,
	 "The sum of the recordings of the last 2h, 3d, or since a moment as for --from", 1},
	{"metric", INPUT_METRIC, "NAME", 0,
	 "Sum up this metric by call path (default: cpu, the samples of the event); 'help' lists "
	 "all metrics, 'stackctl stats' those of a recording",
	 3},
	{"pid", INPUT_PID, "PID[,PID...]", 0, "Only these processes", 2},
	{"tid", INPUT_TID, "TID[,TID...]", ARGP_HELP_RARE, "Only these threads", 2},
	{"comm", INPUT_COMM, "NAME", 0,
	 "Only threads with this name (* and ? match any letters); may be repeated", 2},
	{"unit", INPUT_UNIT, "NAME", ARGP_HELP_RARE,
	 "Only threads in this systemd unit or slice (* and ? match any letters); may be repeated",
	 2},
	{"label", INPUT_LABEL, "NAME=VALUE", ARGP_HELP_RARE,
	 "Only threads with this label, such as namespace=shop, pod='web-*' or env=prod (* and ? "
	 "match any letters); 'NAME=' those without it; repeated: with all of them",
	 2},
	{"container", INPUT_CONTAINER, "NAME", ARGP_HELP_RARE,
	 "Only threads in this container: as --label container=NAME", 2},
	{"no-reconstructed", INPUT_NO_RECONSTRUCTED, 0, ARGP_HELP_RARE,
	 "Leave out frames that alignment inferred: their paths become incomplete", 2},
	{"dso", INPUT_DSO, "NAME", ARGP_HELP_RARE,
	 "Only samples that hit in this program or library; may be repeated", 2},
	{"symbol", INPUT_SYMBOL, "NAME", 0,
	 "Only samples that hit in this function (* and ? match any letters; what it returns, its "
	 "template arguments and its parameters may be left out); may be repeated",
	 2},
	{"focus", INPUT_FOCUS, "NAME", 0,
	 "Only paths through this function; repeated: through all of them", 2},
	{"ignore", INPUT_IGNORE, "NAME", ARGP_HELP_RARE,
	 "No paths through this function; may be repeated", 2},
	{"from", INPUT_FROM, "TIME", 0,
	 "Only samples from this time on: seconds since the recording's start, or a number with a "
	 "unit (ms, s, m, h); or a moment (14:05, yesterday 14:05, 2026-11-22 14:05:30), which "
	 "selects all recordings of the latest one's target",
	 2},
	{"to", INPUT_TO, "TIME", 0, "Only samples before this time, or moment", 2},
	{"max-depth", INPUT_DEPTH, "N", ARGP_HELP_RARE,
	 "Show N frames of each path from the root down; deeper samples count for the last one", 2},
	{"fold-recursion", INPUT_FOLD, 0, ARGP_HELP_RARE,
	 "Show a function that calls itself as one frame", 2},
	{"no-fold-recursion", INPUT_NO_FOLD, 0, ARGP_HELP_RARE,
	 "Show each recursive call as a frame of its "
	 "own",
	 2},
	{"inline", INPUT_INLINE, 0, ARGP_HELP_RARE, "Show inlined functions as frames (default)",
	 2},
	{"no-inline", INPUT_NO_INLINE, 0, ARGP_HELP_RARE,
	 "Leave out inlined functions; their time is their caller's", 2},
	{"interpreter", INPUT_INTERPRETER, "show|hide", ARGP_HELP_RARE,
	 "Show the interpreter's own frames beside the functions of its language, or hide them "
	 "(default)",
	 2},
	{0},
};

static void parse_ids(struct argp_state *state, const char *what, const char *arg, int32_t *ids,
		      size_t *n)
{
	const char *at = arg;

	for (;;) {
		char *end;
		long value;

		errno = 0;
		value = strtol(at, &end, 10);
		if (errno || end == at || (*end && *end != ',') || value < 0 || value > INT_MAX)
			argp_help_error(state, "--%s: '%s' is not a list of numbers", what, arg);
		if (*n == INPUT_MAX)
			argp_help_error(state, "--%s: more than %d are given", what, INPUT_MAX);
		ids[(*n)++] = (int32_t)value;
		if (!*end)
			return;
		at = end + 1;
	}
}

static void parse_name(struct argp_state *state, const char *what, const char *arg,
		       const char **names, size_t *n)
{
	if (*n == INPUT_MAX)
		argp_help_error(state, "--%s: more than %d are given", what, INPUT_MAX);
	names[(*n)++] = arg;
}

/* Appends a name or pattern to a list of the filter; `names` is the array of the list's entries. */
static void parse_pattern(struct argp_state *state, const char *what, const char *arg,
			  const char **names, struct profile_patterns *patterns)
{
	if (!*arg)
		argp_help_error(state, "--%s: the name is empty", what);
	patterns->items = names;
	parse_name(state, what, arg, names, &patterns->n);
}

static uint32_t parse_depth(struct argp_state *state, const char *arg)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(arg, &end, 10);
	if (errno || end == arg || *end || value < 1 || value > INT_MAX)
		argp_help_error(state, "--max-depth: '%s' is not a number from 1", arg);
	return (uint32_t)value;
}

static void list_metrics(void)
{
	struct buf b = {0};
	int err;

	metric_put_all(&b);
	err = b.failed || fwrite(b.data, 1, b.len, stdout) != b.len || fflush(stdout);
	buf_free(&b);
	exit(err ? EXIT_FAILURE : EXIT_SUCCESS);
}

/* Parses the argument of --metric. An unknown name is a usage error, with a message that lists the
 * known names. "help" prints all metrics and ends the program. */
static void read_metric(struct argp_state *state, const char *arg, enum metric *ret_metric)
{
	struct buf b = {0};

	if (metric_find(arg, ret_metric))
		return;
	if (!strcmp(arg, "help"))
		list_metrics();
	metric_put_names(UINT64_MAX, true, &b);
	argp_help_error(state, "there is no metric '%s'; there are %.*s", arg, (int)b.len,
			(const char *)b.data);
}

static void check(struct argp_state *state, const struct input *input)
{
	const struct profile_filter *filter = &input->filter;
	const struct metric_info *metric = metric_info(filter->metric);

	if (metric->less != SERIES_CPU && filter->from_ns && !input->takes_moments)
		argp_help_error(state,
				"%s is counted at one moment: give --to alone, without --from",
				metric->name);
	if ((input->n_hosts || input->event) && !input_is_fleet(input))
		argp_help_error(state,
				"%s chooses from a server's database: -i "
				"clickhouse://HOST/DATABASE",
				input->n_hosts ? "--host" : "--event");
	if (filter->focus.n > PROFILE_MAX_FOCUS)
		argp_help_error(state, "--focus: more than %d are given", PROFILE_MAX_FOCUS);
}

/* Adds the label of a container. Its text lives as long as the program, as arguments do. */
static void parse_container(struct argp_state *state, const char *arg, struct input *input)
{
	static char *made[INPUT_MAX];
	size_t n = 0;

	while (n < INPUT_MAX && made[n])
		n++;
	if (n == INPUT_MAX || asprintf(&made[n], "container=%s", arg) < 0)
		argp_help_error(state, "--container: more than %d are given", INPUT_MAX);
	else
		parse_pattern(state, "container", made[n], input->labels, &input->filter.labels);
}

/* Parses the options for a server's database. */
static error_t parse_server(int key, char *arg, struct argp_state *state)
{
	struct input *input = state->input;

	switch (key) {
	case INPUT_HOST:
		parse_name(state, "host", arg, input->hosts, &input->n_hosts);
		return 0;
	case INPUT_EVENT:
		input->event = arg;
		return 0;
	case INPUT_CREDENTIALS:
		input->credentials = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Parses the options that choose samples by their labels and paths. */
static error_t parse_paths(int key, char *arg, struct argp_state *state)
{
	struct input *input = state->input;
	struct profile_filter *filter = &input->filter;

	switch (key) {
	case INPUT_DSO:
		parse_pattern(state, "dso", arg, input->dsos, &filter->dsos);
		return 0;
	case INPUT_SYMBOL:
		parse_pattern(state, "symbol", arg, input->symbols, &filter->symbols);
		return 0;
	case INPUT_FOCUS:
		parse_pattern(state, "focus", arg, input->focus, &filter->focus);
		return 0;
	case INPUT_IGNORE:
		parse_pattern(state, "ignore", arg, input->ignore, &filter->ignore);
		return 0;
	case INPUT_LABEL:
		if (!labels_is_pattern(arg))
			argp_help_error(state, "--label '%s': give NAME=VALUE", arg);
		parse_pattern(state, "label", arg, input->labels, &filter->labels);
		return 0;
	case INPUT_CONTAINER:
		parse_container(state, arg, input);
		return 0;
	case INPUT_DEPTH:
		filter->max_depth = parse_depth(state, arg);
		return 0;
	case INPUT_INLINE:
	case INPUT_NO_INLINE:
		filter->no_inlined = key == INPUT_NO_INLINE;
		return 0;
	case INPUT_INTERPRETER:
		input->shows_interpreter = !strcmp(arg, "show");
		if (!input->shows_interpreter && strcmp(arg, "hide") != 0)
			argp_help_error(state, "--interpreter '%s': give show or hide", arg);
		return 0;
	case INPUT_FOLD:
	case INPUT_NO_FOLD:
		filter->fold_recursion = key == INPUT_FOLD;
		input->is_unfolded = key == INPUT_NO_FOLD;
		return 0;
	default:
		return parse_server(key, arg, state);
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct input *input = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (input->path)
			argp_help_error(state, "'%s' is a second store: give one (%s is the first)",
					arg, input->path);
		/* fall through */
	case 'i':
		input->path = input_range_cut(state, arg, input);
		return 0;
	case INPUT_RECORDING:
		input_range_numbers(state, arg, input);
		return 0;
	case INPUT_METRIC:
		read_metric(state, arg, &input->filter.metric);
		return 0;
	case INPUT_PID:
		input->filter.pids = input->pids;
		parse_ids(state, "pid", arg, input->pids, &input->filter.n_pids);
		return 0;
	case INPUT_TID:
		input->filter.tids = input->tids;
		parse_ids(state, "tid", arg, input->tids, &input->filter.n_tids);
		return 0;
	case INPUT_COMM:
		input->filter.comms = input->comms;
		parse_name(state, "comm", arg, input->comms, &input->filter.n_comms);
		return 0;
	case INPUT_UNIT:
		parse_pattern(state, "unit", arg, input->units, &input->filter.units);
		return 0;
	case INPUT_SINCE:
		input->since = arg;
		return 0;
	case INPUT_FROM:
		input->from = arg;
		return 0;
	case INPUT_TO:
		input->to = arg;
		return 0;
	case ARGP_KEY_END:
		input_range_times(state, input);
		check(state, input);
		return 0;
	case INPUT_NO_RECONSTRUCTED:
		input->filter.no_reconstructed = true;
		return 0;
	default:
		return parse_paths(key, arg, state);
	}
}

const struct argp input_argp = {.options = input_options, .parser = parse};
const struct argp input_recordings_argp = {.options = input_recordings_options, .parser = parse};
const struct argp input_sources_argp = {.options = input_sources_options, .parser = parse};
const struct argp input_store_argp = {.options = input_store_options, .parser = parse};

char *input_path(const struct input *input)
{
	bool is_service;

	return input->path ? strdup(input->path) : store_path_to_read(&is_service);
}

static int input_status(int error_number)
{
	switch (error_number) {
	case -ENOMEM:
	case -EIO:
		return CMD_FAILED;
	case -EACCES:
	case -EPERM:
		return CMD_NO_SUPPORT;
	default:
		return CMD_USAGE;
	}
}

/* Returns whether the default store is that of the service, which it is if the user has none. */
static bool input_is_service(const struct input *input)
{
	bool is_service = false;

	if (!input->path)
		free(store_path_to_read(&is_service));
	return is_service;
}

int input_explain(const struct input *input, const char *path, int error_number, char *error)
{
	int status = input_status(error_number);

	if (error_number == -EACCES && input_is_service(input))
		message("%s is the service's store, which only root and the group '%s' may read: sudo "
			"usermod -aG %s \"$USER\", then log in again",
			path, STORE_PATH_GROUP, STORE_PATH_GROUP);
	else if (error_number == -ENOENT && input_is_fleet(input))
		message("%s: this verb cannot read a server's database: give a host's store", path);
	else if (error_number == -ENOENT && !input->path)
		message("no store at %s: record one first: sudo stackd --pid PID", path);
	else if (error)
		message("%s", error);
	else
		message("cannot read %s: %s", path, strerror(-error_number));
	/* An empty store is no error in the arguments: nothing has been recorded into it yet. */
	if (error_number == -ENODATA && !input->recording && !input->range.first)
		status = CMD_NO_SAMPLES;
	free(error);
	return status;
}

int input_only_samples(const struct input *input, const char *what)
{
	const char *name = metric_info(input->filter.metric)->name;

	if (input->filter.metric == METRIC_CPU)
		return CMD_DONE;
	message("%s shows samples only: 'stackctl report --metric %s' shows that metric", what,
		name);
	return CMD_USAGE;
}

void input_regions_off(const struct profile *profile)
{
	struct buf b = {0};

	report_header_off(profile, "", &b);
	if (b.len)
		message("%.*s", (int)b.len, (const char *)b.data);
	buf_free(&b);
}

bool input_has_times(enum metric metric, const char *path, struct store_reader *reader)
{
	const struct store_recording *recording = &store_reader_tables(reader)->recording;
	const char *name = metric_info(metric)->name;
	uint64_t series;

	if (!metric_info(metric)->has_samples || store_reader_series(reader, &series) < 0 ||
	    metric_is_of(metric, series, store_is_timed(recording)))
		return true;
	if (metric_is_of(metric, series, true))
		message("%s adds up times, and the samples of recording %lld in %s count %s: "
			"record with 'stackd --wait -e cpu-clock'",
			name, (long long)recording->id, path, recording->event);
	else
		message("%s is the time of samples and waits, and recording %lld in %s has no "
			"waits: record with 'stackd --wait'",
			name, (long long)recording->id, path);
	return false;
}

/* Returns whether the recording has a series that the verb can show without samples. */
static bool has_other_series(const struct input *input, struct store_reader *reader)
{
	uint64_t series;

	return input->takes_series && store_reader_series(reader, &series) == 0 &&
	       series & input->takes_series;
}

static int sum_up(const struct input *input, const char *path, struct input_open *open)
{
	int err;

	if (!input_is_fleet(input) && !input_is_tags(input) &&
	    !input_has_times(input->filter.metric, path, open->reader))
		return CMD_NO_SAMPLES;
	err = input->shows_interpreter ? 0 : interpreter_hide(open->reader);
	if (!err)
		err = profile_new(open->reader, &input->filter, &open->profile);
	if (err == 0 || (err == -ENODATA && has_other_series(input, open->reader)))
		return CMD_DONE;
	if (err != -ENODATA)
		return input_explain(input, path, err, NULL);
	input_nothing(input, path, open);
	return CMD_NO_SAMPLES;
}

/* Returns the time by which looking up names is limited: CPU time, plus an eighth of the wall
 * clock's time. If other programs use the processor, or a file comes from a slow disk, this time
 * passes more slowly than the wall clock's. Then a reader waits up to eight times as long, rather
 * than show fewer names. */
static uint64_t input_now(void *arg)
{
	(void)arg;
	return clock_ns(CLOCK_THREAD_CPUTIME_ID) + clock_ns(CLOCK_MONOTONIC) / 8;
}

int input_reader_names(struct reader_names **ret_names)
{
	const struct reader_names_options options = {
		.proc_root = "/proc", .sys_root = "/sys", .now_ns = input_now};
	struct rlimit limit;

	/* A recording of a whole machine has many objects, each of which is a file to open. */
	if (!getrlimit(RLIMIT_NOFILE, &limit)) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	return reader_names_new(&options, ret_names);
}

/* Returns whether the verb shows names, or the filter selects samples by names. */
static bool wants_names(const struct input *input)
{
	const struct profile_filter *f = &input->filter;

	return !input->is_nameless || f->symbols.n || f->focus.n || f->ignore.n;
}

int input_find_names(const struct input *input, struct input_open *open)
{
	int err;

	if (reader_names_are_all(store_reader_tables(open->reader)) || !wants_names(input))
		return 0;
	err = input_reader_names(&open->late);
	if (err == 0)
		err = reader_names_find(open->late, open->reader, INPUT_NAMES_NS);
	if (err == 0 && reader_names_left(open->late))
		message("%u code locations are shown as object+offset: looking up their names "
			"took too long",
			reader_names_left(open->late));
	return err;
}

int input_open(const struct input *input, struct input_open *ret_open)
{
	struct input_open open = {0};
	char *error = NULL, *path = input_path(input);
	int err, status;

	if (!path) {
		message("out of memory");
		return CMD_FAILED;
	}
	if (input_is_fleet(input)) {
		status = input_fleet_open(input, &open.reader);
	} else if (input_is_tags(input)) {
		status = input_tags_open(input, &open.reader);
	} else {
		err = input_open_reader(input, path, &open.reader, &error);
		if (err == 0)
			err = input_find_names(input, &open);
		status = err < 0 ? input_explain(input, path, err, error) : CMD_DONE;
	}
	if (status == CMD_DONE)
		status = sum_up(input, path, &open);
	free(path);
	if (!open.profile)
		input_close(&open);
	*ret_open = open;
	return status;
}

void input_close(struct input_open *open)
{
	profile_free(open->profile);
	store_reader_close(open->reader);
	reader_names_free(open->late);
	*open = (struct input_open){0};
}
