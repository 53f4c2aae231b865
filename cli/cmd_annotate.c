/* SPDX-License-Identifier: MIT */
/* stackctl annotate: shows the samples of a function by source line and instruction. */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/argp_help.h"
#include "cmd.h"
#include "input_nothing.h"
#include "message.h"
#include "options.h"
#include "output.h"
#include "report/annotate_view.h"
#include "show.h"

#define CMD_ANNOTATE_MAX 20u /* most functions that are shown */

enum { CMD_ANNOTATE_SOURCE = 0x200, CMD_ANNOTATE_ROOT, CMD_ANNOTATE_INTEL };

struct cmd_annotate {
	struct show show;
	struct annotate_code_options code_options;
	const char *name;
};

static const struct argp_option cmd_annotate_options[] = {
	{"source", CMD_ANNOTATE_SOURCE, "DIR", 0,
	 "Look for source files in this folder, too: by their path below it, or by their name", 3},
	{"root", CMD_ANNOTATE_ROOT, "DIR", 0, "Look for programs and libraries below this folder",
	 3},
	{"intel", CMD_ANNOTATE_INTEL, 0, 0, "Intel's syntax of instructions (default: AT&T's)", 3},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cmd_annotate *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		show_children_begin(state, &args->show);
		return 0;
	case CMD_ANNOTATE_SOURCE:
		args->code_options.source = arg;
		return 0;
	case CMD_ANNOTATE_ROOT:
		args->code_options.root = arg;
		return 0;
	case CMD_ANNOTATE_INTEL:
		args->code_options.intel = true;
		return 0;
	case ARGP_KEY_ARG:
		if (args->name)
			argp_help_error(state,
					"'%s' and '%s' are two functions: give one, or a "
					"pattern with * and ?",
					args->name, arg);
		args->name = arg;
		return 0;
	case ARGP_KEY_END:
		if (args->show.input.filter.max_depth)
			argp_help_error(state,
					"--max-depth does not apply to source lines: leave it "
					"out");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int cmd_annotate_write(const struct cmd_annotate *args, const struct profile *profile,
			      const struct annotate *annotate)
{
	const struct report_options options = show_options(&args->show);
	struct output output;
	int err, status = show_output_begin(&args->show, args->show.output.is_json, &output);

	if (status != CMD_DONE)
		return status;
	if (args->show.output.is_json)
		err = annotate_write_json(profile, annotate, &args->code_options, output.file);
	else
		err = annotate_write_text(profile, annotate, &args->code_options, &options,
					  output.file);
	return output_end(&output, err);
}

static int cmd_annotate_run(void *arg, const struct input_open *open)
{
	const struct cmd_annotate *args = arg;
	struct annotate annotate;
	int status, err = annotate_make(open->profile, args->name, CMD_ANNOTATE_MAX, &annotate);

	if (err == -ENOENT) {
		input_no_function(open->profile, args->name ? args->name : "*");
		return CMD_NO_SAMPLES;
	}
	if (err < 0) {
		message("%s", strerror(-err));
		return CMD_FAILED;
	}
	status = cmd_annotate_write(args, open->profile, &annotate);
	annotate_free(&annotate);
	return status;
}

int cmd_annotate(int argc, char **argv)
{
	static const struct argp argp = {
		.options = cmd_annotate_options,
		.parser = parse,
		.args_doc = "[FUNCTION]",
		.doc = "Shows which source lines and instructions of a function have the "
		       "samples.\vFUNCTION is a name or a pattern with * and ?; without it, the "
		       "function with the most samples is shown. The recording has the line "
		       "numbers. The text of the lines and the instructions come from this "
		       "machine's files, as long as these are the files that were recorded.\n\n"
		       "  stackctl annotate\n"
		       "  stackctl annotate 'app::work' --source ~/src/app\n",
		.children = show_children,
	};
	struct cmd_annotate args = {0};

	options_parse(&argp, argc, argv, &args);
	return show_run(&args.show, cmd_annotate_run, &args);
}
