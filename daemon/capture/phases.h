/* SPDX-License-Identifier: MIT */
/*
 * Starts the clock events of different CPUs at different moments.
 *
 * A sample's interrupt stops its CPU, and with it all threads of other CPUs that wait for the
 * thread which runs there. If the clocks of two CPUs run out one right behind the other, the second
 * clock never hits a thread that exchanges wake-ups with a thread of the first CPU, because at that
 * moment it waits. In a virtual machine whose interrupts take 60 us, such clocks were 58 us apart,
 * and the second CPU had 0.22 s of samples where a thread had run for 0.76 s. At half a period
 * apart it had all of them.
 *
 * The clocks of all CPUs are timers with the same period and do not drift against each other. So
 * they start at moments that divide a period by the golden ratio: the n-th at the fractional part
 * of 0.618 n. Then the clocks of CPUs with neighbouring numbers are far apart, and of n clocks no
 * two are nearer to each other than 1 / (2.3 n) of a period.
 *
 * The starts are spread over a whole period, but over PHASES_MOST_NS at most, which is far longer
 * than any interrupt takes. A sleep can end as late as an interrupt takes, so the caller's thread
 * spins at the end of each wait.
 */
#ifndef CAPTURE_PHASES_H
#define CAPTURE_PHASES_H

#include <stddef.h>
#include <stdint.h>

#define PHASES_MOST_NS 2000000u

/* Returns when clock number `i` is to start, less than `span_ns` after the first one. */
uint64_t phases_offset(size_t i, uint64_t span_ns);

/* Calls start(arg, i) for each of `n` clocks, each at its moment within the next `period_ns`, or
 * within PHASES_MOST_NS if that is shorter; with a period of 0, all at once. Goes on if a call
 * fails. 0; the first error of `start`; -ENOMEM: none was called. */
int phases_start(size_t n, uint64_t period_ns, int (*start)(void *arg, size_t i), void *arg);

#endif
