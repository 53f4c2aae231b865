/* SPDX-License-Identifier: MIT */
/* stackctl flamegraph: writes a recording, or the difference of two, as a page with a flame graph.
 */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/argp_help.h"
#include "cmd.h"
#include "fleet_side.h"
#include "export/export_flamegraph.h"
#include "export/export_flamegraph_svg.h"
#include "input.h"
#include "input_fleet.h"
#include "input_tags.h"
#include "message.h"
#include "options.h"
#include "output.h"
#include "terminal.h"

#define CMD_FLAMEGRAPH_BYTES ((size_t)2 << 20)

enum {
	CMD_FLAMEGRAPH_BY = 0x200,
	CMD_FLAMEGRAPH_DIFF,
	CMD_FLAMEGRAPH_PERCENT,
	CMD_FLAMEGRAPH_ALL,
	CMD_FLAMEGRAPH_FLAME
};

struct cmd_flamegraph {
	struct input input;
	const char *output, *before;
	struct flamegraph_options options;
};

static const struct argp_option cmd_flamegraph_options[] = {
	{"diff", CMD_FLAMEGRAPH_DIFF, "BEFORE", 0,
	 "Colour frames by their change since another recording (FILE, FILE@ID, @ID; in a "
	 "server's database HOST, @FROM..TO, HOST@FROM..TO)",
	 3},
	{"by", CMD_FLAMEGRAPH_BY, PARTITION_ARGUMENT, 0,
	 "What the frames next to the root stand for (default: command)", 3},
	{"percent-limit", CMD_FLAMEGRAPH_PERCENT, "PERCENT", ARGP_HELP_RARE,
	 "Leave out frames below this share of all samples", 3},
	{"everything", CMD_FLAMEGRAPH_ALL, 0, ARGP_HELP_RARE,
	 "Leave nothing out, however large the file (default: as many frames as fit into 2 MiB)",
	 3},
	{"flame", CMD_FLAMEGRAPH_FLAME, 0, 0, "Open with the root at the bottom", 3},
	{"output", 'o', "FILE", 0,
	 "Write to this file: a page, or a picture if its name ends in "
	 ".svg",
	 4},
	{0},
};

static void parse_by(struct argp_state *state, const char *arg, struct cmd_flamegraph *args)
{
	if (partition_by_word(arg, &args->options.by) < 0)
		argp_error(state, "--by '%s': give one of %s", arg, PARTITION_WORDS);
	args->input.filter.by_cpu = args->options.by == PARTITION_BY_CPU;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cmd_flamegraph *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->input;
		return 0;
	case CMD_FLAMEGRAPH_BY:
		parse_by(state, arg, args);
		return 0;
	case CMD_FLAMEGRAPH_DIFF:
		args->before = arg;
		return 0;
	case CMD_FLAMEGRAPH_PERCENT:
		args->options.percent_limit = options_percent(state, "--percent-limit", arg);
		return 0;
	case CMD_FLAMEGRAPH_ALL:
		args->options.max_bytes = 0;
		return 0;
	case CMD_FLAMEGRAPH_FLAME:
		args->options.is_flame = true;
		return 0;
	case 'o':
		args->output = arg;
		return 0;
	case ARGP_KEY_END:
		if (!args->output && isatty(STDOUT_FILENO))
			argp_error(state,
				   "give a file for the page: -o FILE.html (or pipe the page into "
				   "a program)");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static bool is_svg(const struct cmd_flamegraph *args)
{
	return output_is_named(args->output, ".svg");
}

static int cmd_flamegraph_write(const struct cmd_flamegraph *args, struct profile *before,
				struct profile *profile)
{
	struct profile *profiles[2] = {before ? before : profile, before ? profile : NULL};
	struct output output;
	int status = output_begin(args->output, &output);

	if (status != CMD_DONE)
		return status;
	return output_end(&output,
			  is_svg(args) ? export_flamegraph_svg(profile, &args->options, output.file)
				       : export_flamegraph(profiles, &args->options, output.file));
}

/* Opens the earlier recording, and writes how `profile` differs from it. Returns the exit
 * status. */
static int diff_with(struct cmd_flamegraph *args, const struct input *before,
		     struct profile *profile)
{
	struct input_open open;
	int status;

	args->options.names[0] = args->before;
	status = input_open(before, &open);
	if (status == CMD_DONE)
		status = cmd_flamegraph_write(args, open.profile, profile);
	input_close(&open);
	return status;
}

/* Finds out with what to compare `profile`, and writes the difference. If the input is a server's
 * database, it is compared with another part of that database; otherwise with a store. The filters
 * of both sides are the same. Returns the exit status. */
static int diff(struct cmd_flamegraph *args, struct profile *profile)
{
	struct input input = {.filter = args->input.filter};
	struct fleet_side side;
	char *path = NULL;
	int status;

	if (input_is_fleet(&args->input)) {
		status = fleet_side_parse(args->before, &args->input, &side);
		if (status == CMD_DONE)
			status = diff_with(args, &side.input, profile);
		fleet_side_free(&side);
		return status;
	}
	status = input_part(args->before, &path, &input);
	input.path = path;
	if (status == CMD_DONE)
		status = diff_with(args, &input, profile);
	free(path);
	return status;
}

int cmd_flamegraph(int argc, char **argv)
{
	static const struct argp_child children[] = {{&input_argp, 0, NULL, 0}, {0}};
	static const struct argp argp = {
		.options = cmd_flamegraph_options,
		.parser = parse,
		.args_doc = "[FILE[@ID]]",
		.doc = "Writes a recording as a flame graph: one HTML file that needs nothing "
		       "else, or a picture, one SVG file.\vA frame is as wide as its share of the "
		       "samples; hatched frames were not observed but reconstructed. The smallest "
		       "frames are left out if the file would be too large; their callers keep "
		       "their samples.",
		.children = children,
	};
	struct cmd_flamegraph args = {
		.options = {.by = PARTITION_BY_COMMAND, .max_bytes = CMD_FLAMEGRAPH_BYTES}};
	struct input_open open;
	int status;

	options_parse(&argp, argc, argv, &args);
	if (args.before && is_svg(&args)) {
		message("--diff needs a page, not a picture: -o FILE.html");
		return CMD_USAGE;
	}
	status = input_fleet_by(&args.input, args.options.by);
	if (status == CMD_DONE)
		status = input_tags_by(&args.input, args.options.by);
	if (status != CMD_DONE)
		return status;
	status = input_open(&args.input, &open);
	if (status == CMD_DONE)
		status = args.before ? diff(&args, open.profile)
				     : cmd_flamegraph_write(&args, NULL, open.profile);
	input_close(&open);
	return status;
}
