/* SPDX-License-Identifier: MIT */
/* Takes records of waits; see recorder.h. */
#include <math.h>

#include "daemon/model/recorder_internal.h"

/* Returns the time that a part of a wait stands for: d / p, if a part of the length d is kept with
 * the probability p = 1 - exp(-d / mean). */
static uint64_t weight_of(uint64_t ns, uint64_t mean_ns)
{
	if (!mean_ns)
		return ns;
	return (uint64_t)((double)ns / -expm1(-(double)ns / (double)mean_ns) + 0.5);
}

int recorder_wait(struct recorder *r, const struct stackd_instance *i,
		  const struct store_sample *row)
{
	int err = 0;

	if (i->blocked_ns)
		err = recorder_keep(r, SERIES_WAIT_BLOCKED, weight_of(i->blocked_ns, i->mean_ns),
				    *row);
	if (!err && i->runnable_ns)
		err = recorder_keep(r, SERIES_WAIT_RUNNABLE, weight_of(i->runnable_ns, i->mean_ns),
				    *row);
	return err;
}
