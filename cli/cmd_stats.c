/* SPDX-License-Identifier: MIT */
/* stackctl stats: prints the figures of a recording, also if it has no samples; then the exit
 * status is CMD_NO_SAMPLES. */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>

#include "base/argp_help.h"
#include "cmd.h"
#include "input.h"
#include "options.h"
#include "output.h"
#include "report/report.h"
#include "store/store_reader.h"

enum { CMD_STATS_PROMETHEUS = 0x200 };

struct cmd_stats {
	bool is_prometheus;
	bool is_verbose;
	struct input input;
	struct output_options output;
};

static const struct argp_option cmd_stats_options[] = {
	{"prometheus", CMD_STATS_PROMETHEUS, 0, 0,
	 "As metrics for Prometheus, for node_exporter's textfile collector (-o FILE.prom)", 3},
	{"verbose", 'v', 0, 0, "All figures and counters (docs/COUNTERS.md)", 3},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cmd_stats *args = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		args->input.shows_interpreter = true; /* figures are of all that was recorded */
		state->child_inputs[0] = &args->input;
		state->child_inputs[1] = &args->output;
		return 0;
	case CMD_STATS_PROMETHEUS:
		args->is_prometheus = true;
		return 0;
	case 'v':
		args->is_verbose = true;
		return 0;
	case ARGP_KEY_END:
		if (args->is_prometheus && (args->output.is_json || args->input.is_range))
			argp_help_error(state,
					"--prometheus shows one recording, and excludes --json");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Writes the metrics of a recording for Prometheus, without reading samples. */
static int cmd_stats_prometheus(const struct cmd_stats *args)
{
	char *error = NULL, *path = input_path(&args->input);
	struct store_reader *reader;
	struct output output;
	int status, err;

	err = path ? store_reader_open_figures(path, args->input.recording, &reader, &error)
		   : -ENOMEM;
	if (err < 0) {
		status = input_explain(&args->input, path ? path : "store", err, error);
		free(path);
		return status;
	}
	free(path);
	status = output_begin(args->output.path, &output);
	if (status == CMD_DONE)
		status = output_end(
			&output, report_write_prometheus(store_reader_tables(reader), output.file));
	store_reader_close(reader);
	return status;
}

/* Returns whether there are records of other metrics than samples, such as waits. */
static bool has_other_metrics(struct store_reader *reader)
{
	uint64_t series;

	return store_reader_series(reader, &series) >= 0 && series;
}

static int write_stats(const struct cmd_stats *args, struct profile *profile, FILE *out)
{
	if (args->output.is_json)
		return report_write_stats_json(profile, out);
	return args->is_verbose ? report_write_stats_text(profile, out)
				: report_write_stats_short(profile, out);
}

int cmd_stats(int argc, char **argv)
{
	static const struct argp_child children[] = {
		{&input_argp, 0, NULL, 0}, {&output_argp, 0, NULL, 0}, {0}};
	static const struct argp argp = {
		.options = cmd_stats_options,
		.parser = parse,
		.args_doc = "[FILE[@ID]]",
		.doc = "Shows the figures of a recording: samples, losses, quality, cost.",
		.children = children,
	};
	struct cmd_stats args = {.input = {.is_nameless = true}};
	struct input_open open;
	struct output output;
	int status, written;

	options_parse(&argp, argc, argv, &args);
	if (args.is_prometheus)
		return cmd_stats_prometheus(&args);
	status = input_open(&args.input, &open);
	if (!open.profile)
		return status;
	if (status == CMD_NO_SAMPLES && has_other_metrics(open.reader))
		status = CMD_DONE;
	written = output_begin(args.output.path, &output);
	if (written == CMD_DONE)
		written = output_end(&output, write_stats(&args, open.profile, output.file));
	input_close(&open);
	return written != CMD_DONE ? written : status;
}
