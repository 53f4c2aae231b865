/* SPDX-License-Identifier: MIT */
/* Changes the periods of events; see jitter.h. */
#include "daemon/capture/jitter.h"

#include <linux/perf_event.h>
#include <math.h>
#include <sys/ioctl.h>

#include "base/hash.h"

void jitter_change(struct jitter *j, const int *events, size_t n, uint64_t frequency,
		   unsigned percent, uint64_t now_ns)
{
	double part =
		(ldexp((double)(hash_mix64(j->changes / 2 + 1) >> 11), -54) + 0.5) * percent / 100;
	double rate = (double)frequency * (j->changes % 2 ? 1 - part : 1 + part);
	uint64_t period = (uint64_t)(1e9 / rate);

	if (j->changes && now_ns - j->changed_ns < JITTER_EACH * UINT64_C(1000000000) / frequency)
		return;
	j->changed_ns = now_ns;
	j->changes++;
	for (size_t i = 0; i < n; i++)
		ioctl(events[i], PERF_EVENT_IOC_PERIOD, &period);
}
