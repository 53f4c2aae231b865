/* SPDX-License-Identifier: MIT */
/* stackctl merge: adds up stores and tag exports of many hosts and runs to one tag export. */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>

#include "base/argp_help.h"
#include "base/text.h"
#include "cmd.h"
#include "message.h"
#include "options.h"
#include "output.h"
#include "tagset_input.h"

struct cmd_merge {
	char **inputs;
	unsigned n;
	const char *output;
};

static const struct argp_option cmd_merge_options[] = {
	{"output", 'o', "FILE", 0, "Write to this file", 4},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cmd_merge *args = state->input;

	switch (key) {
	case 'o':
		args->output = arg;
		return 0;
	case ARGP_KEY_ARGS:
		args->inputs = state->argv + state->next;
		args->n = (unsigned)(state->argc - state->next);
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_help_error(state, "give what to merge: stores, or files that 'stackctl export "
				       "--tags' wrote");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int cmd_merge_write(const struct cmd_merge *args, const struct tagset *set)
{
	struct output output;
	int status;

	if (!tagset_recordings(set)) {
		message("there are no samples to merge");
		return CMD_NO_SAMPLES;
	}
	if (tagset_repeated(set))
		message("%" PRIu32 " recording%s in more than one input, and counted more than "
			"once",
			tagset_repeated(set), text_plural(tagset_repeated(set), " is", "s are"));
	if (tagset_skipped(set))
		message("left out %" PRIu64 " line%s that only newer versions know",
			tagset_skipped(set), text_plural(tagset_skipped(set), "", "s"));
	status = output_begin(args->output, &output);
	return status != CMD_DONE ? status : output_end(&output, tagset_write(set, output.file));
}

int cmd_merge(int argc, char **argv)
{
	static const struct argp argp = {
		.options = cmd_merge_options,
		.parser = parse,
		.args_doc = "INPUT...",
		.doc = "Merges recordings of many hosts and runs into one tag export.\vAn INPUT "
		       "is a store (all its recordings, or one: FILE@ID) or a file that 'stackctl "
		       "export --tags' or 'stackctl merge' wrote (docs/TAGS.md). Equal call paths "
		       "become one, and their counts add up. The order and grouping of the merged "
		       "inputs make no difference. 'stackctl report -i FILE' shows it.\n\nMPI "
		       "jobs: 'mpirun stackctl-mpi merge -o FILE STORE...' makes the same file "
		       "from the stores of a job's nodes, with one process per node, none of "
		       "which holds all of the data: stackctl-mpi-merge(1), docs/FLEETS.md.",
	};
	struct cmd_merge args = {0};
	struct tagset *set;
	int status = CMD_DONE;

	options_parse(&argp, argc, argv, &args);
	if (tagset_new(&set) < 0) {
		message("out of memory");
		return CMD_FAILED;
	}
	for (unsigned i = 0; status == CMD_DONE && i < args.n; i++)
		status = tagset_input_add(set, args.inputs[i], 0, TAGSET_INPUT_ALL, METRIC_CPU);
	if (status == CMD_DONE)
		status = cmd_merge_write(&args, set);
	tagset_free(set);
	return status;
}
