/* SPDX-License-Identifier: MIT */
/* stackctl report: a recording as a call-path tree, a flat list or a tree of callers. */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "input.h"
#include "message.h"
#include "options.h"
#include "output.h"
#include "report/report.h"
#include "terminal.h"

#define CMD_REPORT_LIMIT 0.5 /* %, of text: JSON has everything unless told otherwise */

enum { CMD_REPORT_VIEW = 0x200, CMD_REPORT_LBR, CMD_REPORT_PERCENT, CMD_REPORT_JSON };

struct cmd_report {
	struct input input;
	struct terminal terminal;
	const char *output;
	enum report_view view;
	double percent_limit; /* negative: not given */
	bool is_json, is_lbr;
};

static const struct argp_option cmd_report_options[] = {
	{"view", CMD_REPORT_VIEW, "tree|flat|callers", 0,
	 "Call paths from the root down (default), functions, or functions with their callers", 3},
	{"percent-limit", CMD_REPORT_PERCENT, "PERCENT", 0,
	 "Sum up rows below this share of their process (default 0.5; with --json 0)", 3},
	{"lbr", CMD_REPORT_LBR, 0, 0, "The call paths of the processor's branch records", 3},
	{"json", CMD_REPORT_JSON, 0, 0, "As JSON (schema in docs/JSON.md)", 3},
	{"output", 'o', "FILE", 0, "Write to this file", 3},
	{0},
};

static void cmd_report_parse_view(struct argp_state *state, const char *arg,
				  struct cmd_report *args)
{
	if (strcmp(arg, "tree") == 0)
		args->view = REPORT_TREE;
	else if (strcmp(arg, "flat") == 0)
		args->view = REPORT_FLAT;
	else if (strcmp(arg, "callers") == 0)
		args->view = REPORT_CALLERS;
	else
		argp_error(state, "--view: '%s' is none of tree, flat, callers", arg);
}

static void cmd_report_parse_percent(struct argp_state *state, const char *arg,
				     struct cmd_report *args)
{
	char *end;

	args->percent_limit = strtod(arg, &end);
	if (end == arg || *end || !(args->percent_limit >= 0 && args->percent_limit <= 100))
		argp_error(state, "--percent-limit: '%s' is not a number from 0 to 100", arg);
}

static error_t cmd_report_parse(int key, char *arg, struct argp_state *state)
{
	struct cmd_report *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->input;
		state->child_inputs[1] = &args->terminal;
		return 0;
	case CMD_REPORT_VIEW:
		cmd_report_parse_view(state, arg, args);
		return 0;
	case CMD_REPORT_PERCENT:
		cmd_report_parse_percent(state, arg, args);
		return 0;
	case CMD_REPORT_LBR:
		args->is_lbr = true;
		return 0;
	case CMD_REPORT_JSON:
		args->is_json = true;
		return 0;
	case 'o':
		args->output = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static struct report_options cmd_report_options_of(const struct cmd_report *args)
{
	return (struct report_options){
		.view = args->view,
		.percent_limit = args->percent_limit >= 0 ? args->percent_limit
				 : args->is_json	  ? 0
							  : CMD_REPORT_LIMIT,
		.width = args->terminal.width,
		.color = args->terminal.color,
		.utf8 = args->terminal.utf8,
	};
}

/* Recordings of this version have no branch records: say what makes some. */
static int cmd_report_no_branches(const struct input_open *open)
{
	message("recording %lld has no branch records: record with them first: "
		"sudo stackd --lbr --pid PID ('stackctl doctor' tells whether this processor can)",
		(long long)profile_tables(open->profile)->recording.id);
	return CMD_NO_SAMPLES;
}

static int cmd_report_write(const struct cmd_report *args, const struct input_open *open)
{
	struct report_options options = cmd_report_options_of(args);
	struct output output;
	int r, status = output_begin_paged(args->output,
					   args->is_json ? NULL : args->terminal.pager, &output);

	if (status != CMD_DONE)
		return status;
	if (args->is_json)
		r = report_write_json(open->profile, &options, output.file);
	else
		r = report_write_text(open->profile, &options, output.file);
	return output_end(&output, r);
}

int cmd_report(int argc, char **argv)
{
	static const struct argp_child children[] = {
		{&input_argp, 0, NULL, 0}, {&terminal_argp, 0, NULL, 0}, {0}};
	static const struct argp argp = {
		.options = cmd_report_options,
		.parser = cmd_report_parse,
		.doc = "Shows where a recording's processes spent their time, by call path.",
		.children = children,
	};
	struct cmd_report args = {.percent_limit = -1};
	struct input_open open;
	int status;

	options_parse(&argp, argc, argv, &args);
	terminal_setup(&args.terminal, args.output);
	status = input_open(&args.input, &open);
	if (status == CMD_DONE)
		status = args.is_lbr ? cmd_report_no_branches(&open)
				     : cmd_report_write(&args, &open);
	input_close(&open);
	return status;
}
