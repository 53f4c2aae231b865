/* SPDX-License-Identifier: MIT */
/*
 * Wakes the main loop: one epoll descriptor over a periodic tick, the signals that end a run, an
 * optional deadline, and any other descriptor that is watched.
 */
#ifndef BASE_WAKEUPS_H
#define BASE_WAKEUPS_H

#include <stdbool.h>
#include <stdint.h>

struct wakeups {
	int epoll, signals, tick, deadline; /* descriptors; -1: none */
};

#define WAKEUPS_NONE ((struct wakeups){.epoll = -1, .signals = -1, .tick = -1, .deadline = -1})

/* Blocks SIGINT and SIGTERM, and watches for them and for a tick every `tick_ns`. 0 or negative
 * errno; wakeups_close() closes what was opened in either case. */
int wakeups_open(struct wakeups *wakeups, uint64_t tick_ns);

/* Changes the time between two ticks, from now on; cannot fail for times above 0. */
void wakeups_set_tick(const struct wakeups *wakeups, uint64_t tick_ns);

/* Watches a descriptor, which stays the caller's, until it is readable; -1 is none. 0 or negative
 * errno. */
int wakeups_watch(struct wakeups *wakeups, int fd);

/* Wakes the loop once, at a time of CLOCK_MONOTONIC. 0 or negative errno. */
int wakeups_set_deadline(struct wakeups *wakeups, uint64_t at_ns);

/* Waits for at most `most_ms`; -1: without a limit. Fills `ret_fds` with at most `max` readable
 * descriptors and returns their number: 0 also if a signal handler interrupted the wait. */
int wakeups_wait(const struct wakeups *wakeups, int most_ms, int *ret_fds, int max);

/* Reads every pending signal. Returns whether there was one. */
bool wakeups_take_signals(struct wakeups *wakeups);

/* Reads the ticks that have passed, so that the timer is not readable any more. */
void wakeups_take_tick(struct wakeups *wakeups);

/* Closes every descriptor that was opened here. */
void wakeups_close(struct wakeups *wakeups);

#endif
