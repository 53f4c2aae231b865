/* SPDX-License-Identifier: MIT */
/*
 * Shows the progress of a run in one line: samples a second, losses, quality, and stackd's own CPU
 * use. The line is renewed every second on a terminal and sent to the service manager; a summary
 * ends the run.
 */
#ifndef STATUS_H
#define STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/base/idle_time.h"

struct status_numbers {
	uint64_t now_ns; /* CLOCK_MONOTONIC */
	uint64_t samples, lost, complete, partial;
	uint64_t waits;		 /* number of sampled waits */
	uint64_t idle;		 /* samples that hit idle CPUs */
	struct idle_times times; /* idle times of the CPUs, if the whole machine is recorded */
};

struct status {
	struct status_numbers last; /* numbers of the previous line */
	uint64_t last_cpu_ns;
};

/* Starts the first line's interval. `now_ns`: CLOCK_MONOTONIC. */
void status_start(struct status *status, uint64_t now_ns);

/* Shows the line on the terminal and sends it to the service manager; `quiet`: only sends it. */
void status_show(struct status *status, const struct status_numbers *now, bool quiet);

/* Writes "12345 samples, 0 lost, 99.9% complete, ..." to `buf`, with "idle 41.0%" if the whole
 * machine was recorded and any of it was idle. */
void status_summary(const struct status_numbers *n, char *buf, unsigned long size);

#endif
