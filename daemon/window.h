/* SPDX-License-Identifier: MIT */
/*
 * Decides when the windows end into which a long recording is cut (--window).
 *
 * Windows are aligned to the wall clock, in local time: those of an hour end on the hour, those of
 * a day at midnight. Samples have times of CLOCK_MONOTONIC, so a window's end is a time of that
 * clock, and each window has a pair of times of both clocks. If the wall clock is set, or the
 * machine was suspended, that pair is not valid any more: then the window ends early, so that every
 * sample can be found by the wall clock of its moment.
 */
#ifndef WINDOW_H
#define WINDOW_H

#include <stdbool.h>
#include <stdint.h>

struct window {
	uint64_t length_ns;	/* 0: the recording is not cut */
	uint64_t start_unix_ns; /* wall clock at start_ns */
	uint64_t start_ns;	/* CLOCK_MONOTONIC */
	uint64_t end_ns;	/* UINT64_MAX: never */
};

/* Returns a run's first window, which begins at a moment that is `unix_ns` by the wall clock and
 * `start_ns` by CLOCK_MONOTONIC. */
struct window window_begin(uint64_t length_ns, uint64_t unix_ns, uint64_t start_ns);

/* Returns the window that follows `before`, at the moment when `before` ends. `unix_ns` is the wall
 * clock at that moment. It is inexact, since the wall clock is slewed and the two clocks are not
 * read at one moment. So if an aligned window starts within 50 ms of it, the window starts
 * there. */
struct window window_next(const struct window *before, uint64_t unix_ns);

/* Returns whether the wall clock has moved against the monotonic one since the window began, by
 * more than NTP's slewing explains. */
bool window_is_torn(const struct window *window, uint64_t unix_ns, uint64_t mono_ns);

/* Returns the time from a moment of the wall clock to the end of a window that begins then. If very
 * little is left of an aligned window, it is joined to the next one, because the two clocks are not
 * read at the same moment, so that a window that ends on time can seem to end just before the next
 * one starts. `offset_s`: seconds that local time is ahead of UTC. */
uint64_t window_left_ns(uint64_t length_ns, uint64_t unix_ns, int64_t offset_s);

#endif
