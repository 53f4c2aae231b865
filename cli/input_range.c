/* SPDX-License-Identifier: MIT */
/*
 * Chooses recordings by number or by time; see input_range.h.
 *
 * --from and --to are either times since the recording's start, which filter one recording, or
 * moments of the wall clock, which choose all recordings of that time, to be added up.
 */
#include "input_range.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/argp_help.h"
#include "base/clock.h"
#include "base/duration.h"
#include "base/text.h"
#include "base/wall_time.h"
#include "cmd.h"
#include "message.h"
#include "store/store_path.h"
#include "store/store_reader.h"

/* --- numbers -------------------------------------------------------------------------------- */

/* Parses a number from 1 on. Returns the end of its text; NULL: there is no such number. */
static const char *parse_number(const char *text, int64_t *ret_number)
{
	char *end;

	errno = 0;
	*ret_number = strtoll(text, &end, 10);
	return errno || end == text || *ret_number <= 0 ? NULL : end;
}

/* Parses ID or ID..ID into the input. Returns false if the text is neither. */
static bool parse_numbers(const char *text, struct input *input)
{
	int64_t first, last;
	const char *end = parse_number(text, &first);

	if (!end)
		return false;
	if (!*end) {
		input->recording = first;
		input->range.first = input->range.last = first;
		input->is_range = false;
		return true;
	}
	if (strncmp(end, "..", 2) != 0)
		return false;
	end = parse_number(end + 2, &last);
	if (!end || *end || last < first)
		return false;
	input->recording = 0;
	input->range.first = first;
	input->range.last = last;
	input->is_range = true;
	return true;
}

void input_range_numbers(struct argp_state *state, const char *arg, struct input *input)
{
	if (!parse_numbers(arg, input))
		argp_help_error(state,
				"--recording '%s': give a number from 1, or two such as 3..5", arg);
}

static bool is_file(const char *name)
{
	return access(name, F_OK) == 0;
}

const char *input_range_cut(struct argp_state *state, char *name, struct input *input)
{
	char *at = strrchr(name, '@');

	if (!at || !at[1] || strstr(name, "://") || is_file(name))
		return name;
	*at = '\0';
	if ((at != name && !is_file(name)) || !parse_numbers(at + 1, input)) {
		*at = '@';
		if (at == name)
			argp_help_error(state,
					"'%s': '%s' is not the number of a recording, nor two "
					"such as 3..5",
					name, at + 1);
		return name;
	}
	return at == name ? NULL : name;
}

int input_part(const char *name, char **ret_path, struct input *input)
{
	const char *at = strrchr(name, '@');
	const bool whole = is_file(name);
	char *path;

	if (!whole && at && at[1]) {
		if (!parse_numbers(at + 1, input)) {
			message("%s: '%s' is not the number of a recording, nor two such as 3..5",
				name, at + 1);
			return CMD_USAGE;
		}
		path = at == name ? input_path(&(struct input){0})
				  : strndup(name, (size_t)(at - name));
	} else {
		path = strdup(name);
	}
	if (!path) {
		message("out of memory");
		return CMD_FAILED;
	}
	*ret_path = path;
	return CMD_DONE;
}

/* --- times ---------------------------------------------------------------------------------- */

static uint64_t parse_moment(struct argp_state *state, const char *option, const char *arg,
			     uint64_t now_ns, uint64_t after_ns)
{
	uint64_t moment = 0;
	int err = wall_time_parse(arg, now_ns, after_ns, &moment);

	if (err == -ERANGE)
		argp_help_error(state, "--%s: the clock skipped '%s' on that day", option, arg);
	else if (err < 0 || !moment)
		argp_help_error(state,
				"--%s: '%s' is not a moment such as 14:05, yesterday 14:05 or "
				"2026-11-22 14:05:30",
				option, arg);
	return moment;
}

static uint64_t parse_time(struct argp_state *state, const char *option, const char *arg)
{
	uint64_t ns = 0;

	if (!duration_parse(arg, &ns))
		argp_help_error(
			state,
			"--%s: '%s' is not a time such as 1.5, 20ms or 3m, nor a moment such as "
			"14:05",
			option, arg);
	return ns;
}

static void parse_since(struct argp_state *state, struct input *input, uint64_t now_ns)
{
	uint64_t ago;

	if (input->from)
		argp_help_error(state, "--since and --from exclude each other");
	input->is_range = true;
	if (!duration_parse(input->since, &ago))
		input->range.from_unix_ns = parse_moment(state, "since", input->since, now_ns, 0);
	else
		input->range.from_unix_ns = ago < now_ns ? now_ns - ago : 1;
}

/* Parses --from and --to as times since the recording's start. */
static void parse_filter(struct argp_state *state, struct input *input)
{
	struct profile_filter *filter = &input->filter;

	if (input->from)
		filter->from_ns = parse_time(state, "from", input->from);
	if (!input->to)
		return;
	filter->to_ns = parse_time(state, "to", input->to);
	if (!filter->to_ns)
		argp_help_error(state, "--to: nothing is before the start");
	if (filter->from_ns >= filter->to_ns)
		argp_help_error(state, "--from is not before --to");
}

void input_range_times(struct argp_state *state, struct input *input)
{
	bool from = input->from && wall_time_is(input->from);
	bool to = input->to && wall_time_is(input->to);
	uint64_t now_ns = clock_ns(CLOCK_REALTIME);
	struct store_range *range = &input->range;

	if (input->since)
		parse_since(state, input, now_ns);
	if (!from && !to) {
		parse_filter(state, input);
		return;
	}
	if ((input->from && !from) || (input->to && !to))
		argp_help_error(state,
				"--from and --to: one is a time since the start and the other a "
				"moment; give both in one way");
	input->is_range = true;
	if (from)
		range->from_unix_ns = parse_moment(state, "from", input->from, now_ns, 0);
	if (to)
		range->to_unix_ns =
			parse_moment(state, "to", input->to, now_ns, range->from_unix_ns);
	if (to && range->from_unix_ns >= range->to_unix_ns)
		argp_help_error(state, "--from is not before --to");
}

/* --- opening -------------------------------------------------------------------------------- */

int input_open_reader(const struct input *input, const char *path, struct store_reader **ret_reader,
		      char **ret_error)
{
	uint32_t left_out = 0;
	int err;

	if (!input->is_range)
		return store_reader_open(path, input->recording, ret_reader, ret_error);
	err = store_reader_open_range(path, &input->range, ret_reader, ret_error);
	if (err == 0)
		left_out = store_reader_tables(*ret_reader)->left_out;
	if (left_out)
		message("%u recording%s another target, host or event, and %s left "
			"out: --recording ID shows one recording",
			left_out, text_plural(left_out, " of that time has", "s of that time have"),
			text_plural(left_out, "is", "are"));
	return err;
}
