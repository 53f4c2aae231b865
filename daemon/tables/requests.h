/* SPDX-License-Identifier: MIT */
/* The requests of tables that wait: of missed ones first, then of prefetched ones. */
#ifndef TABLES_REQUESTS_H
#define TABLES_REQUESTS_H

#include <stdbool.h>

#include "proc/object.h"
#include "stackd_abi.h"

struct request {
	const struct object *object; /* borrowed */
	struct stackd_inode key;
	bool has_key;
	bool is_early; /* a prefetch: no walk has missed it yet */
	struct request *next;
};

/* Whether two requests are for the same. */
bool requests_are_same(const struct request *a, const struct request *b);

/* Whether a request like `wanted`, or a more urgent one, waits. */
bool requests_have(const struct request *first, const struct request *wanted);

/* Queues a copy of a request behind those of its kind, for requests_free(). 0 or -ENOMEM. */
int requests_enter(struct request **first, const struct request *wanted);

/* Frees all requests of a list. */
void requests_free(struct request *first);

#endif
