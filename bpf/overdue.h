/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * How many periods of a clock a sample represents, as a pure function of numbers.
 *
 * A clock is due at times that are a period apart. If it fires late by several of them, it fires
 * once, and is next due at the first of these times that has not passed. So the sample represents
 * one period, and one more for each that has passed meanwhile:
 *
 *      due                                now        next due
 *   ────┴──────────┴──────────┴──────────┴─┼────────┴──────────►     3 + 1 periods
 *       |◄──────────── late ──────────────►|
 *
 * In a virtual machine the host can have had the CPU for a part of that time. If the host reports
 * it, the scheduler counts that part as nobody's CPU time, and samples do the same. Which of the
 * times were in that part is not known. So it is subtracted from the delay, which is then counted
 * in whole periods, and the sample always keeps the one for which the clock fired.
 *
 * The kernel half includes this, and so does tests/unit/test_overdue.c.
 */
#ifndef OVERDUE_H
#define OVERDUE_H

/* Returns the periods, 1 or more, that a sample represents which was due `late_ns` ago, while the
 * host had the CPU for `stolen_ns`. `period_ns` is not 0. */
static inline __attribute__((always_inline)) unsigned long long
overdue_periods(unsigned long long late_ns, unsigned long long stolen_ns,
		unsigned long long period_ns)
{
	return late_ns > stolen_ns ? (late_ns - stolen_ns) / period_ns + 1 : 1;
}

/* Returns when the clock is due next. */
static inline __attribute__((always_inline)) unsigned long long
overdue_next(unsigned long long due_ns, unsigned long long now_ns, unsigned long long period_ns)
{
	return due_ns + ((now_ns - due_ns) / period_ns + 1) * period_ns;
}

#endif
