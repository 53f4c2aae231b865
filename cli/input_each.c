/* SPDX-License-Identifier: MIT */
/* Opens recordings one after the other, rather than added up; see input.h. */
#include <errno.h>
#include <stdlib.h>

#include "cmd.h"
#include "input.h"
#include "message.h"
#include "store/store_reader.h"

struct input_each {
	const struct input *input;
	const char *path;
	int (*each)(void *arg, const struct input_open *open);
	void *arg;
};

/* The copy's filter points to what the original has, which outlives it. */
static int open_one(const struct input_each *e, int64_t id)
{
	struct input one = *e->input;
	struct input_open open = {0};
	char *error = NULL;
	int err, status;

	one.recording = one.range.first = one.range.last = id;
	err = input_open_reader(&one, e->path, &open.reader, &error);
	if (err == 0)
		err = input_find_names(&one, &open);
	if (err == 0)
		err = profile_new(open.reader, &one.filter, &open.profile);
	if (err == 0 || (err == -ENODATA && open.profile))
		status = e->each(e->arg, &open);
	else
		status = input_explain(&one, e->path, err, error);
	input_close(&open);
	return status;
}

static bool is_wanted(const struct input *input, const struct store_recording *recording)
{
	struct store_range_choice choice = {0};
	int err = store_range_choose(&input->range, recording, 1, &choice);

	free(choice.ids);
	return err != -ENODATA;
}

/* Why none of the recordings is wanted. */
static int none(const struct input_each *e, const struct store_recording *all, size_t n)
{
	return input_explain(e->input, e->path, -ENODATA,
			     store_range_sentence(&e->input->range, e->path, all, n, -ENODATA));
}

static int open_range(const struct input_each *e)
{
	struct store_recording *all;
	char *error = NULL;
	size_t n, opened = 0;
	int err = store_list_recordings(e->path, &all, &n, &error), status = CMD_DONE;

	if (err < 0)
		return input_explain(e->input, e->path, err, error);
	for (size_t i = 0; status == CMD_DONE && i < n; i++) {
		if (!is_wanted(e->input, &all[i]))
			continue;
		opened++;
		status = open_one(e, all[i].id);
	}
	if (!opened)
		status = none(e, all, n);
	store_recordings_free(all, n);
	return status;
}

int input_each(const struct input *input, int (*each)(void *arg, const struct input_open *open),
	       void *arg)
{
	char *path = input_path(input);
	const struct input_each e = {input, path, each, arg};
	int status;

	if (!path) {
		message("out of memory");
		return CMD_FAILED;
	}
	status = input->is_range ? open_range(&e) : open_one(&e, input->recording);
	free(path);
	return status;
}
