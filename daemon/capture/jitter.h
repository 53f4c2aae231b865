/* SPDX-License-Identifier: MIT */
/*
 * The random part of a clock's period (--jitter), so that samples are locked to no period of the
 * program's.
 *
 * A change is to either side of the rate by turns, so that the mean rate stays. Samples go on to
 * report the period of before, which is right on average. Each change loses half a period, so
 * there is one in JITTER_EACH periods at most.
 */
#ifndef CAPTURE_JITTER_H
#define CAPTURE_JITTER_H

#include <stddef.h>
#include <stdint.h>

#define JITTER_EACH 200u

struct jitter {
	uint64_t changes, changed_ns; /* how many there were, and when the last one */
};

/* Changes the period of `n` events of a clock by a random part, of up to `percent` of the rate, to
 * a side of `frequency`; does nothing where it is too early for that. */
void jitter_change(struct jitter *jitter, const int *events, size_t n, uint64_t frequency,
		   unsigned percent, uint64_t now_ns);

#endif
