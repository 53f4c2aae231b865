/* SPDX-License-Identifier: MIT */
/* A list; see requests.h. */
#include "daemon/tables/requests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

int requests_enter(struct request **first, const struct request *wanted)
{
	struct request **at = first, *r = malloc(sizeof(*r));

	if (!r)
		return -ENOMEM;
	while (*at && (*at)->is_early <= wanted->is_early)
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
