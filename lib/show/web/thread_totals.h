/* SPDX-License-Identifier: MIT */
/* What each thread of a recording did in all of it: the order of lanes, which does not change while
 * a user moves along the time. */
#ifndef WEB_THREAD_TOTALS_H
#define WEB_THREAD_TOTALS_H

#include <stdint.h>

#include "web/ask.h"
#include "web/opened.h"

struct thread_totals {
	uint64_t cpu_ns, off_ns, samples;
};

/* Sums up all samples and waits by thread. The caller frees *ret_totals. Returns 0, -ECANCELED,
 * -ENOMEM, or an error of the reader. */
int thread_totals_make(const struct ask *ask, struct opened *opened,
		       struct thread_totals **ret_totals);

#endif
