/* SPDX-License-Identifier: MIT */
/* What verbs read; see input.h. */
#include "input.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "message.h"
#include "store/store_path.h"
#include "store/store_reader.h"

enum { INPUT_RECORDING = 0x100, INPUT_PID, INPUT_TID, INPUT_COMM };

static const struct argp_option input_store_options[] = {
	{"input", 'i', "FILE", 0, "Read this store (default: the one that stackd writes to)", 1},
	{0},
};

static const struct argp_option input_options[] = {
	{"input", 'i', "FILE", 0, "Read this store (default: the one that stackd writes to)", 1},
	{"recording", INPUT_RECORDING, "ID", 0, "This recording of it (default: the latest)", 1},
	{"pid", INPUT_PID, "PID[,PID...]", 0, "Only these processes", 2},
	{"tid", INPUT_TID, "TID[,TID...]", 0, "Only these threads", 2},
	{"comm", INPUT_COMM, "NAME", 0, "Only threads of this name; may be repeated", 2},
	{0},
};

static void input_parse_ids(struct argp_state *state, const char *what, const char *arg,
			    int32_t *ids, size_t *n)
{
	const char *at = arg;

	for (;;) {
		char *end;
		long value;

		errno = 0;
		value = strtol(at, &end, 10);
		if (errno || end == at || (*end && *end != ',') || value < 0 || value > INT_MAX)
			argp_error(state, "--%s: '%s' is not a list of numbers", what, arg);
		if (*n == INPUT_MAX)
			argp_error(state, "--%s: more than %d are given", what, INPUT_MAX);
		ids[(*n)++] = (int32_t)value;
		if (!*end)
			return;
		at = end + 1;
	}
}

static void input_parse_recording(struct argp_state *state, const char *arg, struct input *input)
{
	char *end;

	errno = 0;
	input->recording = strtoll(arg, &end, 10);
	if (errno || end == arg || *end || input->recording <= 0)
		argp_error(state, "--recording: '%s' is not a number from 1", arg);
}

static error_t input_parse(int key, char *arg, struct argp_state *state)
{
	struct input *input = state->input;

	switch (key) {
	case 'i':
		input->path = arg;
		return 0;
	case INPUT_RECORDING:
		input_parse_recording(state, arg, input);
		return 0;
	case INPUT_PID:
		input->filter.pids = input->pids;
		input_parse_ids(state, "pid", arg, input->pids, &input->filter.n_pids);
		return 0;
	case INPUT_TID:
		input->filter.tids = input->tids;
		input_parse_ids(state, "tid", arg, input->tids, &input->filter.n_tids);
		return 0;
	case INPUT_COMM:
		input->filter.comms = input->comms;
		if (input->filter.n_comms == INPUT_MAX)
			argp_error(state, "--comm: more than %d are given", INPUT_MAX);
		input->comms[input->filter.n_comms++] = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp input_argp = {.options = input_options, .parser = input_parse};
const struct argp input_store_argp = {.options = input_store_options, .parser = input_parse};

char *input_path(const struct input *input)
{
	return input->path ? strdup(input->path) : store_path_default();
}

static int input_status(int error_number)
{
	switch (error_number) {
	case -ENOMEM:
	case -EIO:
		return CMD_FAILED;
	case -EACCES:
	case -EPERM:
		return CMD_NO_SUPPORT;
	default:
		return CMD_USAGE;
	}
}

int input_explain(const struct input *input, const char *path, int error_number, char *error)
{
	int status = input_status(error_number);

	if (error_number == -ENOENT && !input->path)
		message("no store at %s: record one first: sudo stackd --pid PID", path);
	else if (error)
		message("%s", error);
	else
		message("cannot read %s: %s", path, strerror(-error_number));
	/* An empty store is no wrong argument: there is just nothing in it yet. */
	if (error_number == -ENODATA && !input->recording)
		status = CMD_NO_SAMPLES;
	free(error);
	return status;
}

static int input_sum_up(const struct input *input, const char *path, struct input_open *open)
{
	const struct store_tables *t = store_reader_tables(open->reader);
	bool is_chosen = input->filter.n_pids || input->filter.n_tids || input->filter.n_comms;
	int r = profile_new(open->reader, &input->filter, &open->profile);

	if (r == 0)
		return CMD_DONE;
	if (r != -ENODATA)
		return input_explain(input, path, r, NULL);
	if (is_chosen && t->recording.samples)
		message("no sample of recording %lld in %s is of the chosen processes and threads; "
			"'stackctl report' shows which there are",
			(long long)t->recording.id, path);
	else
		message("recording %lld in %s has no samples: did the target use the CPU while it "
			"was recorded?",
			(long long)t->recording.id, path);
	return CMD_NO_SAMPLES;
}

int input_open(const struct input *input, struct input_open *ret_open)
{
	struct input_open open = {0};
	char *error = NULL, *path = input_path(input);
	int r, status;

	if (!path) {
		message("out of memory");
		return CMD_FAILED;
	}
	r = store_reader_open(path, input->recording, &open.reader, &error);
	if (r < 0)
		status = input_explain(input, path, r, error);
	else
		status = input_sum_up(input, path, &open);
	free(path);
	if (!open.profile)
		input_close(&open);
	*ret_open = open;
	return status;
}

void input_close(struct input_open *open)
{
	profile_free(open->profile);
	store_reader_close(open->reader);
	*open = (struct input_open){0};
}
