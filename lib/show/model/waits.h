/* SPDX-License-Identifier: MIT */
/*
 * Collects the single waits of a recording, by thread, and the wake-ups that ended them.
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
	/* the time that the wait stands for, of the part that the filter selects */
	uint64_t ns;
	/* number of waits of this length for each one that the sampling kept */
	double kept_of;
	struct store_sample record; /* the wait's record as the profile returns it */
	bool is_chosen;		    /* The filter selects the wait, or a part of it. */
};

struct waking {
	uint64_t time_ns;
	uint64_t value; /* of SERIES_WAIT_WAKER: identifies the waker */
	uint32_t node;	/* the waker's path */
};

/* The waits and wake-ups of a thread, each list in the order of time of the ends. */
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

/* Collects the blocked waits and the wake-ups of all threads; with `runnable`, their runnable
 * times, too. Waits that the profile's filter does not select are collected, but have is_chosen
 * unset. 0, -ENOMEM, or an error of store_reader_records(). The caller frees in any case. */
int waits_make(struct profile *profile, bool runnable, struct waits *ret_waits);
void waits_free(struct waits *waits);

/* Returns the wake-up that ended a blocked wait of a thread; NULL: unknown. */
const struct waking *waits_waking(const struct wait_lane *lane, size_t wait);

/* Returns the number of the thread that a wake-up came from; WAITS_NONE: an interrupt, or a thread
 * that was not recorded. */
uint32_t waits_waker(const struct waits *waits, const struct waking *waking);

#endif
