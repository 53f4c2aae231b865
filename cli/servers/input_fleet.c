/* SPDX-License-Identifier: MIT */
/* Reads recordings from a server's database; see input_fleet.h. */
#include "cli/input_fleet.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "clickhouse/clickhouse.h"
#include "clickhouse/fleet.h"
#include "cli/cmd.h"
#include "cli/servers/credentials.h"
#include "cli/message.h"

bool input_is_fleet(const struct input *input)
{
	return input->path && clickhouse_is_url(input->path);
}

int input_fleet_by(struct input *input, enum partition_by by)
{
	static const unsigned labels[PARTITION_BY_ALL + 1] = {
		[PARTITION_BY_COMMAND] = FLEET_COMMAND,	    [PARTITION_BY_UNIT] = FLEET_UNIT,
		[PARTITION_BY_CONTAINER] = FLEET_CONTAINER, [PARTITION_BY_RANK] = FLEET_RANK,
		[PARTITION_BY_HOST] = FLEET_HOST,	    [PARTITION_BY_ALL] = 0};

	if (!input_is_fleet(input))
		return CMD_DONE;
	input->fleet_label =
		by == PARTITION_BY_SERVICE || by == PARTITION_BY_NAMESPACE || by == PARTITION_BY_POD
			? partition_word(by)
		: by == PARTITION_BY_LABEL ? input->filter.by_label
					   : NULL;
	if (by != PARTITION_BY_ALL && !labels[by] && !input->fleet_label) {
		message("--by %s: a server has sums of samples by host, command, unit, container, "
			"rank and labels; 'stackctl report' of a host's own store shows the rest",
			partition_word(by));
		return CMD_USAGE;
	}
	input->takes_fleets = true;
	input->fleet_labels = labels[by];
	return CMD_DONE;
}

/* Checks that a server can select samples by the options that are given. Returns the exit
 * status. */
static int check(const struct input *input)
{
	const struct profile_filter *f = &input->filter;
	const char *what = f->n_pids				    ? "--pid"
			   : f->n_tids				    ? "--tid"
			   : f->no_reconstructed		    ? "--no-reconstructed"
			   : f->from_ns || f->to_ns		    ? "--from and --to in seconds"
			   : input->recording || input->range.first ? "--recording"
								    : NULL;

	if (!input->takes_fleets) {
		message("%s: this view reads a host's store, and not a server's database: 'stackctl "
			"report', 'flamegraph', 'diff' and 'top' do",
			input->path);
		return CMD_USAGE;
	}
	if (!what)
		return CMD_DONE;
	message("%s is not for a server's database, which has sums of samples: choose by --since, "
		"--from, --to (moments), --host, --comm, --unit, --label, --event, --symbol, --dso, --focus and --ignore",
		what);
	return CMD_USAGE;
}

static int explain(const struct clickhouse *c, int err)
{
	const char *error = clickhouse_error(c);

	message("%s", *error ? error : strerror(-err));
	switch (err) {
	case -ENODATA:
		return CMD_NO_SAMPLES;
	case -EACCES:
		return CMD_NO_SUPPORT;
	case -ENOENT:
	case -EINVAL:
	case -EBADMSG:
		return CMD_USAGE;
	default:
		return CMD_FAILED;
	}
}

/* Prints which data of the server is left out, missing or ambiguous. */
static void report(const struct input *input, const struct fleet_found *found)
{
	char share[TEXT_SHARE_MAX];

	if (found->left_out)
		message("%" PRIu64 " window%s left out (%s): --event NAME chooses", found->left_out,
			text_plural(found->left_out, " of that time has another event, and is",
				    "s of that time have another event, and are"),
			found->events);
	if (found->missing)
		message("%" PRIu64 " of %" PRIu64 " records (%s %%) are missing here: %s",
			found->missing, found->records,
			text_share(found->missing, found->records, share),
			*found->why ? found->why : "no server that answers has them");
	if (found->rare)
		message("%" PRIu64 " of %" PRIu64 " records (%s %%) are of other than the %" PRIu32
			" most frequent paths, and shown as " FLEET_RARE ": --everything shows "
			"theirs",
			found->rare, found->records, text_share(found->rare, found->records, share),
			input->most_paths);
	if (found->lost_samples)
		message("the paths of %" PRIu64 " sample%s are not in %s: shown without frames",
			found->lost_samples, text_plural(found->lost_samples, "", "s"),
			input->path);
	if (found->ambiguous)
		message("%" PRIu64 " path%s two definitions under one tag: one of them is shown",
			found->ambiguous, text_plural(found->ambiguous, " has", "s have"));
}

static int open_query(const struct input *input, struct clickhouse *c,
		      struct store_reader **ret_reader)
{
	const struct profile_filter *f = &input->filter;
	const struct fleet_query query = {.from_unix_ns = input->range.from_unix_ns,
					  .to_unix_ns = input->range.to_unix_ns,
					  .hosts = {input->hosts, input->n_hosts},
					  .commands = {f->comms, f->n_comms},
					  .units = {f->units.items, f->units.n},
					  .with = {f->labels.items, f->labels.n},
					  .event = input->event,
					  .metric = f->metric,
					  .labels = input->fleet_labels,
					  .by_label = input->fleet_label,
					  .most_paths = f->symbols.n || f->focus.n || f->ignore.n ||
									f->dsos.n
								? 0
								: input->most_paths};
	struct fleet_found found = {0};
	int err = fleet_open(c, &query, ret_reader, &found);

	if (err < 0)
		return explain(c, err);
	report(input, &found);
	if (found.missing || found.lost_samples)
		message_partial();
	return CMD_DONE;
}

int input_fleet_open(const struct input *input, struct store_reader **ret_reader)
{
	struct clickhouse_options options = {.url = input->path};
	struct login login = {0};
	struct clickhouse *c = NULL;
	char *error = NULL;
	int status = check(input), err;

	if (status == CMD_DONE)
		status = credentials_read(input->credentials, CREDENTIALS_CLICKHOUSE, &login);
	if (status != CMD_DONE)
		return status;
	options.login = &login;
	err = clickhouse_new(&options, &c, &error);
	if (err < 0) {
		message("%s", error ? error : strerror(-err));
		status = err == -ENOMEM ? CMD_FAILED : CMD_USAGE;
	} else {
		status = open_query(input, c, ret_reader);
	}
	free(error);
	clickhouse_free(c);
	login_fini(&login);
	return status;
}
