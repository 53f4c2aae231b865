/* SPDX-License-Identifier: MIT */
/* Finds the names (functions and lines) of locations by asking a worker: stackd's side of
 * name_service.c. */
#ifndef WORKER_ASK_NAMES_H
#define WORKER_ASK_NAMES_H

#include "daemon/worker/fetcher.h"
#include "daemon/worker/worker.h"
#include "sym/naming.h"

struct ask_names;

/* Prepares to ask a worker, which is borrowed, as is the fetcher; NULL: no servers are asked. 0 or
 * -ENOMEM. */
int ask_names_new(struct worker *worker, struct fetcher *fetcher, struct ask_names **ret_names);
/* From now on, fetches nothing from debuginfod servers, and ends a fetch that is under way. Any
 * thread. */
void ask_names_hurry(struct ask_names *names);

/* `stops`: ends the call of the worker that is under way, and each further one; false: calls go on
 * from now on. Any thread. */
void ask_names_stop(struct ask_names *names, bool stops);
void ask_names_free(struct ask_names *names); /* NULL is fine */

/* Makes a naming (sym/naming.h) that asks the worker. 0 or -ENOMEM. */
int ask_names_naming(struct ask_names *names, struct naming **ret_naming);

#endif
