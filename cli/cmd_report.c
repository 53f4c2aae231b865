/* SPDX-License-Identifier: MIT */
/* stackctl report: shows a recording as call paths, functions, callers, or over time. */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/argp_help.h"
#include "cmd.h"
#include "input_fleet.h"
#include "input_tags.h"
#include "input_nothing.h"
#include "message.h"
#include "options.h"
#include "output.h"
#include "tree/histogram.h"
#include "report/report.h"
#include "tree/frame_sources.h"
#include "show.h"

/* Default of --percent-limit for text; JSON has all rows by default */
#define CMD_REPORT_LIMIT 0.5

#define CMD_REPORT_BINS	 40
#define CMD_REPORT_WAITS 50 /* default --top of text */

enum {
	CMD_REPORT_VIEW = 0x200,
	CMD_REPORT_AROUND,
	CMD_REPORT_BY,
	CMD_REPORT_BINS_OPTION,
	CMD_REPORT_LBR,
	CMD_REPORT_PERCENT,
	CMD_REPORT_TOP,
	CMD_REPORT_SORT
};

struct cmd_report {
	struct show show;
	struct report_options options;
	double percent_limit; /* argument of --percent-limit; negative: not given */
	bool is_lbr;
	bool has_by;  /* --by is given */
	bool has_top; /* --top is given */
	bool has_sort;
};

static const struct argp_option cmd_report_options[] = {
	{"view", CMD_REPORT_VIEW, "tree|flat|callers|around|time|regions|wakers|waits", 0,
	 "tree: call paths from the root down (default); flat: functions; callers: functions with "
	 "their callers; around: callers and callees of one function; time: samples over time; "
	 "regions: passes through each region (stackd --region); wakers: which threads ended "
	 "waits, and what these had waited for themselves (stackd --wakers); waits: single waits "
	 "with begin and end (stackd --wait), with -o FILE.csv as CSV",
	 3},
	{"around", CMD_REPORT_AROUND, "NAME", 0,
	 "The callers and callees of this function (the view 'around')", 3},
	{"by", CMD_REPORT_BY, PARTITION_ARGUMENT, 0, "Divide the report by this (default: process)",
	 3},
	{"bins", CMD_REPORT_BINS_OPTION, "N", ARGP_HELP_RARE,
	 "Steps of the view 'time' (default 40)", 3},
	{"top", CMD_REPORT_TOP, "N", ARGP_HELP_RARE,
	 "Rows of the view 'waits'; 0: all (default 50; with --json, or as .csv, all)", 3},
	{"sort", CMD_REPORT_SORT, "duration|time", ARGP_HELP_RARE,
	 "Order of the view 'waits': the longest first (default), or the earliest. perf's keys "
	 "(comm, pid, tid, cpu, symbol, dso) choose --by and --view flat",
	 3},
	{"percent-limit", CMD_REPORT_PERCENT, "PERCENT", ARGP_HELP_RARE,
	 "Sum up rows below this share of their part (default 0.5; with --json 0)", 3},
	{"lbr", CMD_REPORT_LBR, 0, ARGP_HELP_RARE,
	 "In the tree, add a column with the source of frames: br(anch record), wa(lk), pr(efix), "
	 "st(itched), al(igned), ta(g); '?' means not verified. For walks by rules other than "
	 "unwind information: rt (a runtime's table), an(alysed code), fp (frame pointer)",
	 3},
	{0},
};

/* Returns the index of a word in a list that NULL ends. */
static int word(struct argp_state *state, const char *option, const char *arg,
		const char *const *words, const char *list)
{
	for (int i = 0; words[i]; i++)
		if (strcmp(words[i], arg) == 0)
			return i;
	argp_help_error(state, "--%s '%s': give one of %s", option, arg, list);
	return 0;
}

static void parse_view(struct argp_state *state, const char *arg, struct cmd_report *args)
{
	static const char *const words[] = {
		[REPORT_TREE] = "tree",	    [REPORT_FLAT] = "flat",   [REPORT_CALLERS] = "callers",
		[REPORT_AROUND] = "around", [REPORT_TIME] = "time",   [REPORT_REGIONS] = "regions",
		[REPORT_WAKERS] = "wakers", [REPORT_WAITS] = "waits", NULL};

	args->options.view = (enum report_view)word(state, "view", arg, words,
						    "tree, flat, callers, around, time, regions, "
						    "wakers, waits");
	args->show.output.own_ending = args->options.view == REPORT_WAITS ? ".csv" : NULL;
	if (args->options.view == REPORT_REGIONS)
		args->show.input.filter.metric = METRIC_REGION_TIME;
	if (args->options.view == REPORT_WAKERS)
		args->show.input.filter.metric = METRIC_WAIT_BLOCKED;
	if (args->options.view == REPORT_WAITS && args->show.input.filter.metric == METRIC_CPU)
		args->show.input.filter.metric = METRIC_WAIT;
}

static void parse_by(struct argp_state *state, const char *arg, struct cmd_report *args)
{
	if (partition_by_word(arg, &args->options.by) < 0)
		argp_help_error(state, "--by '%s': give one of %s", arg, PARTITION_WORDS);
	args->has_by = true;
	args->show.input.filter.by_cpu = args->options.by == PARTITION_BY_CPU;
	args->show.input.filter.by_label = partition_label(arg);
}

static void parse_bins(struct argp_state *state, const char *arg, struct cmd_report *args)
{
	char *end;
	long n = strtol(arg, &end, 10);

	if (end == arg || *end || n < 1 || n > HISTOGRAM_MAX_BINS)
		argp_help_error(state, "--bins: '%s' is not a number from 1 to %u", arg,
				HISTOGRAM_MAX_BINS);
	args->options.n_bins = (uint32_t)n;
}

static void parse_top(struct argp_state *state, const char *arg, struct cmd_report *args)
{
	char *end;
	const unsigned long long n = strtoull(arg, &end, 10);

	/* Every number is accepted; strtoull() replaces one that is too large by ULLONG_MAX. */
	if (end == arg || *end || *arg < '0' || *arg > '9')
		argp_help_error(state, "--top: '%s' is not a number from 0", arg);
	args->options.top = (size_t)n;
	args->has_top = true;
}

/* Applies one of perf's sort keys. Returns false if it is none. */
static bool sort_by_key(struct argp_state *state, const char *key, struct cmd_report *args)
{
	static const struct {
		const char *key;
		const char *by; /* NULL: the list of functions, which has functions and objects */
	} keys[] = {{"pid", "process"}, {"comm", "command"}, {"tid", "thread"}, {"cpu", "cpu"},
		    {"cgroup", "unit"}, {"sym", NULL},	     {"symbol", NULL},	{"dso", NULL},
		    {"overhead", NULL}, {"sample", NULL},    {"period", NULL}};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		if (strcmp(keys[i].key, key) != 0)
			continue;
		if (!keys[i].by)
			args->options.view = REPORT_FLAT;
		else if (!args->has_by)
			parse_by(state, keys[i].by, args);
		return true;
	}
	return false;
}

/* Parses the order of the view 'waits', or sort keys of perf, which choose parts and the list of
 * functions. */
static void parse_sort(struct argp_state *state, char *arg, struct cmd_report *args)
{
	static const char *const words[] = {"duration", "time"};
	char *rest = NULL;

	for (size_t i = 0; i < 2; i++) {
		if (strcmp(words[i], arg) == 0) {
			args->options.by_time = i == 1;
			args->has_sort = true;
			return;
		}
	}
	for (char *key = strtok_r(arg, ",", &rest); key; key = strtok_r(NULL, ",", &rest)) {
		if (!sort_by_key(state, key, args))
			argp_help_error(
				state,
				"--sort '%s': give duration or time (with --view waits), or "
				"one of perf's keys comm, pid, tid, cpu, cgroup, symbol, dso",
				key);
	}
}

/* Checks the options that only --view waits allows. */
static void check_waits(struct argp_state *state, const struct cmd_report *args)
{
	const enum metric metric = args->show.input.filter.metric;

	if (args->options.view != REPORT_WAITS) {
		if (args->has_top || args->has_sort)
			argp_help_error(state,
					"--top and --sort duration|time work with --view waits "
					"only");
		return;
	}
	if (metric != METRIC_WAIT && metric != METRIC_WAIT_BLOCKED &&
	    metric != METRIC_WAIT_RUNNABLE)
		argp_help_error(state, "--view waits: --metric %s, %s or %s",
				metric_info(METRIC_WAIT)->name,
				metric_info(METRIC_WAIT_BLOCKED)->name,
				metric_info(METRIC_WAIT_RUNNABLE)->name);
	if (args->has_by)
		argp_help_error(state, "--view waits lists single waits: leave out --by");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cmd_report *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		show_children_begin(state, &args->show);
		return 0;
	case CMD_REPORT_VIEW:
		parse_view(state, arg, args);
		return 0;
	case CMD_REPORT_AROUND:
		args->options.around = arg;
		args->options.view = REPORT_AROUND;
		args->show.output.own_ending = NULL;
		return 0;
	case CMD_REPORT_BY:
		parse_by(state, arg, args);
		return 0;
	case CMD_REPORT_BINS_OPTION:
		parse_bins(state, arg, args);
		return 0;
	case CMD_REPORT_TOP:
		parse_top(state, arg, args);
		return 0;
	case CMD_REPORT_SORT:
		parse_sort(state, arg, args);
		return 0;
	case ARGP_KEY_END:
		check_waits(state, args);
		if (args->options.view == REPORT_TIME && (args->options.by == PARTITION_BY_REASON ||
							  args->options.by == PARTITION_BY_OBJECT))
			argp_help_error(state,
					"--view time cannot be divided by %s: give another --by",
					partition_word(args->options.by));
		if (args->options.view == REPORT_AROUND && !args->options.around)
			argp_help_error(state,
					"--view around needs a function: give --around NAME");
		if (args->options.view == REPORT_TIME &&
		    metric_info(args->show.input.filter.metric)->less != SERIES_CPU)
			argp_help_error(
				state, "--view time cannot show live memory: 'stackctl heap' does");
		return 0;
	case CMD_REPORT_PERCENT:
		args->percent_limit = options_percent(state, "--percent-limit", arg);
		return 0;
	case CMD_REPORT_LBR:
		args->is_lbr = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static bool is_csv(const struct cmd_report *args)
{
	return args->options.view == REPORT_WAITS &&
	       output_is_named(args->show.output.path, ".csv");
}

static void complete(struct cmd_report *args)
{
	struct report_options *options = &args->options;

	options->percent_limit = args->percent_limit >= 0    ? args->percent_limit
				 : args->show.output.is_json ? 0
							     : CMD_REPORT_LIMIT;
	options->with_sources = args->is_lbr;
	options->calls_apart = args->show.input.is_unfolded;
	/* A pager scrolls to the side. */
	options->width = args->show.terminal.pager ? 0 : args->show.terminal.width;
	options->color = args->show.terminal.color;
	options->utf8 = args->show.terminal.utf8;
	options->is_brief = args->show.terminal.is_terminal && !args->show.terminal.is_verbose;
	options->full_names = args->show.terminal.full_names;
	if (options->view != REPORT_AROUND)
		options->around = NULL;
	if (!options->n_bins)
		options->n_bins = CMD_REPORT_BINS;
	if (!args->has_top && !args->show.output.is_json && !is_csv(args))
		options->top = CMD_REPORT_WAITS;
}

/* Checks --lbr, which shows frames from branch records and from rules that are not unwind
 * information. If the recording has neither, tells how to record some. Returns the exit status. */
static int cmd_report_lbr(const struct input_open *open)
{
	const struct store_recording *recording = &profile_tables(open->profile)->recording;

	if (frame_sources_has_branches(open->profile) ||
	    frame_sources_has_weak_rules(open->profile))
		return CMD_DONE;
	if (strncmp(recording->target, "import ", 7) == 0)
		message("recording %lld was imported and has no paths from branch records: record "
			"with 'perf record --call-graph lbr' (calls that have not returned, Intel "
			"only) or with stackd, and import that",
			(long long)recording->id);
	else
		message("recording %lld has no branch records: record with them first: "
			"sudo stackd --lbr --pid PID ('stackctl doctor' checks whether this "
			"processor can)",
			(long long)recording->id);
	return CMD_NO_SAMPLES;
}

/* Checks that a recording has wakers. */
static int cmd_report_wakers(const struct input_open *open)
{
	uint64_t series;

	if (store_reader_series(open->reader, &series) < 0 || series >> SERIES_WAIT_WAKER & 1)
		return CMD_DONE;
	message("recording %lld does not tell who ended waits: record with 'stackd --wakers'",
		(long long)profile_tables(open->profile)->recording.id);
	return CMD_NO_SAMPLES;
}

/* Checks that the function of --view around is in the recording; if not, says so and suggests a
 * similar name. Returns the exit status. */
static int cmd_report_find(const struct cmd_report *args, const struct input_open *open)
{
	const char *name = args->options.around;
	int err = name ? report_find(open->profile, name) : 0;

	if (err == -ENOENT)
		input_no_function(open->profile, name);
	else if (err < 0)
		message("out of memory");
	return err == -ENOENT ? CMD_NO_SAMPLES : err < 0 ? CMD_FAILED : CMD_DONE;
}

static int cmd_report_write(const struct cmd_report *args, const struct input_open *open)
{
	struct output output;
	int err, status = show_output_begin(&args->show, args->show.output.is_json, &output);

	if (status != CMD_DONE)
		return status;
	if (args->show.output.is_json)
		err = report_write_json(open->profile, &args->options, output.file);
	else if (is_csv(args))
		err = report_write_csv(open->profile, &args->options, output.file);
	else
		err = report_write_text(open->profile, &args->options, output.file);
	return output_end(&output, err);
}

static int cmd_report_run(void *arg, const struct input_open *open)
{
	struct cmd_report *args = arg;
	int status;

	complete(args);
	status = cmd_report_find(args, open);
	if (status == CMD_DONE && args->is_lbr)
		status = cmd_report_lbr(open);
	if (status == CMD_DONE && args->options.view == REPORT_WAKERS)
		status = cmd_report_wakers(open);
	return status == CMD_DONE ? cmd_report_write(args, open) : status;
}

/* Prepares an input that may have only sums. A server's database, a tag export, and the view of
 * regions are shown as one part unless --by is given. Returns the exit status. */
static int prepare_sums(struct cmd_report *args)
{
	enum report_view view = args->options.view;
	bool is_fleet = input_is_fleet(&args->show.input);
	int status;

	if (view == REPORT_REGIONS && !args->has_by)
		args->options.by = PARTITION_BY_ALL;
	if (!is_fleet && !input_is_tags(&args->show.input))
		return CMD_DONE;
	if (view == REPORT_TIME || view == REPORT_REGIONS || view == REPORT_WAKERS ||
	    view == REPORT_WAITS || args->is_lbr) {
		message("%s has only sums of samples, without their times and branch records: "
			"give --view tree, flat, callers or around",
			is_fleet ? "a server" : "a tag export");
		return CMD_USAGE;
	}
	if (!args->has_by)
		args->options.by = PARTITION_BY_ALL;
	status = input_fleet_by(&args->show.input, args->options.by);
	return status == CMD_DONE ? input_tags_by(&args->show.input, args->options.by) : status;
}

int cmd_report(int argc, char **argv)
{
	static const struct argp argp = {
		.options = cmd_report_options,
		.parser = parse,
		.args_doc = "[FILE[@ID]]",
		.doc = "Shows where a recording's processes spent their time, by call path."
		       "\vExamples:\n\n"
		       "  stackctl report\n"
		       "  stackctl report --view flat --by all --from 10s --to 20s\n"
		       "  stackctl report --around malloc --ignore '*test*'\n"
		       "  stackctl report --view time --pid 1234\n"
		       "  stackctl report --view regions\n"
		       "  stackctl report --view wakers\n\n"
		       "Every percentage names its base. A path whose walk did not reach the "
		       "thread's entry begins with a mark that gives the reason.\n",
		.children = show_children,
	};
	struct cmd_report args = {.percent_limit = -1};
	int status;

	options_parse(&argp, argc, argv, &args);
	if (args.is_lbr && args.options.view != REPORT_TREE) {
		message("--lbr works with --view tree only");
		return CMD_USAGE;
	}
	status = prepare_sums(&args);
	return status == CMD_DONE ? show_run(&args.show, cmd_report_run, &args) : status;
}
