/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * Computes how many periods of a clock a sample represents.
 *
 * A clock is due at times that are one period apart. If it fires late by several periods, it fires
 * only once, and is next due at the first of these times that is still in the future. So the sample
 * represents one period, and one more for each period that has passed meanwhile:
 *
 *      due                                now        next due
 *   ────┴──────────┴──────────┴──────────┴─┼────────┴──────────►     3 + 1 periods
 *       |◄──────────── late ──────────────►|
 *
 * In a virtual machine, the host can have had the CPU for a part of that time. If the host reports
 * how long, the scheduler counts that part for no task, and samples do the same. Nobody knows which
 * of the due times were in that part. So that part is subtracted from the delay, and the rest of
 * the delay is counted in whole periods. The period for which the clock fired always counts.
 *
 * The kernel half includes this header, and so does tests/unit/test_overdue.c.
 */
#ifndef OVERDUE_H
#define OVERDUE_H

/* Returns the number of periods, at least 1, that a sample represents if it was due `late_ns` ago
 * and the host had the CPU for `stolen_ns` of that. `period_ns` is not 0. */
static inline __attribute__((always_inline)) unsigned long long
overdue_periods(unsigned long long late_ns, unsigned long long stolen_ns,
		unsigned long long period_ns)
{
	return late_ns > stolen_ns ? (late_ns - stolen_ns) / period_ns + 1 : 1;
}

/* Returns the time at which the clock is due next, after `now_ns`. */
static inline __attribute__((always_inline)) unsigned long long
overdue_next(unsigned long long due_ns, unsigned long long now_ns, unsigned long long period_ns)
{
	return due_ns + ((now_ns - due_ns) / period_ns + 1) * period_ns;
}

#endif
