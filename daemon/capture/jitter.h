/* SPDX-License-Identifier: MIT */
/* The random part of a clock's period (--jitter): see sampler_jitter(). */
#ifndef CAPTURE_JITTER_H
#define CAPTURE_JITTER_H

#include <linux/perf_event.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>

#include "base/hash.h"

#define JITTER_EACH 200u /* records an event, between two changes */

struct jitter {
	uint64_t changes;
	size_t received, changed; /* records there have been, and at the last change */
};

/* Changes the period of `n` events as sampler_jitter() says; nothing, where it is too early for
 * that. */
static inline void jitter_change(struct jitter *j, const int *events, size_t n, uint64_t frequency,
				 unsigned percent)
{
	double part =
		(ldexp((double)(hash_mix64(j->changes / 2 + 1) >> 11), -54) + 0.5) * percent / 100;
	double rate = (double)frequency * (j->changes % 2 ? 1 - part : 1 + part);
	uint64_t period = (uint64_t)(1e9 / rate);

	if (j->changes && j->received - j->changed < JITTER_EACH * n)
		return;
	j->changed = j->received;
	j->changes++;
	for (size_t i = 0; i < n; i++)
		ioctl(events[i], PERF_EVENT_IOC_PERIOD, &period);
}

#endif
