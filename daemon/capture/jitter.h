/* SPDX-License-Identifier: MIT */
/*
 * Changes the period of a clock event at random (--jitter), so that samples do not always hit the
 * same part of a program that does something periodically.
 *
 * Changes alternate between faster and slower, so that the mean rate stays. Samples go on to report
 * the nominal period, which is right on average. Each change loses half a period on average, since
 * the kernel starts the clock's timer anew, so there is at most one change in JITTER_EACH periods.
 */
#ifndef CAPTURE_JITTER_H
#define CAPTURE_JITTER_H

#include <stddef.h>
#include <stdint.h>

#define JITTER_EACH 200u

struct jitter {
	uint64_t changes, changed_ns; /* number of changes; time of the last one */
};

/* Sets the rate of each of `n` events of a clock to a random one, up to `percent` above or below
 * `frequency`; does nothing if the last change is too recent. */
void jitter_change(struct jitter *jitter, const int *events, size_t n, uint64_t frequency,
		   unsigned percent, uint64_t now_ns);

#endif
