/* SPDX-License-Identifier: MIT */
/* Parses sides of a comparison; see fleet_side.h. */
#include "cli/fleet_side.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/wall_time.h"
#include "cli/cmd.h"
#include "cli/message.h"

static int wrong(const char *text, const char *why, const char *what)
{
	message("%s: '%s' %s; a part of a server's database is named as HOST, @FROM..TO or "
		"HOST@FROM..TO",
		text, what, why);
	return CMD_USAGE;
}

/* Parses one end of a range: a moment, or how long ago it was. `after_ns` as for wall_time_parse().
 * Returns the exit status. */
static int parse_end(const char *text, const char *end, uint64_t after_ns, uint64_t *ret_unix_ns)
{
	const uint64_t now_ns = clock_ns(CLOCK_REALTIME);
	uint64_t ago;
	int err;

	if (duration_parse(end, &ago)) {
		*ret_unix_ns = ago < now_ns ? now_ns - ago : 1;
		return CMD_DONE;
	}
	err = wall_time_parse(end, now_ns, after_ns, ret_unix_ns);
	if (err == -ERANGE)
		return wrong(text, "was skipped by the clock", end);
	if (err < 0 || !*ret_unix_ns)
		return wrong(text,
			     "is not a moment such as 14:05 or 2026-11-22 14:05, nor a time until "
			     "now such as 2h",
			     end);
	return CMD_DONE;
}

/* Parses FROM or FROM..TO. Cuts the text in two at the "..". */
static int parse_time(const char *text, char *time, struct store_range *range)
{
	char *to = strstr(time, "..");
	int status;

	if (to) {
		*to = '\0';
		to += 2;
	}
	range->to_unix_ns = 0;
	status = parse_end(text, time, 0, &range->from_unix_ns);
	if (status == CMD_DONE && to)
		status = parse_end(text, to, range->from_unix_ns, &range->to_unix_ns);
	if (status == CMD_DONE && to && range->from_unix_ns >= range->to_unix_ns)
		return wrong(text, "is not after the time's start", to);
	return status;
}

int fleet_side_parse(const char *text, const struct input *options, struct fleet_side *ret_side)
{
	char *time;
	int status = CMD_DONE;

	ret_side->input = *options;
	ret_side->host = strdup(text);
	if (!ret_side->host) {
		message("out of memory");
		return CMD_FAILED;
	}
	time = strchr(ret_side->host, '@');
	if (time) {
		*time = '\0';
		status = parse_time(text, time + 1, &ret_side->input.range);
	}
	if (*ret_side->host) {
		ret_side->input.hosts[0] = ret_side->host;
		ret_side->input.n_hosts = 1;
	}
	return status;
}

void fleet_side_free(struct fleet_side *side)
{
	free(side->host);
}
