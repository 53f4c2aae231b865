/* SPDX-License-Identifier: MIT */
/* stackctl diff: what changed between two recordings, and what of it is more than noise. */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "fleet_side.h"
#include "input.h"
#include "input_fleet.h"
#include "tagset/tagset_diff.h"
#include "message.h"
#include "options.h"
#include "output.h"
#include "tag_input.h"
#include "terminal.h"

#define CMD_DIFF_LIMIT 0.1 /* %, of text: JSON has everything by default */

enum { CMD_DIFF_BY = 0x200, CMD_DIFF_METRIC, CMD_DIFF_PERCENT, CMD_DIFF_SIGNIFICANT };

struct cmd_diff {
	struct terminal terminal;
	struct input fleet; /* a server's database, if it has a path */
	const char *inputs[2];
	unsigned n;
	struct output_options output;
	enum tagset_diff_by by;
	enum metric metric;
	double percent_limit; /* negative: not given */
	bool only_significant;
};

static const struct argp_option cmd_diff_options[] = {
	{"by", CMD_DIFF_BY, "function|tag", 0,
	 "Compare functions (default; with what they call) or call paths", 1},
	{"metric", CMD_DIFF_METRIC, "NAME", 0,
	 "What is compared by call path (default: cpu, the samples of the event)", 1},
	{"significant", CMD_DIFF_SIGNIFICANT, 0, 0, "Only what changed beyond noise", 1},
	{"percent-limit", CMD_DIFF_PERCENT, "PERCENT", 0,
	 "Leave out what is below this share in both (default 0.1; with --json 0)", 1},
	{0},
};

static void parse_percent(struct argp_state *state, const char *arg, struct cmd_diff *args)
{
	char *end;

	args->percent_limit = strtod(arg, &end);
	if (end == arg || *end || !(args->percent_limit >= 0 && args->percent_limit <= 100))
		argp_error(state, "--percent-limit: '%s' is not a number from 0 to 100", arg);
}

static void parse_by(struct argp_state *state, const char *arg, struct cmd_diff *args)
{
	if (strcmp(arg, "tag") == 0)
		args->by = TAGSET_DIFF_BY_TAG;
	else if (strcmp(arg, "function") == 0)
		args->by = TAGSET_DIFF_BY_FUNCTION;
	else
		argp_error(state, "--by: '%s' is neither function nor tag", arg);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cmd_diff *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->terminal;
		state->child_inputs[1] = &args->output;
		state->child_inputs[2] = &args->fleet;
		return 0;
	case CMD_DIFF_BY:
		parse_by(state, arg, args);
		return 0;
	case CMD_DIFF_METRIC:
		input_metric(state, arg, &args->metric);
		return 0;
	case CMD_DIFF_SIGNIFICANT:
		args->only_significant = true;
		return 0;
	case CMD_DIFF_PERCENT:
		parse_percent(state, arg, args);
		return 0;
	case ARGP_KEY_ARG:
		if (args->n == 2)
			argp_error(state, "two are compared, and '%s' is a third", arg);
		args->inputs[args->n++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (args->n < 2)
			argp_error(state,
				   "which two? Stores (FILE, FILE@ID, @ID), tag exports, or, "
				   "with -i URL, hosts and times (HOST, @FROM..TO)");
		if (!input_is_fleet(&args->fleet) &&
		    (args->fleet.path || args->fleet.since || args->fleet.from || args->fleet.to ||
		     args->fleet.credentials))
			argp_error(state, "-i, --since, --from, --to and --credentials are for "
					  "parts of a server's database: -i "
					  "clickhouse://HOST/DATABASE");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int cmd_diff_write(const struct cmd_diff *args, const struct tagset *set,
			  const struct tagset_diff *diff)
{
	struct tagset_diff_options options = {
		.names = {args->inputs[0], args->inputs[1]},
		.only_significant = args->only_significant,
		.percent_limit = args->percent_limit >= 0 ? args->percent_limit
				 : args->output.is_json	  ? 0
							  : CMD_DIFF_LIMIT,
		.color = args->terminal.color,
		.width = args->terminal.pager ? 0 : args->terminal.width,
	};
	struct output output;
	int status = output_begin_paged(
		args->output.path, args->output.is_json ? NULL : args->terminal.pager, &output);

	if (status != CMD_DONE)
		return status;
	return output_end(&output,
			  args->output.is_json
				  ? tagset_diff_write_json(set, diff, &options, output.file)
				  : tagset_diff_write_text(set, diff, &options, output.file));
}

static int compare(const struct cmd_diff *args, const struct tagset *set)
{
	struct tagset_diff diff;
	int status, err = tagset_diff_make(set, args->by, args->metric, &diff);

	if (err == -ENODATA) {
		message("%s has no %s: there is nothing to compare",
			args->inputs[diff.amount[0] ? 1 : 0],
			args->metric == METRIC_CPU ? "samples" : metric_info(args->metric)->name);
		return CMD_NO_SAMPLES;
	}
	if (err < 0) {
		message("%s", strerror(-err));
		return CMD_FAILED;
	}
	status = cmd_diff_write(args, set, &diff);
	tagset_diff_release(&diff);
	return status;
}

static int add_fleet(const struct cmd_diff *args, struct tagset *set, uint32_t i)
{
	struct fleet_side side;
	int status = fleet_side_parse(args->inputs[i], &args->fleet, &side);

	if (status == CMD_DONE)
		status = tag_input_add_fleet(set, args->inputs[i], i, &side.input, args->metric);
	fleet_side_free(&side);
	return status;
}

static int add(const struct cmd_diff *args, struct tagset *set, uint32_t i)
{
	if (input_is_fleet(&args->fleet))
		return add_fleet(args, set, i);
	return tag_input_add(set, args->inputs[i], i, TAG_INPUT_LATEST, args->metric);
}

int cmd_diff(int argc, char **argv)
{
	static const struct argp_child children[] = {{&terminal_argp, 0, NULL, 0},
						     {&output_argp, 0, NULL, 0},
						     {&input_fleet_argp, 0, NULL, 0},
						     {0}};
	static const struct argp argp = {
		.options = cmd_diff_options,
		.parser = parse,
		.args_doc = "A B",
		.doc = "Shows what changed from recording A to recording B, and what of it is more "
		       "than noise.\v"
		       "A and B are stores (FILE: its latest recording; FILE@ID; @ID: of the "
		       "default store) or files that 'stackctl export --tags' or 'stackctl merge' "
		       "wrote; with -i clickhouse://HOST/DATABASE parts of that: HOST (a name, or a "
		       "pattern with * and ?), @FROM..TO (moments, or times until now), or "
		       "HOST@FROM..TO. What is compared are shares of all samples, or of the whole sum of "
		       "another metric, so runs may differ in length and frequency.",
		.children = children,
	};
	struct cmd_diff args = {.by = TAGSET_DIFF_BY_FUNCTION, .percent_limit = -1};
	struct tagset *set;
	int status = CMD_DONE;

	options_parse(&argp, argc, argv, &args);
	terminal_setup(&args.terminal, args.output.path);
	if (tagset_new(&set) < 0) {
		message("out of memory");
		return CMD_FAILED;
	}
	for (uint32_t i = 0; status == CMD_DONE && i < 2; i++)
		status = add(&args, set, i);
	if (status == CMD_DONE)
		status = compare(&args, set);
	tagset_free(set);
	return status;
}
