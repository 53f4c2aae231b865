/* SPDX-License-Identifier: MIT */
/* The names of what is counted of the workers; see worker_counts.h. */
#include "daemon/worker/worker_counts.h"

#include <stdio.h>

#define WORKER_X(e, name, words) name,
static const char *const names_of_refusals[] = {WORKER_REFUSALS(WORKER_X)};
#undef WORKER_X

#define WORKER_X(e, name) name,
static const char *const names_of_forgotten[] = {WORKER_FORGOTTEN(WORKER_X)};
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
	int err = each(arg, "worker_restarts", counts->restarts - since->restarts);

	if (!err)
		err = each(arg, "worker_server_restarts",
			   counts->server_restarts - since->server_restarts);
	if (!err)
		err = each(arg, "names_unproven", counts->unproven - since->unproven);
	for (int i = 0; i < WORKER_FORGOTTEN_COUNT && !err; i++)
		err = each(arg, names_of_forgotten[i], counts->forgotten[i] - since->forgotten[i]);
	for (int i = 0; i < WORKER_REFUSED_COUNT && !err; i++) {
		uint64_t refused = counts->refused[i] - since->refused[i];
		char name[40];

		snprintf(name, sizeof(name), "refused.%s", names_of_refusals[i]);
		err = refused ? each(arg, name, refused) : 0;
	}
	return err;
}
