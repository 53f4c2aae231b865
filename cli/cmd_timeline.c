/* SPDX-License-Identifier: MIT */
/* stackctl timeline: shows when the threads of a recording were in which routines. */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/argp_help.h"
#include "cmd.h"
#include "message.h"
#include "options.h"
#include "output.h"
#include "report/timeline.h"
#include "show.h"

enum { CMD_TIMELINE_THRESHOLD = 0x200, CMD_TIMELINE_SVG };

struct cmd_timeline {
	struct show show;
	struct timeline_options options;
	bool is_svg;
};

static const struct argp_option cmd_timeline_options[] = {
	{"threshold", CMD_TIMELINE_THRESHOLD, "MSms|SAMPLES", 0,
	 "Show routines in which a thread was without a break for at least so many milliseconds "
	 "(20ms), or samples or records of the metric (10) (default: a 200th of the recording)",
	 3},
	{"svg", CMD_TIMELINE_SVG, 0, 0, "Draw a self-contained SVG file for any browser", 3},
	{"output", 'o', "FILE", 0, "Write to this file; a name that ends in .svg makes a picture",
	 3},
	{0},
};

static void threshold(struct argp_state *state, const char *arg, struct timeline_options *options)
{
	char *end;
	double value = strtod(arg, &end);
	bool is_time = strcmp(end, "ms") == 0 || strcmp(end, "s") == 0;

	if (end == arg || (*end && !is_time) || !(value > 0 && value <= 1e12))
		argp_help_error(
			state,
			"--threshold: '%s' is neither a number of milliseconds (20ms) nor of "
			"samples (10)",
			arg);
	if (is_time)
		options->duration_ns = (uint64_t)(value * (*end == 'm' ? 1e6 : 1e9));
	else
		options->samples = (uint64_t)value;
	if (!options->duration_ns && !options->samples)
		argp_help_error(state, "--threshold: '%s' is less than one", arg);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cmd_timeline *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->show.input;
		state->child_inputs[1] = &args->show.terminal;
		return 0;
	case CMD_TIMELINE_THRESHOLD:
		threshold(state, arg, &args->options);
		return 0;
	case CMD_TIMELINE_SVG:
		args->is_svg = true;
		return 0;
	case 'o':
		args->show.output.path = arg;
		args->is_svg = args->is_svg || output_is_named(arg, ".svg");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int cmd_timeline_write(const struct cmd_timeline *args, const struct input_open *open,
			      const struct timeline *chronicle)
{
	const struct report_options options = show_options(&args->show);
	struct output output;
	int err, status = show_output_begin(&args->show, args->is_svg, &output);

	if (status != CMD_DONE)
		return status;
	if (args->is_svg)
		err = timeline_write_svg(chronicle, open->profile, output.file);
	else
		err = timeline_write_text(chronicle, open->profile, &options, output.file);
	return output_end(&output, err);
}

static int cmd_timeline_run(void *arg, const struct input_open *open)
{
	const struct cmd_timeline *args = arg;
	struct timeline *chronicle = NULL;
	int status, err = timeline_new(open->profile, &args->options, &chronicle);

	if (err < 0) {
		message("cannot make the timeline: %s", strerror(-err));
		return CMD_FAILED;
	}
	status = cmd_timeline_write(args, open, chronicle);
	timeline_free(chronicle);
	return status;
}

int cmd_timeline(int argc, char **argv)
{
	static const struct argp_child children[] = {
		{&input_argp, 0, NULL, 0}, {&terminal_argp, 0, NULL, 0}, {0}};
	static const struct argp argp = {
		.options = cmd_timeline_options,
		.parser = parse,
		.args_doc = "[FILE[@ID]]",
		.doc = "Shows which routines each thread was in, from when to when, with up to two of "
		       "their callers and the source line that was seen most."
		       "\vExamples:\n\n"
		       "  stackctl timeline --threshold 20ms\n"
		       "  stackctl timeline --comm worker --from 2s --to 3s --threshold 3\n"
		       "  stackctl timeline --metric region.time\n"
		       "  stackctl timeline -o timeline.svg\n\n"
		       "A routine's time goes from its first sample to the first one elsewhere, or to "
		       "where the thread left the CPU, or is not sampled, for longer than chance "
		       "explains. Of routines that take up the same time only the innermost is "
		       "shown.\n\n"
		       "With --metric the metric's records take the place of samples, and each row has "
		       "the sum of their values too. An instance of a region, or a wait, is where it "
		       "was.\n",
		.children = children,
	};
	struct cmd_timeline args = {0};

	options_parse(&argp, argc, argv, &args);
	if (metric_info(args.show.input.filter.metric)->less != SERIES_CPU) {
		message("timeline cannot show %s: 'stackctl heap' shows it over time",
			metric_info(args.show.input.filter.metric)->name);
		return CMD_USAGE;
	}
	return show_run(&args.show, cmd_timeline_run, &args);
}
