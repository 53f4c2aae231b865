/* SPDX-License-Identifier: MIT */
/* Writes the metrics of a push; see push_metrics.h. */
#include "cli/servers/push_metrics.h"

#include <inttypes.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/output.h"

#define NS 1e9

static void put(struct buf *b, const char *server, const char *name, const char *type,
		const char *help, double value)
{
	text_printf(b, "# HELP stackd_push_%s %s\n# TYPE stackd_push_%s %s\n", name, help, name,
		    type);
	text_printf(b, "stackd_push_%s{server=\"%s\"} %.17g\n", name, server, value);
}

static void put_all(struct buf *b, const char *server, const struct push_figures *f,
		    const struct unsent *waiting)
{
	const struct {
		const char *name, *help;
		uint64_t value;
		bool is_of_profiles; /* ClickHouse: not measured */
	} counters[] = {
		{"rounds_total", "Times that the store was looked at.", f->rounds, false},
		{"failed_rounds_total", "Of these, those that failed.", f->failed_rounds, false},
		{"recordings_total", "Recordings that the server has taken.", f->recordings, false},
		{"requests_total", "Requests that it has accepted.", f->requests, true},
		{"bytes_total", "Bytes that it has accepted.", f->bytes, false},
		{"retries_total", "Requests that were made again.", f->retries, true},
		{"refusals_total", "Recordings that it has refused, in part or as a whole.",
		 f->refusals, true},
		{"set_aside_total", "Requests that were set aside, since it will not take them.",
		 f->set_aside, true},
		{"deleted_total", "Recordings that were deleted before the server had them.",
		 f->deleted, false},
	};
	const uint64_t oldest = unsent_oldest(waiting), now = clock_ns(CLOCK_REALTIME);

	put(b, server, "lag_seconds", "gauge",
	    "Time since the end of the oldest recording that has ended and is not at the server.",
	    oldest && oldest < now ? (double)(now - oldest) / NS : 0);
	put(b, server, "waiting_recordings", "gauge",
	    "Recordings that have ended and are not at the server.", (double)unsent_ended(waiting));
	put(b, server, "last_success_timestamp_seconds", "gauge",
	    "End of the last round without a failure; 0: there was none.",
	    (double)f->success_unix_ns / NS);
	for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++)
		if (f->is_of_profiles || !counters[i].is_of_profiles)
			put(b, server, counters[i].name, "counter", counters[i].help,
			    (double)counters[i].value);
}

int push_metrics_write(const char *path, const char *server, const struct push_figures *figures,
		       const struct unsent *waiting)
{
	struct output output;
	struct buf b = {0};
	int status = output_begin(path, &output);

	if (status != CMD_DONE)
		return status;
	put_all(&b, server, figures, waiting);
	return output_end(&output, text_end(&b, output.file, 0));
}
