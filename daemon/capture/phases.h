/* SPDX-License-Identifier: MIT */
/*
 * The moments at which the clocks of different CPUs start.
 *
 * A sample stops its CPU for as long as its interrupt takes, and threads of other CPUs that wait
 * for the thread on it. If the clocks of two CPUs run out one right behind the other, the second
 * one never hits a thread that exchanges wake-ups with the first CPU: that thread waits then. In a
 * virtual machine whose interrupts take 60 us, such clocks were 58 us apart, and the second CPU had
 * 0.22 s of samples where a thread had run for 0.76 s. At half a period apart it had all of them.
 *
 * The clocks are timers of one period and do not drift. So they start at moments that divide a
 * period by the golden ratio: the n-th at the fractional part of 0.618 n. Then CPUs that are
 * neighbours are far apart, and of n CPUs no two are nearer than 1 / 2.3 n of it.
 *
 * Starting takes a part of a period, but at most PHASES_MOST_NS, which is far longer than any
 * interrupt. A sleep ends late by as much as an interrupt takes, so the caller's thread spins at
 * the end of each wait.
 */
#ifndef CAPTURE_PHASES_H
#define CAPTURE_PHASES_H

#include <stddef.h>
#include <stdint.h>

#define PHASES_MOST_NS 2000000u

/* Returns when clock number `i` is to start, less than `span_ns` after the first one. */
uint64_t phases_offset(size_t i, uint64_t span_ns);

/* Calls `start` for each of `n` clocks at its moment within a span of time: the period of the
 * clocks, which may be 0, or the most that is possible. All are started, also if one fails. 0, the
 * first error of `start`, or -ENOMEM: then none was started. */
int phases_start(size_t n, uint64_t period_ns, int (*start)(void *arg, size_t i), void *arg);

#endif
