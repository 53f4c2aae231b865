/* SPDX-License-Identifier: MIT */
/*
 * Jobs that two threads do and one takes, in order: what decoding and encoding use a second
 * processor by.
 *
 * Each job is made into a slot, by the caller or by a thread that lives as long as the run, and
 * taken from it by the caller. A few slots are made ahead; so memory is bounded, and what is made
 * and taken is the same, in the same order, whether there is a second processor or not. Where no
 * thread can be had, the caller makes everything.
 */
#ifndef BASE_RELAY_H
#define BASE_RELAY_H

#include <stddef.h>

#define RELAY_SLOTS 4u

struct relay_work {
	size_t n; /* jobs, from 0 */
	/* Makes a job into a slot (a number below RELAY_SLOTS), which nobody else looks at
	 * meanwhile. Runs in either thread, and two jobs at once. 0 or -errno. */
	int (*make)(void *arg, size_t job, unsigned slot);
	/* Takes it: in the caller's thread, in order. 0, or what ends the run. */
	int (*take)(void *arg, size_t job, unsigned slot);
	void *arg;
};

/* Does all jobs. The first result of a make or a take that is not 0, in the order of jobs, which
 * ends the run: no job after it is taken, and none is being made when this returns. */
int relay_run(const struct relay_work *work);

#endif
