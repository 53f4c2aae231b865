/* SPDX-License-Identifier: MIT */
/* stackctl align: measures how well alignment completes call paths. It cuts a recording's complete
 * paths, aligns them, and compares the result with the original paths. */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/argp_help.h"
#include "cmd.h"
#include "message.h"
#include "options.h"
#include "output.h"
#include "report/align_accuracy.h"
#include "show.h"

#define CMD_ALIGN_ROWS 10

enum {
	CMD_ALIGN_DEPTH = 0x200,
	CMD_ALIGN_COMPARE,
	CMD_ALIGN_SHARE,
	CMD_ALIGN_ANCHORS,
	CMD_ALIGN_HEIGHTS,
	CMD_ALIGN_ROUTINES
};

struct cmd_align {
	struct show show;
	struct align_accuracy_options options;
	size_t routines;
	bool is_compared;
};

static const struct argp_option cmd_align_options[] = {
	{NULL, 0, NULL, 0, "What to measure:", 3},
	{"depth", CMD_ALIGN_DEPTH, "N", 0,
	 "Cut paths to the function that was hit and its N callers (default 2)", 3},
	{"compare", CMD_ALIGN_COMPARE, 0, 0,
	 "Compare the aligned paths with the complete ones: right and wrong paths and frames, and the "
	 "time of each routine (required)",
	 3},
	{"share", CMD_ALIGN_SHARE, "PERCENT", 0,
	 "Cut a random share of the paths, as if walks had failed (default 100: all)", 3},
	{"no-anchors", CMD_ALIGN_ANCHORS, 0, 0,
	 "Also cut the paths that stackd --depth would have recorded whole", 3},
	{"no-heights", CMD_ALIGN_HEIGHTS, 0, 0, "Align by routines alone, as without --heights", 3},
	{"routines", CMD_ALIGN_ROUTINES, "N", 0, "Rows of the table of routines (default 10)", 3},
	{0},
};

static uint32_t cmd_align_number(struct argp_state *state, const char *option, const char *arg,
				 long least, long most)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(arg, &end, 10);
	if (errno || end == arg || *end || n < least || n > most)
		argp_help_error(state, "--%s: '%s' is not a number from %ld to %ld", option, arg,
				least, most);
	return (uint32_t)n;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cmd_align *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		show_children_begin(state, &args->show);
		return 0;
	case CMD_ALIGN_DEPTH:
		args->options.frames = cmd_align_number(state, "depth", arg, 0, 1000) + 1;
		return 0;
	case CMD_ALIGN_COMPARE:
		args->is_compared = true;
		return 0;
	case CMD_ALIGN_SHARE:
		args->options.percent = cmd_align_number(state, "share", arg, 1, 100);
		return 0;
	case CMD_ALIGN_ANCHORS:
		args->options.no_anchors = true;
		return 0;
	case CMD_ALIGN_HEIGHTS:
		args->options.no_heights = true;
		return 0;
	case CMD_ALIGN_ROUTINES:
		args->routines = cmd_align_number(state, "routines", arg, 0, 1000000);
		return 0;
	case ARGP_KEY_END:
		if (!args->is_compared)
			argp_help_error(state,
					"give --compare: it measures how well alignment works "
					"(reports align incomplete paths by themselves)");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int cmd_align_write(const struct cmd_align *args, const struct input_open *open,
			   const struct align_accuracy *compare)
{
	const struct report_options options = show_options(&args->show);
	struct output output;
	int err, status = show_output_begin(&args->show, args->show.output.is_json, &output);

	if (status != CMD_DONE)
		return status;
	if (args->show.output.is_json)
		err = align_accuracy_write_json(compare, open->profile, output.file);
	else
		err = align_accuracy_write_text(compare, open->profile, &options, args->routines,
						output.file);
	return output_end(&output, err);
}

static int cmd_align_run(void *arg, const struct input_open *open)
{
	const struct cmd_align *args = arg;
	struct align_accuracy *compare = NULL;
	int status, err = align_accuracy_new(open->profile, &args->options, &compare);

	if (err == -ENODATA) {
		message("recording %lld has no complete path of more than %u frames: record "
			"without --depth, or ask for a smaller --depth",
			(long long)profile_tables(open->profile)->recording.id,
			args->options.frames);
		return CMD_NO_SAMPLES;
	}
	if (err < 0) {
		message("cannot align: %s", strerror(-err));
		return CMD_FAILED;
	}
	status = cmd_align_write(args, open, compare);
	align_accuracy_free(compare);
	return status;
}

int cmd_align(int argc, char **argv)
{
	static const struct argp argp = {
		.options = cmd_align_options,
		.parser = parse,
		.doc = "Shows how well alignment completes call paths: cuts a recording's "
		       "complete paths, aligns them and compares the result with the original "
		       "paths.\vExamples:\n\n  stackd --heights -o s.db -- ./program\n  stackctl "
		       "align -i s.db --depth 2 --compare\n  stackctl align -i s.db --depth 7 "
		       "--share 10 --compare\n",
		.children = show_children,
	};
	struct cmd_align args = {.options = {.frames = 3, .percent = 100},
				 .routines = CMD_ALIGN_ROWS};

	options_parse(&argp, argc, argv, &args);
	args.show.input.filter.no_reconstructed = true;
	return show_run(&args.show, cmd_align_run, &args);
}
