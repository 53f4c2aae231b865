/* SPDX-License-Identifier: MIT */
/*
 * Reading stores and tag exports into a set; see tagset_input.h. A store is exported into memory
 * and then read like any other export, so both kinds of input necessarily give equal results.
 */
#include "tagset_input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "export/export.h"
#include "input.h"
#include "input_fleet.h"
#include "message.h"
#include "store/store_path.h"

struct tagset_input {
	const char *name; /* as it was given */
	char *path;
	struct input part; /* chooses the recordings that the name has after "@", if any */
	uint32_t side;
	enum metric metric;
	struct tagset_input_choice *choice; /* or NULL */
};

/* Returns whether the file begins with a store's magic. */
static bool tagset_input_is_store(FILE *in)
{
	static const char magic[] = "SQLite format 3";
	char head[sizeof(magic)] = {0};
	bool is = fread(head, 1, sizeof(head), in) == sizeof(head) &&
		  memcmp(head, magic, sizeof(magic)) == 0;

	return fseek(in, 0, SEEK_SET) == 0 && is;
}

static int tagset_input_read(const struct tagset_input *input, struct tagset *set, FILE *in)
{
	char *error = NULL;
	int err = tagset_read(set, in, input->side, &error);

	if (err == 0)
		return CMD_DONE;
	message("cannot read %s: %s", input->name, error ? error : strerror(-err));
	free(error);
	return err == -ENOMEM || err == -EIO || err == -EOVERFLOW ? CMD_FAILED : CMD_USAGE;
}

/* Exports an opened recording into memory, and adds the export to the set. */
static int export(const struct tagset_input *input, struct tagset *set, struct profile *profile)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size), *in;
	int err = out ? export_tags(profile, out) : -ENOMEM, status = CMD_FAILED;

	if (out && fclose(out) != 0 && err == 0)
		err = -ENOMEM;
	in = err == 0 ? fmemopen(text, size, "r") : NULL;
	if (in) {
		status = tagset_input_read(input, set, in);
		fclose(in);
	} else {
		message("cannot read %s: %s", input->name, strerror(err < 0 ? -err : ENOMEM));
	}
	free(text);
	return status;
}

/* Returns the duration of the recording, or of the part that the filter selects. */
static uint64_t duration_of(const struct profile *profile)
{
	const struct store_recording *recording = &profile_tables(profile)->recording;
	const struct profile_filter *filter = profile_filter(profile);
	uint64_t ns = recording->end_ns > recording->start_ns
			      ? recording->end_ns - recording->start_ns
			      : 0;

	if (filter->to_ns && filter->to_ns < ns)
		ns = filter->to_ns;
	return ns > filter->from_ns ? ns - filter->from_ns : 0;
}

/* Counts the passes through a region that the filter of the samples selects. Returns the exit
 * status or an error. */
static int count_passes(const struct tagset_input *input, struct store_reader *reader)
{
	struct tagset_input_choice *choice = input->choice;
	struct profile_filter filter =
		choice->filter ? *choice->filter : (struct profile_filter){0};
	struct profile *profile = NULL;
	int err;

	filter.metric = METRIC_REGION_VISITS;
	filter.symbols = (struct profile_patterns){&choice->region, 1};
	err = profile_new(reader, &filter, &profile);
	if (err == 0)
		choice->passes = profile_total(profile);
	profile_free(profile);
	if (err == -ENODATA)
		message("%s has no passes through %s: record with 'stackd --region %s'",
			input->name, choice->region, choice->region);
	else if (err < 0)
		message("cannot read %s: %s", input->name, strerror(-err));
	return err == 0 ? CMD_DONE : err == -ENODATA ? CMD_NO_SAMPLES : CMD_FAILED;
}

static int tagset_input_recording(const struct tagset_input *input, struct tagset *set,
				  struct input options)
{
	struct input_open open;
	int status;

	options.path = input->path;
	if (input->choice && input->choice->filter)
		options.filter = *input->choice->filter;
	if (input->choice)
		options.filter.metric = input->metric;
	status = input_open(&options, &open);
	if (status == CMD_DONE && !input_is_fleet(&options) &&
	    !input_has_times(input->metric, input->path, open.reader))
		status = CMD_NO_SAMPLES;
	if (status == CMD_DONE && input->choice)
		input->choice->duration_ns = duration_of(open.profile);
	if (status == CMD_DONE && input->choice && input->choice->region)
		status = count_passes(input, open.reader);
	if (status == CMD_DONE)
		status = export(input, set, open.profile);
	input_close(&open);
	return status;
}

static int tagset_input_all(const struct tagset_input *input, struct tagset *set)
{
	struct input options = {.path = input->path};
	struct store_recording *recordings;
	size_t n;
	char *error = NULL;
	int err = store_list_recordings(input->path, &recordings, &n, &error), status = CMD_DONE;

	if (err < 0)
		return input_explain(&options, input->path, err, error);
	for (size_t i = 0; status == CMD_DONE && i < n; i++)
		if (recordings[i].samples)
			status = tagset_input_recording(
				input, set, (struct input){.recording = recordings[i].id});
	store_recordings_free(recordings, n);
	return status;
}

static int tagset_input_open(const struct tagset_input *input, struct tagset *set,
			     enum tagset_input_which which)
{
	FILE *in = fopen(input->path, "re");
	bool is_store;
	int status;

	if (!in) {
		message("cannot open %s: %s", input->path, strerror(errno));
		return errno == EACCES ? CMD_NO_SUPPORT : CMD_USAGE;
	}
	is_store = tagset_input_is_store(in);
	status = is_store ? CMD_DONE : tagset_input_read(input, set, in);
	fclose(in);
	if (!is_store && status == CMD_DONE && input->choice &&
	    (input->choice->filter || input->choice->region)) {
		message("%s has only sums of samples: --pid, --comm, --focus, --from and the "
			"like, and --per, need a store",
			input->name);
		return CMD_USAGE;
	}
	if (!is_store)
		return status;
	return which == TAGSET_INPUT_ALL && !input->part.recording && !input->part.is_range
		       ? tagset_input_all(input, set)
		       : tagset_input_recording(input, set, input->part);
}

int tagset_input_add(struct tagset *set, const char *name, uint32_t side,
		     enum tagset_input_which which, enum metric metric)
{
	struct tagset_input input = {.name = name, .side = side, .metric = metric};
	int status = input_part(input.name, &input.path, &input.part);

	if (status == CMD_DONE)
		status = tagset_input_open(&input, set, which);
	free(input.path);
	return status;
}

int tagset_input_add_chosen(struct tagset *set, const char *name, uint32_t side,
			    struct tagset_input_choice *choice)
{
	struct tagset_input input = {
		.name = name, .side = side, .metric = choice->metric, .choice = choice};
	int status = input_part(input.name, &input.path, &input.part);

	if (status == CMD_DONE)
		status = tagset_input_open(&input, set, TAGSET_INPUT_LATEST);
	free(input.path);
	return status;
}

int tagset_input_add_fleet(struct tagset *set, const char *name, uint32_t side,
			   const struct input *part, enum metric metric)
{
	struct tagset_input input = {
		.name = name, .path = (char *)part->path, .side = side, .metric = metric};
	struct input options = *part;

	options.filter.metric = metric;
	input_fleet_by(&options, PARTITION_BY_ALL);
	return tagset_input_recording(&input, set, options);
}
