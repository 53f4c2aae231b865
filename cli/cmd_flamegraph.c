/* SPDX-License-Identifier: MIT */
/* stackctl flamegraph: writes a recording, or the difference of two, as a page with a flame graph:
 * the page of `stackctl web` in one file. */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/argp_help.h"
#include "cmd.h"
#include "fleet_side.h"
#include "export/export_flamegraph_svg.h"
#include "input.h"
#include "input_fleet.h"
#include "input_tags.h"
#include "message.h"
#include "options.h"
#include "output.h"
#include "page.h"
#include "terminal.h"

#define CMD_FLAMEGRAPH_SVG_BYTES ((size_t)2 << 20)

enum {
	CMD_FLAMEGRAPH_BY = 0x200,
	CMD_FLAMEGRAPH_DIFF,
	CMD_FLAMEGRAPH_PERCENT,
	CMD_FLAMEGRAPH_ALL,
	CMD_FLAMEGRAPH_FLAME
};

#define MOST_PATHS                                                                                 \
	10000 /* of a server's database: those with a 10,000th of all samples are there */

struct cmd_flamegraph {
	struct input input;
	char *const *words; /* the command line */
	const char *output, *before;
	const char *by;			   /* the word of --by; NULL: not given */
	struct flamegraph_options options; /* of a picture */
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
	 "Leave nothing out, however large the file (default: as many frames as fit into a page of "
	 "1 MB, or a picture of 2 MiB)",
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
		argp_help_error(state, "--by '%s': give one of %s", arg, PARTITION_WORDS);
	args->by = arg;
	args->input.filter.by_cpu = args->options.by == PARTITION_BY_CPU;
	args->input.filter.by_label = partition_label(arg);
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
			argp_help_error(
				state,
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

/* Writes the page. `base` is NULL, or the recording to compare with. Returns as
 * one_file_write(). */
static int write_page(const struct cmd_flamegraph *args, struct page *page, const struct page *base,
		      FILE *out)
{
	const bool is_by = args->options.by != PARTITION_BY_ALL;
	const struct one_file file = {.source = &page->source,
				      .tab = base ? "difference" : "flame",
				      .by = !is_by     ? NULL
					    : args->by ? args->by
						       : partition_word(args->options.by),
				      .minimum = args->options.percent_limit / 100,
				      .is_bottom = args->options.is_flame,
				      .from_ns = page->from_ns,
				      .to_ns = page->to_ns,
				      .is_unlimited = !args->options.max_bytes};

	if (base) {
		page->source.base = &base->source;
		page->source.base_name = args->before;
	}
	if (file.is_unlimited)
		page->source.most_bytes = SIZE_MAX / 2;
	return one_file_write(&file, out);
}

/* Writes a page of what is open. `before` is NULL, or the input to compare with, and what is open
 * of it. */
static int make_page(const struct cmd_flamegraph *args, const struct input_open *open,
		     const struct input *before, const struct input_open *before_open, FILE *out)
{
	struct page page = {0}, base = {0};
	int err = page_begin(&args->input, open, args->words, &page);

	if (err == 0 && before)
		err = page_begin(before, before_open, args->words, &base);
	if (err == 0)
		err = write_page(args, &page, before ? &base : NULL, out);
	page_end(&page);
	page_end(&base);
	return err;
}

static int cmd_flamegraph_write(const struct cmd_flamegraph *args, const struct input_open *open,
				const struct input *before, const struct input_open *before_open)
{
	struct output output;
	int status = output_begin(args->output, &output);

	if (status != CMD_DONE)
		return status;
	return output_end(
		&output, is_svg(args)
				 ? export_flamegraph_svg(open->profile, &args->options, output.file)
				 : make_page(args, open, before, before_open, output.file));
}

/* Opens the earlier recording, and writes how what is open differs from it. Returns the exit
 * status. */
static int diff_with(const struct cmd_flamegraph *args, const struct input *before,
		     const struct input_open *open)
{
	struct input_open before_open;
	int status = input_open(before, &before_open);

	if (status == CMD_DONE)
		status = cmd_flamegraph_write(args, open, before, &before_open);
	input_close(&before_open);
	return status;
}

/* Finds out with what to compare what is open, and writes the difference. If the input is a
 * server's database, it is compared with another part of that database; otherwise with a store. The
 * filters of both sides are the same. Returns the exit status. */
static int diff(struct cmd_flamegraph *args, const struct input_open *open)
{
	struct input input = {.filter = args->input.filter};
	struct fleet_side side;
	char *path = NULL;
	int status;

	if (input_is_fleet(&args->input)) {
		status = fleet_side_parse(args->before, &args->input, &side);
		if (status == CMD_DONE)
			status = diff_with(args, &side.input, open);
		fleet_side_free(&side);
		return status;
	}
	status = input_part(args->before, &path, &input);
	input.path = path;
	if (status == CMD_DONE)
		status = diff_with(args, &input, open);
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
		.doc = "Writes a recording as a flame graph: the page of 'stackctl web' in one HTML "
		       "file that needs nothing else, or a picture, one SVG file.\vA frame is as "
		       "wide as its share of the "
		       "samples; hatched frames were not observed but reconstructed. The smallest "
		       "frames are left out if the file would be too large; their callers keep "
		       "their samples.",
		.children = children,
	};
	struct cmd_flamegraph args = {
		.words = argv,
		.options = {.by = PARTITION_BY_COMMAND, .max_bytes = CMD_FLAMEGRAPH_SVG_BYTES}};
	struct input_open open;
	int status;

	options_parse(&argp, argc, argv, &args);
	if (args.before && is_svg(&args)) {
		message("--diff needs a page, not a picture: -o FILE.html");
		return CMD_USAGE;
	}
	args.input.most_paths = args.options.max_bytes && !args.before ? MOST_PATHS : 0;
	status = input_fleet_by(&args.input, args.options.by);
	if (status == CMD_DONE)
		status = input_tags_by(&args.input, args.options.by);
	if (status != CMD_DONE)
		return status;
	status = input_open(&args.input, &open);
	if (status == CMD_DONE)
		status = args.before ? diff(&args, &open)
				     : cmd_flamegraph_write(&args, &open, NULL, NULL);
	input_close(&open);
	return status;
}
