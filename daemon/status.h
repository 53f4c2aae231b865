/* SPDX-License-Identifier: MIT */
/*
 * How it goes, in one line: samples a second, losses, quality, and what stackd itself costs. On a
 * terminal it is renewed every second, a service manager is told, and the summary ends the run.
 */
#ifndef STATUS_H
#define STATUS_H

#include <stdbool.h>
#include <stdint.h>

struct status_numbers {
	uint64_t now_ns; /* CLOCK_MONOTONIC */
	uint64_t samples, lost, idle, complete, partial;
};

struct status {
	struct status_numbers last; /* what was shown last */
	uint64_t last_cpu_ns;
};

void status_start(struct status *status, uint64_t now_ns);

/* Shows the line; `quiet`: only to a service manager. */
void status_show(struct status *status, const struct status_numbers *now, bool quiet);

/* "12345 samples, 0 lost, 99.9% complete, ..." into `buf`, with "idle 41.0%" if CPUs were. */
void status_summary(const struct status_numbers *n, char *buf, unsigned long size);

#endif
