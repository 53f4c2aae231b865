/* SPDX-License-Identifier: MIT */
/* Reads a tag export; see input_tags.h. */
#include "input_tags.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cmd.h"
#include "message.h"
#include "tagset_input.h"
#include "tagset/tagset_reader.h"

bool input_is_tags(const struct input *input)
{
	static const char head[] = "stackd-tags ";
	char found[sizeof(head) - 1];
	FILE *in = input->path ? fopen(input->path, "re") : NULL;
	bool is = in && fread(found, 1, sizeof(found), in) == sizeof(found) &&
		  memcmp(found, head, sizeof(found)) == 0;

	if (in)
		fclose(in);
	return is;
}

int input_tags_by(struct input *input, enum partition_by by)
{
	if (!input_is_tags(input))
		return CMD_DONE;
	if (by == PARTITION_BY_CPU || by == PARTITION_BY_UNIT || by == PARTITION_BY_CONTAINER ||
	    by == PARTITION_BY_SERVICE || by == PARTITION_BY_NAMESPACE || by == PARTITION_BY_POD ||
	    by == PARTITION_BY_LABEL) {
		message("--by %s: a tag export has sums by host, rank, process, thread and command; "
			"'stackctl report' of a host's own store shows the rest",
			partition_word(by));
		return CMD_USAGE;
	}
	input->takes_fleets = true;
	return CMD_DONE;
}

static int check(const struct input *input)
{
	const struct profile_filter *f = &input->filter;
	const char *what = f->units.n				      ? "--unit"
			   : f->labels.n			      ? "--label"
			   : f->from_ns || f->to_ns		      ? "--from and --to"
			   : input->since || input->from || input->to ? "a time"
			   : input->recording || input->range.first   ? "--recording"
								      : NULL;

	if (!input->takes_fleets) {
		message("%s is a tag export, and this view reads a store: 'stackctl report' and "
			"'flamegraph' show exports",
			input->path);
		return CMD_USAGE;
	}
	if (!what)
		return CMD_DONE;
	message("%s is not for a tag export, which has sums of samples: choose by --pid, --tid, "
		"--comm, --symbol, --dso, --focus and --ignore",
		what);
	return CMD_USAGE;
}

static int explain(const struct input *input, const struct tagset *set, int err)
{
	struct buf b = {0};

	switch (err) {
	case -ENODATA:
		tagset_reader_put_metrics(set, &b);
		message("%s has no %s; its metrics: %.*s", input->path,
			metric_info(input->filter.metric)->name, (int)b.len,
			b.len ? (const char *)b.data : "none");
		buf_free(&b);
		return CMD_NO_SAMPLES;
	case -EBADMSG:
		message("%s does not follow docs/TAGS.md: it is damaged, or a newer stackctl "
			"wrote it",
			input->path);
		return CMD_USAGE;
	default:
		message("cannot read %s: %s", input->path, strerror(-err));
		return CMD_FAILED;
	}
}

int input_tags_open(const struct input *input, struct store_reader **ret_reader)
{
	int status = check(input), err;
	uint32_t left_out = 0;
	struct tagset *set;

	if (status != CMD_DONE)
		return status;
	if (tagset_new(&set) < 0) {
		message("out of memory");
		return CMD_FAILED;
	}
	status = tagset_input_add(set, input->path, 0, TAGSET_INPUT_ALL, METRIC_CPU);
	if (status == CMD_DONE) {
		err = tagset_reader_new(set, input->filter.metric, input->path, ret_reader,
					&left_out);
		status = err < 0 ? explain(input, set, err) : CMD_DONE;
	}
	tagset_free(set);
	if (status == CMD_DONE && left_out)
		message("%" PRIu32 " recording%s another event than the latest, and %s left out",
			left_out, text_plural(left_out, " has", "s have"),
			text_plural(left_out, "is", "are"));
	return status;
}
