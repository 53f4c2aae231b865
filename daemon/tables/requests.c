/* SPDX-License-Identifier: MIT */
/* Keeps a list by urgency; see requests.h. */
#include "daemon/tables/requests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define QUICK_NS UINT64_C(100000000)
#define LONG_NS	 UINT64_C(1000000000)

bool requests_are_same(const struct request *a, const struct request *b)
{
	return a->object == b->object && a->has_key == b->has_key &&
	       !memcmp(&a->key, &b->key, sizeof(a->key));
}

bool requests_have(const struct request *first, const struct request *wanted)
{
	for (const struct request *r = first; r; r = r->next) {
		if (requests_are_same(r, wanted) && r->is_early <= wanted->is_early)
			return true;
	}
	return false;
}

/* Returns the urgency of a request on which `spent_ns` were spent; 0 is the most urgent. */
static unsigned rank(const struct request *r, uint64_t spent_ns)
{
	if (r->is_early)
		return 4;
	return spent_ns >= LONG_NS ? 3 : spent_ns >= QUICK_NS ? 2 : r->is_large;
}

bool requests_give_way(const struct request *serving, uint64_t spent_ns,
		       const struct request *waiting)
{
	if (!waiting || (serving->in_first && !serving->is_early))
		return false;
	return (serving->is_early || serving->spent_ns < LONG_NS) &&
	       rank(waiting, waiting->spent_ns) < rank(serving, serving->spent_ns + spent_ns);
}

int requests_enter(struct request **first, const struct request *wanted)
{
	struct request **at = first, *r = malloc(sizeof(*r));

	if (!r)
		return -ENOMEM;
	while (*at && rank(*at, (*at)->spent_ns) <= rank(wanted, wanted->spent_ns))
		at = &(*at)->next;
	*r = *wanted;
	r->next = *at;
	*at = r;
	return 0;
}

void requests_free(struct request *first)
{
	while (first) {
		struct request *next = first->next;

		free(first);
		first = next;
	}
}
