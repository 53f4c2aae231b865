/* SPDX-License-Identifier: MIT */
/* Formats the names of wakers: "worker: run > release > ... > __lll_lock_wake". */
#ifndef MODEL_WAKER_NAME_H
#define MODEL_WAKER_NAME_H

#include "base/buf.h"
#include "model/waits.h"

/* Appends the name of a waker that is a thread: the thread's name and functions of its path.
 * `thread` is its number, or WAITS_NONE if it was not recorded. Returns 0 or -ENOMEM. */
int waker_name(struct profile *profile, uint32_t thread, const struct waking *waking,
	       struct buf *b);

#endif
