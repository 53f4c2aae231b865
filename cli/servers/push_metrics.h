/* SPDX-License-Identifier: MIT */
/*
 * How a push goes on, as metrics for Prometheus, in a file that node_exporter's textfile collector
 * reads (--metrics). It is written after each round, whether that succeeded or not.
 */
#ifndef CLI_PUSH_METRICS_H
#define CLI_PUSH_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/servers/unsent.h"

/* Sums since the program began. */
struct push_figures {
	uint64_t rounds, failed_rounds;
	uint64_t recordings, requests, bytes; /* that the server has accepted */
	uint64_t retries;		      /* requests that were made again */
	uint64_t refusals;  /* recordings that it has refused in part or as a whole, each time */
	uint64_t set_aside; /* requests that were set aside for good */
	uint64_t deleted;   /* recordings that were deleted before it had them */
	uint64_t success_unix_ns; /* end of the last round without a failure; 0: none */
	/* It is a server of profiles; for ClickHouse requests, retries, refusals and what was set
	 * aside are not measured, and not written. */
	bool is_of_profiles;
};

/* Writes the file, which replaces the old one when it is complete. `server`: its name; `waiting`:
 * the recordings that it does not have. Returns a cmd_status; a message has been printed if it is
 * not CMD_DONE. */
int push_metrics_write(const char *path, const char *server, const struct push_figures *figures,
		       const struct unsent *waiting);

#endif
