/* SPDX-License-Identifier: MIT */
/*
 * Times of files come from a clock that the kernel sets at each tick, so two changes of a file can
 * have one time. How late a tick is, on a machine whose processors are taken away, nobody knows: a
 * test that needs two times waits until the clock has gone on.
 */
#ifndef FILE_CLOCK_H
#define FILE_CLOCK_H

#include <stdint.h>
#include <time.h>
#include <unistd.h>

static inline int64_t file_clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME_COARSE, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Waits until a file that is changed from now on has a later time than one that was changed before:
 * for 20 ms of that clock, in which stackd's own readings of other clocks fall, too. */
static inline void file_clock_goes_on(void)
{
	const int64_t start = file_clock_ns();

	do
		usleep(20000);
	while (file_clock_ns() - start < 20000000);
}

#endif
