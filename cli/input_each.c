/* SPDX-License-Identifier: MIT */
/* Opens recordings one after the other, instead of adding them up; see input.h. */
#include <errno.h>
#include <stdlib.h>

#include "cmd.h"
#include "input.h"
#include "message.h"
#include "model/interpreter.h"
#include "store/store_reader.h"

struct input_run {
	const struct input *input;
	const char *path;
	const struct input_each *each;
};

/* Opens one recording, with a copy of the input, whose filter still borrows from the original.
 * Returns the exit status. */
static int open_one(const struct input_run *run, int64_t id)
{
	struct input one = *run->input;
	struct input_open open = {0};
	char *error = NULL;
	int err, status;

	one.recording = one.range.first = one.range.last = id;
	if (one.is_whole)
		one.range.from_unix_ns = one.range.to_unix_ns = 0;
	err = input_open_reader(&one, run->path, &open.reader, &error);
	if (err == 0)
		err = input_find_names(&one, &open);
	if (err == 0 && !one.shows_interpreter)
		err = interpreter_hide(open.reader);
	if (err == 0)
		err = profile_new(open.reader, &one.filter, &open.profile);
	if (err == 0 || (err == -ENODATA && open.profile))
		status = run->each->each(run->each->arg, &open);
	else
		status = input_explain(&one, run->path, err, error);
	input_close(&open);
	return status;
}

bool input_has(const struct input *input, const struct store_recording *recording)
{
	struct store_range_choice choice = {0};
	int err = store_range_choose(&input->range, recording, 1, &choice);

	free(choice.ids);
	return err != -ENODATA;
}

/* Prints why the range has no recording. Returns the exit status. */
static int none(const struct input_run *run, const struct store_recording *all, size_t n)
{
	return input_explain(run->input, run->path, -ENODATA,
			     store_range_sentence(&run->input->range, run->path, all, n, -ENODATA));
}

static int open_chosen(const struct input_run *run, const struct store_recording *all, size_t n)
{
	const struct input_each *e = run->each;
	int status = e->begin ? e->begin(e->arg, all, n) : CMD_DONE;
	size_t chosen = 0;

	for (size_t i = 0; status == CMD_DONE && i < n; i++) {
		if (!input_has(run->input, &all[i]))
			continue;
		chosen++;
		if (!e->wants || e->wants(e->arg, &all[i]))
			status = open_one(run, all[i].id);
	}
	return status == CMD_DONE && !chosen ? none(run, all, n) : status;
}

static int open_range(const struct input_run *run)
{
	struct store_recording *all;
	char *error = NULL;
	size_t n;
	int err = store_list_recordings(run->path, &all, &n, &error), status;

	if (err < 0)
		return input_explain(run->input, run->path, err, error);
	status = open_chosen(run, all, n);
	store_recordings_free(all, n);
	return status;
}

int input_each(const struct input *input, const struct input_each *each)
{
	char *path = input_path(input);
	const struct input_run run = {input, path, each};
	int status;

	if (!path) {
		message("out of memory");
		return CMD_FAILED;
	}
	status = input->is_range ? open_range(&run) : open_one(&run, input->recording);
	free(path);
	return status;
}
