/* SPDX-License-Identifier: MIT */
/* Follows the chains from waits to their wakers; see wakers.h. */
#include "model/wakers.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/int_map.h"
#include "base/text.h"
#include "model/waits.h"
#include "model/waker_name.h"

struct maker {
	struct profile *profile;
	const struct store_tables *tables;
	struct wakers *result;
	struct waits waits;
	struct int_map children; /* (parent, name, kind) -> node */
	struct buf text;
};

/* --- names ----------------------------------------------------------------------------------- */

/* Interns the name that `text` holds. */
static int intern(struct maker *m, uint32_t *ret_name)
{
	buf_put_u8(&m->text, '\0');
	return m->text.failed
		       ? -ENOMEM
		       : strings_intern(m->result->names, (const char *)m->text.data, ret_name);
}

static int name_of_wait(struct maker *m, const struct wait *wait, uint32_t *ret_name)
{
	const struct profile_symbol *symbol = NULL;

	for (uint32_t node = wait->record.node; node; node = m->tables->nodes[node].parent) {
		size_t n = 0;
		const struct profile_frame *frames =
			profile_location_frames(m->profile, m->tables->nodes[node].location, &n);

		symbol = n ? frames[n - 1].symbol : NULL;
		if (!symbol || !profile_symbol_is_awaited(symbol))
			break;
	}
	return strings_intern(m->result->names, symbol ? symbol->name : "?", ret_name);
}

/* Gives the name of a waker. */
static int name_of_waker(struct maker *m, uint32_t thread, const struct waking *waking,
			 uint32_t *ret_name)
{
	int err;

	buf_clear(&m->text);
	err = waker_name(m->profile, thread, waking, &m->text);
	return err ? err : intern(m, ret_name);
}

/* --- the tree -------------------------------------------------------------------------------- */

static int add_node(struct wakers *w, uint32_t parent, uint32_t name, enum waker_kind kind)
{
	if (VEC_RESERVE(&w->nodes, 1) < 0)
		return -ENOMEM;
	w->nodes.items[w->nodes.count++] = (struct waker_node){.parent = parent,
							       .first_child = WAKERS_NONE,
							       .next = WAKERS_NONE,
							       .name = name,
							       .kind = kind};
	return 0;
}

/* Moves `*at` to its child with this name and kind, which is made if there is none, and counts the
 * wait there. Returns 0 or -ENOMEM. */
static int go_down(struct maker *m, const struct wait *wait, uint32_t name, enum waker_kind kind,
		   uint32_t *at)
{
	struct wakers *w = m->result;
	uint32_t parent = *at, next = (uint32_t)w->nodes.count;
	int err = int_map_enter_wide(&m->children, (uint64_t)parent << 32 | name, (uint32_t)kind,
				     next, at);

	if (!err && *at == next)
		err = add_node(w, parent, name, kind);
	if (err)
		return err;
	w->nodes.items[*at].ns += wait->ns;
	w->nodes.items[*at].waits++;
	return 0;
}

/* Finds the last wait of a waker before it woke a thread at `woken_ns`. Returns false if there is
 * none, or it ended before the thread's wait `of` began. */
static bool find_wait_before(const struct wait_lane *lane, uint64_t woken_ns, const struct wait *of,
			     size_t *ret_wait)
{
	size_t low = 0, high = lane->blocked.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (lane->blocked.items[middle].end_ns <= woken_ns)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_wait = low - 1;
	return low && lane->blocked.items[low - 1].end_ns > of->begin_ns;
}

/* Follows the chain from a wait of a thread. */
static int follow(struct maker *m, uint32_t thread, size_t at_wait)
{
	const struct wait *first = &m->waits.lanes[thread].blocked.items[at_wait];
	uint32_t at = 0, name;
	int err = 0;

	for (int hop = 0; !err && hop < WAKERS_HOPS; hop++) {
		const struct wait_lane *lane = &m->waits.lanes[thread];
		const struct wait *wait = &lane->blocked.items[at_wait];
		const struct waking *waking = waits_waking(lane, at_wait);

		err = name_of_wait(m, wait, &name);
		if (!err)
			err = go_down(m, first, name, WAKER_REASON, &at);
		if (err)
			return err;
		if (!waking || waking->value == WAKER_OF_INTERRUPT)
			return go_down(m, first, 0, waking ? WAKER_INTERRUPT : WAKER_UNKNOWN, &at);
		thread = waits_waker(&m->waits, waking);
		err = name_of_waker(m, thread, waking, &name);
		if (!err)
			err = go_down(m, first, name, WAKER_THREAD, &at);
		if (thread == WAITS_NONE ||
		    !find_wait_before(&m->waits.lanes[thread], waking->time_ns, wait, &at_wait))
			break;
	}
	return err;
}

static int compare_nodes(const void *a, const void *b, void *arg)
{
	const struct waker_node *nodes = arg;
	const struct waker_node *x = &nodes[*(const uint32_t *)a],
				*y = &nodes[*(const uint32_t *)b];

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return x < y ? 1 : -1;
}

/* Puts the children of each node into the node's list, the largest first. Returns 0 or -ENOMEM. */
static int put_in_order(struct wakers *w)
{
	size_t n = w->nodes.count;
	uint32_t *order = vec_alloc(n, sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	qsort_r(order, n, sizeof(*order), compare_nodes, w->nodes.items);
	/* A child is put in front of its parent's list, so the smallest child is put there
	 * first. */
	for (size_t i = 0; i < n; i++) {
		struct waker_node *node = &w->nodes.items[order[i]];

		if (!order[i])
			continue;
		node->next = w->nodes.items[node->parent].first_child;
		w->nodes.items[node->parent].first_child = order[i];
	}
	free(order);
	return 0;
}

static int make(struct maker *m)
{
	uint32_t none;
	int err = strings_new(&m->result->names);

	if (!err)
		/* The empty name has number 0. */
		err = strings_intern(m->result->names, "", &none);
	if (!err)
		err = add_node(m->result, WAKERS_NONE, none, WAKER_REASON);
	if (!err)
		err = waits_make(m->profile, false, &m->waits);
	for (uint32_t i = 0; !err && i < m->tables->n_threads; i++) {
		for (size_t k = 0; !err && k < m->waits.lanes[i].blocked.count; k++) {
			const struct wait *wait = &m->waits.lanes[i].blocked.items[k];

			if (!wait->is_chosen)
				continue;
			m->result->nodes.items[0].ns += wait->ns;
			m->result->nodes.items[0].waits++;
			err = follow(m, i, k);
		}
	}
	return err ? err : put_in_order(m->result);
}

int wakers_make(struct profile *profile, struct wakers *ret_wakers)
{
	struct maker m = {
		.profile = profile, .tables = profile_tables(profile), .result = ret_wakers};
	int err;

	*ret_wakers = (struct wakers){0};
	err = make(&m);
	waits_free(&m.waits);
	int_map_fini(&m.children);
	buf_free(&m.text);
	return err;
}

void wakers_free(struct wakers *wakers)
{
	free(wakers->nodes.items);
	strings_free(wakers->names);
	*wakers = (struct wakers){0};
}
