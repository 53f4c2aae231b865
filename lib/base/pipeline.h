/* SPDX-License-Identifier: MIT */
/*
 * An ordered pipeline of two threads, by which decoding and encoding use a second processor: both
 * threads make jobs, and the caller takes the results in order.
 *
 * The caller, or a thread that lives as long as the run, makes each job into a slot; the caller
 * takes it from there. At most PIPELINE_SLOTS jobs are made ahead, so memory is bounded, and the
 * results and their order do not depend on a second processor. If no thread can be started, the
 * caller makes all jobs.
 */
#ifndef BASE_PIPELINE_H
#define BASE_PIPELINE_H

#include <stddef.h>

#define PIPELINE_SLOTS 4u

struct pipeline_work {
	size_t n; /* jobs, from 0 */
	/* Makes job `job`, and leaves its result in slot `slot` (below PIPELINE_SLOTS), which no
	 * other call uses meanwhile. Both threads call it, also at the same time. Returns 0 or
	 * -errno. */
	int (*make)(void *arg, size_t job, unsigned slot);
	/* Takes the result of a job from its slot; called in the caller's thread, in the order of
	 * jobs. A nonzero result ends the run. */
	int (*take)(void *arg, size_t job, unsigned slot);
	void *arg;
};

/* Runs all jobs. A nonzero result of make() or take() ends the run: no later job is taken, and none
 * is being made when this returns. Returns the first such result in the order of jobs, or 0. */
int pipeline_run(const struct pipeline_work *work);

#endif
