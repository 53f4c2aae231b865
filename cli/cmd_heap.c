/* SPDX-License-Identifier: MIT */
/* stackctl heap: what processes had allocated over time, and the call paths of what was live at the
 * peak or at the end. */
#include <argp.h>
#include <errno.h>
#include <string.h>

#include "cmd.h"
#include "message.h"
#include "options.h"
#include "report/heap_view.h"
#include "show.h"

#define CMD_HEAP_BINS  60
#define CMD_HEAP_LIMIT 1.0 /* %: what paths have to be of */

enum { CMD_HEAP_LEAKS = 0x200, CMD_HEAP_VIEW };

struct cmd_heap {
	struct show show;
	enum report_view view;
};

static const struct argp_option cmd_heap_options[] = {
	{"leaks", CMD_HEAP_LEAKS, 0, 0,
	 "The call paths of what was live at the end (of the process, of the recording, or at --to), "
	 "rather than at each process's peak",
	 3},
	{"view", CMD_HEAP_VIEW, "tree|flat|callers", 0,
	 "How the call paths are shown (default: tree)", 3},
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
		argp_error(state, "--view: '%s' is none of tree, flat, callers", arg);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cmd_heap *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		show_children_begin(state, &args->show);
		return 0;
	case CMD_HEAP_LEAKS:
		args->show.input.filter.metric = METRIC_HEAP_LIVE;
		return 0;
	case CMD_HEAP_VIEW:
		parse_view(state, arg, &args->view);
		return 0;
	case ARGP_KEY_END:
		if (metric_info(args->show.input.filter.metric)->less == SERIES_CPU)
			argp_error(state, "--metric: heap shows heap.peak (the default), heap.live "
					  "(--leaks) or heap.objects");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int write_all(const struct cmd_heap *args, const struct input_open *open,
		     const struct heap *heap)
{
	struct report_options options = show_options(&args->show);
	struct output output;
	int err, status = show_output_begin(&args->show, args->show.output.is_json, &output);

	if (status != CMD_DONE)
		return status;
	options.view = args->view;
	options.percent_limit = CMD_HEAP_LIMIT;
	if (args->show.output.is_json)
		return output_end(&output, heap_view_json(heap, open->profile, output.file));
	err = heap_view_text(heap, open->profile, &options, output.file);
	if (!err)
		err = report_write_text(open->profile, &options, output.file);
	return output_end(&output, err);
}

static int run(void *arg, const struct input_open *open)
{
	const struct cmd_heap *args = arg;
	struct heap heap;
	int status,
		err = heap_sum_up(open->reader, profile_end(open->profile), CMD_HEAP_BINS, &heap);

	if (err) {
		message("cannot add up the allocations: %s", strerror(-err));
		return CMD_FAILED;
	}
	status = write_all(args, open, &heap);
	heap_release(&heap);
	return status;
}

int cmd_heap(int argc, char **argv)
{
	static const struct argp argp = {
		.options = cmd_heap_options,
		.parser = parse,
		.doc = "Shows what processes had allocated over time, and the call paths of what was "
		       "live at each one's peak."
		       "\vA recording has allocations if it was made with 'stackd --alloc'. Each "
		       "sampled one stands for as many bytes as are due to it, so amounts are "
		       "estimates; what is small or rare has the largest error.\n\nExamples:\n\n"
		       "  stackctl heap\n"
		       "  stackctl heap --leaks --view callers\n"
		       "  stackctl heap --leaks --to 10s\n"
		       "  stackctl flamegraph --metric heap.peak -o peak.html\n",
		.children = show_children,
	};
	struct cmd_heap args = {.view = REPORT_TREE, .show.input.filter.metric = METRIC_HEAP_PEAK};

	options_parse(&argp, argc, argv, &args);
	return show_run(&args.show, run, &args);
}
