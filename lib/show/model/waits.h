/* SPDX-License-Identifier: MIT */
/*
 * Collects each wait of a recording, by thread, and the wake-ups that ended them.
 *
 * The store has a record of SERIES_WAIT_WAKER for each wait whose waker is known, at the time of
 * the wake-up. It belongs to the wait of the same thread whose end is nearest. If a thread has as
 * many waits as wake-ups and all pairs are near each other, they are paired in order instead.
 */
#ifndef MODEL_WAITS_H
#define MODEL_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/int_map.h"
#include "base/vec.h"
#include "model/profile.h"

#define WAITS_NONE UINT32_MAX

struct wait {
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC, also of parts that the filter leaves out */
	/* the time for which the part of the wait that the filter selects stands */
	uint64_t ns;
	/* how many waits of this length the sampling left, on average, for each one that it kept,
	 * that one included */
	double kept_of;
	struct store_sample record; /* the wait's record as the profile returns it */
	bool is_chosen;		    /* The filter selects the wait, or a part of it. */
};

struct waking {
	uint64_t time_ns;
	uint64_t value; /* of SERIES_WAIT_WAKER: identifies the waker */
	uint32_t node;	/* the waker's path */
};

/* The waits and the wake-ups of a thread, each list in order of time; a wait's time is its end. */
struct wait_lane {
	VEC(struct wait) blocked;
	VEC(struct wait) runnable;
	VEC(struct waking) wakings;
	bool is_paired; /* wake-up i ended blocked wait i */
};

struct waits {
	struct wait_lane *lanes; /* by thread */
	uint32_t n_threads;
	struct int_map thread_of; /* thread id -> number of the latest thread with this id */
};

/* Collects the blocked waits and the wake-ups of all threads; with `runnable`, also the times in
 * which they were runnable. Waits that the profile's filter does not select are collected, too, but
 * without is_chosen. Returns 0, -ENOMEM, or an error of store_reader_records(). The caller frees
 * *ret_waits in any case. */
int waits_make(struct profile *profile, bool runnable, struct waits *ret_waits);
void waits_free(struct waits *waits);

/* Returns the wake-up that ended blocked wait `wait` of a thread; NULL: unknown. */
const struct waking *waits_waking(const struct wait_lane *lane, size_t wait);

/* Returns the number of the thread that caused a wake-up; WAITS_NONE: an interrupt, or a thread
 * that was not recorded. */
uint32_t waits_waker(const struct waits *waits, const struct waking *waking);

#endif
