/* SPDX-License-Identifier: MIT */
/* Lists the workers' counters by name; see worker_counts.h. */
#include "daemon/worker/worker_counts.h"

#include <stdio.h>

#define WORKER_X(e, name, words) name,
static const char *const names_of_refusals[] = {WORKER_REFUSALS(WORKER_X)};
#undef WORKER_X

const char *worker_refusal_words(enum worker_refusal why)
{
#define WORKER_X(e, name, words) words,
	static const char *const words[] = {WORKER_REFUSALS(WORKER_X)};
#undef WORKER_X
	return words[why];
}

int workers_counts_each(const struct workers_counts *counts, const struct workers_counts *before,
			int (*each)(void *arg, const char *name, uint64_t value), void *arg)
{
	const struct workers_counts none = {0}, *since = before ? before : &none;
	int err = 0;

#define WORKER_X(value, name, unit, meaning)                                                       \
	if (!err)                                                                                  \
		err = each(arg, name, counts->value - since->value);
	WORKER_COUNTERS(WORKER_X)
#undef WORKER_X
	for (int i = 0; i < WORKER_REFUSED_COUNT && !err; i++) {
		uint64_t refused = counts->refused[i] - since->refused[i];
		char name[40];

		snprintf(name, sizeof(name), "refused.%s", names_of_refusals[i]);
		err = refused ? each(arg, name, refused) : 0;
	}
	return err;
}
