/* SPDX-License-Identifier: MIT */
/* stackctl heap: shows the heaps of processes over time, and the call paths of the bytes that were
 * live at the peak or at the end. */
#include <argp.h>
#include <errno.h>
#include <string.h>

#include "cmd.h"
#include "message.h"
#include "options.h"
#include "base/argp_help.h"
#include "base/duration.h"
#include "report/heap_svg.h"
#include "report/heap_view.h"
#include "show.h"

#define CMD_HEAP_BINS  60
#define CMD_HEAP_LIMIT 1.0 /* smallest share of a path that is shown, in % */

enum { CMD_HEAP_LEAKS = 0x200, CMD_HEAP_VIEW, CMD_HEAP_OLDER, CMD_HEAP_SVG };

struct cmd_heap {
	struct show show;
	enum report_view view;
	uint64_t older_ns;
	bool is_leaks, is_svg;
};

static const struct argp_option cmd_heap_options[] = {
	{"leaks", CMD_HEAP_LEAKS, 0, 0,
	 "Instead of the heap at each process's peak, show by call path the memory that was live "
	 "at the end (of the process, of the recording, or at --to), and how it has grown",
	 3},
	{"older", CMD_HEAP_OLDER, "TIME", 0,
	 "With --leaks, only memory that had been live for at least this time (10s, 5m; default: "
	 "all)",
	 3},
	{"view", CMD_HEAP_VIEW, "tree|flat|callers", 0,
	 "Show the call paths in this form (default: tree)", 3},
	{"svg", CMD_HEAP_SVG, 0, 0,
	 "Draw the heaps of processes over time as a self-contained SVG file (so does "
	 "--output=FILE.svg)",
	 3},
	{0},
};

static void parse_view(struct argp_state *state, const char *arg, enum report_view *ret_view)
{
	if (!strcmp(arg, "tree"))
		*ret_view = REPORT_TREE;
	else if (!strcmp(arg, "flat"))
		*ret_view = REPORT_FLAT;
	else if (!strcmp(arg, "callers"))
		*ret_view = REPORT_CALLERS;
	else
		argp_help_error(state, "--view '%s': give tree, flat or callers", arg);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cmd_heap *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		show_children_begin(state, &args->show);
		args->show.input.takes_moments = true;
		return 0;
	case CMD_HEAP_LEAKS:
		args->show.input.filter.metric = METRIC_HEAP_LIVE;
		args->is_leaks = true;
		return 0;
	case CMD_HEAP_OLDER:
		if (!duration_parse(arg, &args->older_ns))
			argp_help_error(state, "--older '%s': give a time such as 10s or 5m", arg);
		return 0;
	case CMD_HEAP_SVG:
		args->is_svg = true;
		return 0;
	case CMD_HEAP_VIEW:
		parse_view(state, arg, &args->view);
		return 0;
	case ARGP_KEY_END:
		if (metric_info(args->show.input.filter.metric)->less == SERIES_CPU)
			argp_help_error(state,
					"--metric: heap shows %s (the default), %s (--leaks) or %s",
					metric_info(METRIC_HEAP_PEAK)->name,
					metric_info(METRIC_HEAP_LIVE)->name,
					metric_info(METRIC_HEAP_OBJECTS)->name);
		if (args->older_ns && !args->is_leaks)
			argp_help_error(state, "--older works with --leaks only");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Returns the kind of table of paths that the options choose. */
static enum heap_paths_kind kind_of(const struct cmd_heap *args)
{
	if (args->show.input.filter.from_ns)
		return HEAP_PATHS_CHANGE;
	return args->is_leaks ? HEAP_PATHS_LEAKS : HEAP_PATHS_PEAK;
}

static int write_text(const struct cmd_heap *args, const struct input_open *open,
		      const struct heap *heap, const struct heap_paths *paths, FILE *out)
{
	struct report_options options = show_options(&args->show);
	int err;

	options.view = args->view;
	options.percent_limit = CMD_HEAP_LIMIT;
	err = heap_view_text(heap, open->profile, &options, out);
	if (!err)
		err = heap_paths_view_text(paths, kind_of(args), open->profile, &options, out);
	/* A tree shows what was live at one moment, so a change over time has no tree. */
	if (!err && kind_of(args) != HEAP_PATHS_CHANGE)
		err = report_write_text(open->profile, &options, out);
	return err;
}

static int write_all(const struct cmd_heap *args, const struct input_open *open,
		     const struct heap *heap, const struct heap_paths *paths)
{
	struct output output;
	int err, status = show_output_begin(&args->show, args->show.output.is_json || args->is_svg,
					    &output);

	if (status != CMD_DONE)
		return status;
	if (args->is_svg)
		err = heap_svg_write(heap, open->profile, output.file);
	else if (args->show.output.is_json)
		err = heap_view_json(heap, paths, kind_of(args), open->profile, output.file);
	else
		err = write_text(args, open, heap, paths, output.file);
	return output_end(&output, err);
}

static int run(void *arg, const struct input_open *open)
{
	const struct cmd_heap *args = arg;
	const struct store_tables *tables = profile_tables(open->profile);
	const struct heap_paths_options options = {.from_ns = tables->recording.start_ns +
							      args->show.input.filter.from_ns,
						   .older_ns = args->older_ns};
	struct heap heap = {0};
	struct heap_paths paths = {0};
	int status, err;

	err = heap_sum_up(open->reader, profile_end(open->profile),
			  args->is_svg ? HEAP_SVG_BINS : CMD_HEAP_BINS, &heap);
	if (!err)
		err = heap_paths_sum_up(open->profile, &heap, &options, &paths);
	if (err) {
		message("cannot add up the allocations: %s", strerror(-err));
		heap_release(&heap);
		return CMD_FAILED;
	}
	status = write_all(args, open, &heap, &paths);
	heap_paths_release(&paths);
	heap_release(&heap);
	return status;
}

int cmd_heap(int argc, char **argv)
{
	static const struct argp argp = {
		.options = cmd_heap_options,
		.parser = parse,
		.args_doc = "[FILE[@ID]]",
		.doc = "Shows what processes had allocated over time, and the call paths of what "
		       "was live at each one's peak.\vA recording has allocations if it was made "
		       "with 'stackd --alloc'. Allocations are sampled, so amounts are estimates; "
		       "small and rare ones are the least exact. The rate is the mean of the "
		       "whole recording, the lifetime the mean age of the bytes when they were "
		       "freed. With --from and --to, it shows what changed between two moments.\n\n"
		       "Examples:\n\n"
		       "  stackctl heap\n"
		       "  stackctl heap --leaks --older 10s --view callers\n"
		       "  stackctl heap --from 5s --to 60s\n"
		       "  stackctl heap -o heap.svg\n"
		       "  stackctl heap --leaks --to 10s\n"
		       "  stackctl flamegraph --metric heap.peak -o peak.html\n",
		.children = show_children,
	};
	struct cmd_heap args = {.view = REPORT_TREE,
				.show.input.filter.metric = METRIC_HEAP_PEAK,
				.show.output.own_ending = ".svg"};

	options_parse(&argp, argc, argv, &args);
	args.is_svg |= output_is_named(args.show.output.path, ".svg");
	return show_run(&args.show, run, &args);
}
