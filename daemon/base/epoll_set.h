/* SPDX-License-Identifier: MIT */
/*
 * Wakes the main loop: one epoll descriptor over a periodic tick, the signals that end a run, an
 * optional deadline, and any other descriptor that is watched.
 */
#ifndef BASE_EPOLL_SET_H
#define BASE_EPOLL_SET_H

#include <stdbool.h>
#include <stdint.h>

struct epoll_set {
	int epoll, signals, tick, deadline; /* descriptors; -1: none */
	int ends; /* epoll of those that can end a run: it is readable when one of them is; -1: none
		   */
};

#define EPOLL_SET_NONE                                                                             \
	((struct epoll_set){.epoll = -1, .signals = -1, .tick = -1, .deadline = -1, .ends = -1})

/* Blocks SIGINT and SIGTERM, and watches for them and for a tick every `tick_ns`. 0 or negative
 * errno; epoll_set_close() closes what was opened in either case. */
int epoll_set_open(struct epoll_set *set, uint64_t tick_ns);

/* Changes the time between two ticks, from now on; cannot fail for times above 0. */
void epoll_set_tick(const struct epoll_set *set, uint64_t tick_ns);

/* Watches a descriptor, which stays the caller's, until it is readable; -1 is none. 0 or negative
 * errno. */
int epoll_set_watch(struct epoll_set *set, int fd);

/* Does the same for a descriptor that can end a run, as signals and the deadline do. */
int epoll_set_watch_end(struct epoll_set *set, int fd);

/* Wakes the loop once, at a time of CLOCK_MONOTONIC. 0 or negative errno. */
int epoll_set_deadline(struct epoll_set *set, uint64_t at_ns);

/* Waits for at most `most_ms`; -1: without a limit. Fills `ret_fds` with at most `max` readable
 * descriptors and returns their number, which is 0 also if a signal handler interrupted the
 * wait. */
int epoll_set_wait(const struct epoll_set *set, int most_ms, int *ret_fds, int max);

/* Returns whether a signal is pending. */
bool epoll_set_has_signal(const struct epoll_set *set);

/* Reads every pending signal. Returns whether there was one. */
bool epoll_set_take_signals(struct epoll_set *set);

/* Reads the ticks that have passed, so that the timer is not readable any more. */
void epoll_set_take_tick(struct epoll_set *set);

/* Closes every descriptor that was opened here. */
void epoll_set_close(struct epoll_set *set);

#endif
