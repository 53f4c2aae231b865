/* SPDX-License-Identifier: MIT */
/*
 * Makes a tree of waker chains: which threads ended the waits, and what these threads had waited
 * for themselves.
 *
 *   [futex]                                    what a thread waited for
 *     worker: run > unlock                     the thread that ended it, and in which functions
 *       [block I/O]                            what that thread had waited for until just before
 *         an interrupt                         ended that one
 *
 * A chain goes on with the waker's own last wait before it woke the thread, if that wait ended
 * while the thread waited. Otherwise the waker was working all that time, and the chain ends. As
 * waits are sampled, a chain can miss a short wait. A chain has at most WAKERS_HOPS wake-ups
 * (chosen by hand, for what a reader can follow), and ends at interrupts. model/waits.h pairs waits
 * and wake-ups.
 */
#ifndef MODEL_WAKERS_H
#define MODEL_WAKERS_H

#include <stdint.h>

#include "base/strings.h"
#include "base/vec.h"
#include "model/profile.h"

#define WAKERS_HOPS 5
#define WAKERS_NONE UINT32_MAX

enum waker_kind {
	WAKER_REASON, /* what the thread waited for */
	WAKER_THREAD,
	WAKER_INTERRUPT,
	WAKER_UNKNOWN, /* The wait has not ended, or its waker is unknown. */
};

struct waker_node {
	/* time and number of the selected waits whose chains go through this node */
	uint64_t ns, waits;
	uint32_t parent, first_child, next;
	uint32_t name; /* in wakers.names */
	enum waker_kind kind;
};

struct wakers {
	VEC(struct waker_node) nodes; /* [0] is the root, with all waits that the filter selects */
	struct strings *names;
};

/* Makes the tree of a profile of METRIC_WAIT_BLOCKED from the waits that its filter selects.
 * Children are sorted by time, the largest first. Returns 0, -ENOMEM, or an error of
 * store_reader_records(). The caller frees the tree in any case. */
int wakers_make(struct profile *profile, struct wakers *ret_wakers);
void wakers_free(struct wakers *wakers);

#endif
