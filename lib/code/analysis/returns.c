/* SPDX-License-Identifier: MIT */
/* Links functions and items; see returns.h. */
#include "analysis/returns.h"

void returns_fini(struct returns *r)
{
	free(r->functions.items);
	free(r->links.items);
	free(r->found.items);
	free(r->released.items);
	memset(r, 0, sizeof(*r));
}

int returns_add(struct returns *r, uint32_t *ret_function)
{
	if (VEC_RESERVE(&r->functions, 1))
		return -ENOMEM;
	*ret_function = (uint32_t)r->functions.count;
	r->functions.items[r->functions.count++] = (struct returns_function){0};
	return 0;
}

static int release(struct returns *r, uint32_t item)
{
	if (VEC_RESERVE(&r->released, 1))
		return -ENOMEM;
	r->released.items[r->released.count++] = item;
	return 0;
}

static int find(struct returns *r, uint32_t function)
{
	if (r->functions.items[function].does)
		return 0;
	if (VEC_RESERVE(&r->found, 1))
		return -ENOMEM;
	r->functions.items[function].does = true;
	r->found.items[r->found.count++] = function;
	return 0;
}

int returns_set(struct returns *r, uint32_t function)
{
	int err = find(r, function);

	while (!err && r->found.count) {
		uint32_t f = r->found.items[--r->found.count];

		for (uint32_t k = r->functions.items[f].first; k && !err;) {
			const struct returns_link link = r->links.items[k - 1];

			err = link.is_item ? release(r, link.number) : find(r, link.number);
			k = link.next;
		}
	}
	return err;
}

static int link_to(struct returns *r, uint32_t function, uint32_t number, bool is_item)
{
	struct returns_function *f = &r->functions.items[function];

	if (VEC_RESERVE(&r->links, 1))
		return -ENOMEM;
	r->links.items[r->links.count++] = (struct returns_link){number, f->first, is_item};
	f->first = (uint32_t)r->links.count;
	return 0;
}

int returns_follow(struct returns *r, uint32_t function, uint32_t other)
{
	if (function == other || r->functions.items[function].does)
		return 0;
	if (r->functions.items[other].does)
		return returns_set(r, function);
	return link_to(r, other, function, false);
}

int returns_wait(struct returns *r, uint32_t function, uint32_t item)
{
	if (r->functions.items[function].does)
		return release(r, item);
	return link_to(r, function, item, true);
}

bool returns_take(struct returns *r, uint32_t *ret_item)
{
	if (!r->released.count)
		return false;
	*ret_item = r->released.items[--r->released.count];
	return true;
}
