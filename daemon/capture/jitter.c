/* SPDX-License-Identifier: MIT */
/* Changes the periods of events; see jitter.h. */
#include "daemon/capture/jitter.h"

#include <linux/perf_event.h>
#include <math.h>
#include <sys/ioctl.h>

#include "base/hash.h"

/* Returns the period of event `i` in ns. Each event gets a random part of its own at each change,
 * so that the clocks of two CPUs do not go on at a fixed distance (phases.h). */
static uint64_t period_of(const struct jitter *j, size_t i, uint64_t frequency, unsigned percent)
{
	const uint64_t bits = hash_mix64((j->changes / 2 + 1) ^ (uint64_t)i << 32) >> 11;
	const double part = (ldexp((double)bits, -54) + 0.5) * percent / 100;

	return (uint64_t)(1e9 / ((double)frequency * ((j->changes + i) % 2 ? 1 - part : 1 + part)));
}

void jitter_change(struct jitter *j, const int *events, size_t n, uint64_t frequency,
		   unsigned percent, uint64_t now_ns)
{
	if (j->changes && now_ns - j->changed_ns < JITTER_EACH * UINT64_C(1000000000) / frequency)
		return;
	for (size_t i = 0; i < n; i++) {
		uint64_t period = period_of(j, i, frequency, percent);

		ioctl(events[i], PERF_EVENT_IOC_PERIOD, &period);
	}
	j->changed_ns = now_ns;
	j->changes++;
}
