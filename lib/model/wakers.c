/* SPDX-License-Identifier: MIT */
/* Joins waits with their wakers, and follows the chains; see wakers.h. */
#include "model/wakers.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/int_map.h"
#include "base/text.h"

#define LABEL_FUNCTIONS 3	  /* of a waker: the innermost ones */
#define CLOCKS_APART	20000000u /* ns, at most: 9 ms were seen on an emulated machine */

struct wait {
	uint64_t begin_ns, end_ns;
	uint64_t ns; /* what the filter selects of what it stands for */
	uint32_t node;
	bool is_chosen; /* by the filter */
};

struct waking {
	uint64_t time_ns, value;
	uint32_t node;
};

/* A thread's, each in the order of time. */
struct lane {
	VEC(struct wait) waits;
	VEC(struct waking) wakings;
	bool is_paired; /* each wait is ended by the wake-up of its number */
};

struct maker {
	struct profile *profile;
	const struct store_tables *tables;
	struct wakers *result;
	struct lane *lanes;
	struct int_map thread_of; /* by the thread's id; the latest that had it */
	struct int_map children;  /* (parent, name, kind) -> node */
	struct buf text;
};

static int take_wait(void *arg, const struct store_sample *record, const struct lasting *lasting)
{
	struct maker *m = arg;
	struct lane *lane = &m->lanes[record->thread];
	struct store_sample part = {0};
	bool is_chosen = profile_part(m->profile, record, lasting, &part);

	if (VEC_RESERVE(&lane->waits, 1) < 0)
		return -ENOMEM;
	lane->waits.items[lane->waits.count++] = (struct wait){.begin_ns = lasting->spans->begin_ns,
							       .end_ns = record->time_ns,
							       .ns = part.period,
							       .node = record->node,
							       .is_chosen = is_chosen};
	return 0;
}

static int take_waking(void *arg, const struct store_sample *record)
{
	struct maker *m = arg;
	struct lane *lane = &m->lanes[record->thread];

	if (VEC_RESERVE(&lane->wakings, 1) < 0)
		return -ENOMEM;
	lane->wakings.items[lane->wakings.count++] = (struct waking){
		.time_ns = record->time_ns, .value = record->period, .node = record->node};
	return 0;
}

static int compare_waits(const void *a, const void *b)
{
	const struct wait *x = a, *y = b;

	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

static int compare_wakings(const void *a, const void *b)
{
	const struct waking *x = a, *y = b;

	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static uint64_t apart(uint64_t x, uint64_t y)
{
	return x < y ? y - x : x - y;
}

/* Whether each wait has its wake-up. Equal numbers alone do not say so: one may lack of each. */
static bool is_paired(const struct lane *lane)
{
	if (lane->wakings.count != lane->waits.count)
		return false;
	for (size_t i = 0; i < lane->waits.count; i++) {
		if (apart(lane->waits.items[i].end_ns, lane->wakings.items[i].time_ns) >
		    CLOCKS_APART)
			return false;
	}
	return true;
}

static int collect(struct maker *m)
{
	struct store_reader *reader = profile_reader(m->profile);
	int err;

	m->lanes = calloc((size_t)m->tables->n_threads + 1, sizeof(*m->lanes));
	err = m->lanes ? lasting_records(reader, METRIC_WAIT_BLOCKED, take_wait, m) : -ENOMEM;
	if (!err)
		err = store_reader_records(reader, SERIES_WAIT_WAKER, take_waking, m);
	for (uint32_t i = m->tables->n_threads; !err && i-- > 0;) {
		struct lane *lane = &m->lanes[i];
		uint32_t known;

		if (lane->waits.count)
			qsort(lane->waits.items, lane->waits.count, sizeof(*lane->waits.items),
			      compare_waits);
		if (lane->wakings.count)
			qsort(lane->wakings.items, lane->wakings.count,
			      sizeof(*lane->wakings.items), compare_wakings);
		lane->is_paired = is_paired(lane);
		err = int_map_enter(&m->thread_of, (uint32_t)m->tables->threads[i].tid, i, &known);
	}
	return err;
}

/* --- names ----------------------------------------------------------------------------------- */

/* Interns the text at hand. */
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

	for (uint32_t node = wait->node; node; node = m->tables->nodes[node].parent) {
		size_t n = 0;
		const struct profile_frame *frames =
			profile_location_frames(m->profile, m->tables->nodes[node].location, &n);

		symbol = n ? frames[n - 1].symbol : NULL;
		if (!symbol || !profile_symbol_is_awaited(symbol))
			break;
	}
	return strings_intern(m->result->names, symbol ? symbol->name : "?", ret_name);
}

/* The functions that a waker is named by: the innermost one, which is mostly a library's, and those
 * outside of that library that have called it; of code without libraries the innermost ones. */
struct functions {
	const struct profile_symbol *symbols[LABEL_FUNCTIONS]; /* innermost first */
	int count;
	bool is_cut; /* there are others between the first two */
};

static void add_function(struct functions *f, const struct profile_symbol *symbol, bool same)
{
	if (symbol->is_kernel || f->count == LABEL_FUNCTIONS)
		return;
	if (f->count == 1 && !same && !strcmp(symbol->object, f->symbols[0]->object)) {
		f->is_cut = true;
		return;
	}
	f->symbols[f->count++] = symbol;
}

/* `same`: of whatever library. -ENOMEM. */
static int find_functions(struct maker *m, uint32_t node, bool same, struct functions *ret_found)
{
	*ret_found = (struct functions){0};
	for (; node; node = m->tables->nodes[node].parent) {
		size_t n;
		const struct profile_frame *frames =
			profile_location_frames(m->profile, m->tables->nodes[node].location, &n);

		if (!frames)
			return -ENOMEM;
		while (n-- > 0)
			add_function(ret_found, frames[n].symbol, same);
	}
	return 0;
}

/* Names a waker: "worker: run > release > ... > __lll_lock_wake". */
static int name_of_waker(struct maker *m, uint32_t thread, const struct waking *waking,
			 uint32_t *ret_name)
{
	const char *before = ": ";
	struct functions f;
	int err = find_functions(m, waking->node, false, &f);

	if (!err && f.count < 2)
		err = find_functions(m, waking->node, true, &f);
	if (err)
		return err;
	buf_clear(&m->text);
	if (thread == WAKERS_NONE)
		text_printf(&m->text, "thread %llu", (unsigned long long)waking->value - 1);
	else
		text_put_raw(&m->text, m->tables->threads[thread].comm);
	while (f.count-- > 0) {
		text_put_raw(&m->text, before);
		text_put_raw(&m->text, f.symbols[f.count]->name);
		before = f.count == 1 && f.is_cut ? " > ... > " : " > ";
	}
	return intern(m, ret_name);
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

/* Goes down to a child, which is made if there was none, and counts a wait there. */
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

/* Whether no other wait of a thread ended nearer to a wake-up than one of them did. */
static bool ends_nearest(const struct lane *lane, size_t wait, uint64_t time_ns)
{
	const struct wait *waits = lane->waits.items;
	const uint64_t own = apart(waits[wait].end_ns, time_ns);

	return !(wait && apart(waits[wait - 1].end_ns, time_ns) < own) &&
	       !(wait + 1 < lane->waits.count && apart(waits[wait + 1].end_ns, time_ns) < own);
}

/* The wake-up that ended a thread's wait. Waits end by the scheduler's clocks, one for each
 * CPU, and wake-ups have their time by another clock: they can be some ms apart on an
 * emulated machine, longer than a wait. So if each wait has its wake-up, it goes by their order;
 * else it is the one that is nearest to the end, if no other wait's end is nearer to that. NULL: it
 * is not known. */
static const struct waking *waking_of(const struct lane *lane, size_t wait)
{
	const uint64_t end = lane->waits.items[wait].end_ns;
	const struct waking *wakings = lane->wakings.items, *nearest;
	size_t low = 0, high = lane->wakings.count;

	if (lane->is_paired)
		return &wakings[wait];
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (wakings[middle].time_ns <= end)
			low = middle + 1;
		else
			high = middle;
	}
	nearest = low ? &wakings[low - 1] : NULL;
	if (low < lane->wakings.count &&
	    (!nearest || wakings[low].time_ns - end < end - nearest->time_ns))
		nearest = &wakings[low];
	return nearest && ends_nearest(lane, wait, nearest->time_ns) ? nearest : NULL;
}

/* Finds the waker's last wait before it woke a thread, if it ended while that one's wait lasted. */
static bool find_wait_before(const struct lane *lane, uint64_t woken_ns, const struct wait *of,
			     size_t *ret_wait)
{
	size_t low = 0, high = lane->waits.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (lane->waits.items[middle].end_ns <= woken_ns)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_wait = low - 1;
	return low && lane->waits.items[low - 1].end_ns > of->begin_ns;
}

/* Follows the chain from a wait of a thread. */
static int follow(struct maker *m, uint32_t thread, size_t at_wait)
{
	const struct wait *first = &m->lanes[thread].waits.items[at_wait];
	uint32_t at = 0, name;
	int err = 0;

	for (int hop = 0; !err && hop < WAKERS_HOPS; hop++) {
		const struct lane *lane = &m->lanes[thread];
		const struct wait *wait = &lane->waits.items[at_wait];
		const struct waking *waking = waking_of(lane, at_wait);

		err = name_of_wait(m, wait, &name);
		if (!err)
			err = go_down(m, first, name, WAKER_REASON, &at);
		if (err)
			return err;
		if (!waking || waking->value == WAKER_OF_INTERRUPT)
			return go_down(m, first, 0, waking ? WAKER_INTERRUPT : WAKER_UNKNOWN, &at);
		thread = int_map_find(&m->thread_of, waking->value - 1);
		err = name_of_waker(m, thread, waking, &name);
		if (!err)
			err = go_down(m, first, name, WAKER_THREAD, &at);
		if (thread == WAKERS_NONE ||
		    !find_wait_before(&m->lanes[thread], waking->time_ns, wait, &at_wait))
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

/* Puts the children of each node into its list, the largest first. */
static int put_in_order(struct wakers *w)
{
	size_t n = w->nodes.count;
	uint32_t *order = vec_alloc(n, sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	qsort_r(order, n, sizeof(*order), compare_nodes, w->nodes.items);
	for (size_t i = 0; i < n; i++) { /* each in front of the smaller ones */
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
		err = strings_intern(m->result->names, "", &none); /* 0 */
	if (!err)
		err = add_node(m->result, WAKERS_NONE, none, WAKER_REASON);
	if (!err)
		err = collect(m);
	for (uint32_t i = 0; !err && i < m->tables->n_threads; i++) {
		for (size_t k = 0; !err && k < m->lanes[i].waits.count; k++) {
			const struct wait *wait = &m->lanes[i].waits.items[k];

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
	for (uint32_t i = 0; m.lanes && i < m.tables->n_threads; i++) {
		free(m.lanes[i].waits.items);
		free(m.lanes[i].wakings.items);
	}
	free(m.lanes);
	int_map_fini(&m.thread_of);
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
