/* SPDX-License-Identifier: MIT */
/* stackctl stats: the figures of a recording. They are printed for one without samples too; then
 * the exit status is CMD_NO_SAMPLES. */
#include <argp.h>
#include <errno.h>

#include "cmd.h"
#include "input.h"
#include "options.h"
#include "output.h"
#include "report/report.h"

enum { CMD_STATS_JSON = 0x200 };

struct cmd_stats {
	struct input input;
	const char *output;
	bool is_json;
};

static const struct argp_option cmd_stats_options[] = {
	{"json", CMD_STATS_JSON, 0, 0, "As JSON (schema in docs/JSON.md)", 3},
	{"output", 'o', "FILE", 0, "Write to this file", 3},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cmd_stats *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->input;
		return 0;
	case CMD_STATS_JSON:
		args->is_json = true;
		return 0;
	case 'o':
		args->output = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int cmd_stats(int argc, char **argv)
{
	static const struct argp_child children[] = {{&input_argp, 0, NULL, 0}, {0}};
	static const struct argp argp = {
		.options = cmd_stats_options,
		.parser = parse,
		.doc = "Shows the figures of a recording: samples, losses, quality, cost.",
		.children = children,
	};
	struct cmd_stats args = {.input = {.is_nameless = true}};
	struct input_open open;
	struct output output;
	int status, written;

	options_parse(&argp, argc, argv, &args);
	status = input_open(&args.input, &open);
	if (!open.profile)
		return status;
	written = output_begin(args.output, &output);
	if (written == CMD_DONE)
		written = output_end(
			&output, args.is_json ? report_write_stats_json(open.profile, output.file)
					      : report_write_stats_text(open.profile, output.file));
	input_close(&open);
	return written != CMD_DONE ? written : status;
}
