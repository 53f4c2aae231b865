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

struct cmd_stats {
	struct input input;
	struct output_options output;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cmd_stats *args = state->input;

	(void)arg;
	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	state->child_inputs[0] = &args->input;
	state->child_inputs[1] = &args->output;
	return 0;
}

int cmd_stats(int argc, char **argv)
{
	static const struct argp_child children[] = {
		{&input_argp, 0, NULL, 0}, {&output_argp, 0, NULL, 0}, {0}};
	static const struct argp argp = {
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
	written = output_begin(args.output.path, &output);
	if (written == CMD_DONE)
		written = output_end(&output,
				     args.output.is_json
					     ? report_write_stats_json(open.profile, output.file)
					     : report_write_stats_text(open.profile, output.file));
	input_close(&open);
	return written != CMD_DONE ? written : status;
}
