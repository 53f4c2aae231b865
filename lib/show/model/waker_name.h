/* SPDX-License-Identifier: MIT */
/* What wakers are called: "worker: run > release > ... > __lll_lock_wake". */
#ifndef MODEL_WAKER_NAME_H
#define MODEL_WAKER_NAME_H

#include "base/buf.h"
#include "model/waits.h"

/* Appends the name of a waker that is a thread: its own, and functions of its path. `thread`: its
 * number, or WAITS_NONE, if it was not recorded. 0 or -ENOMEM. */
int waker_name(struct profile *profile, uint32_t thread, const struct waking *waking,
	       struct buf *b);

#endif
