/* SPDX-License-Identifier: MIT */
/* Starts clocks apart from each other; see phases.h. */
#include "daemon/capture/phases.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"

#define SPIN_NS 100000u /* a sleep may end this much too late */

struct phase {
	uint64_t offset_ns;
	size_t clock;
};

uint64_t phases_offset(size_t i, uint64_t span_ns)
{
	/* 2^32 divided by the golden ratio, so the product's lower half is the fractional part */
	const uint32_t part = (uint32_t)i * UINT32_C(2654435769);

	return span_ns < UINT32_MAX ? span_ns * part >> 32 : 0;
}

static int by_offset(const void *a, const void *b)
{
	const struct phase *x = a, *y = b;

	return (x->offset_ns > y->offset_ns) - (x->offset_ns < y->offset_ns);
}

static void wait_until(uint64_t due_ns)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC);
	const struct timespec sleep = {.tv_nsec = (long)(due_ns - now - SPIN_NS)};

	if (now + SPIN_NS < due_ns)
		nanosleep(&sleep, NULL);
	while (clock_ns(CLOCK_MONOTONIC) < due_ns)
		;
}

int phases_start(size_t n, uint64_t period_ns, int (*start)(void *arg, size_t i), void *arg)
{
	const uint64_t span = period_ns < PHASES_MOST_NS ? period_ns : PHASES_MOST_NS;
	struct phase *phases = calloc(n ? n : 1, sizeof(*phases));
	uint64_t begin;
	int err = 0;

	if (!phases)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		phases[i] = (struct phase){phases_offset(i, span), i};
	qsort(phases, n, sizeof(*phases), by_offset);
	begin = clock_ns(CLOCK_MONOTONIC);
	for (size_t i = 0; i < n; i++) {
		int failed;

		wait_until(begin + phases[i].offset_ns);
		failed = start(arg, phases[i].clock);
		err = err ? err : failed;
	}
	free(phases);
	return err;
}
