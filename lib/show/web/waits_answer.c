/* SPDX-License-Identifier: MIT */
/* Waits: what threads waited for, the longest single waits with those who ended them, and chains of
 * wakers (model/wakers.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/wakers.h"
#include "model/waker_name.h"
#include "model/waits.h"
#include "tree/partition.h"
#include "web/answers.h"
#include "web/selection.h"
#include "web/words.h"

#define WAITS_LIMIT   200
#define WAITS_MOST    1000
#define WAITS_CHAINS  4000 /* nodes of the tree of chains */
#define WAITS_REASONS 1000
#define WAITS_BYTES   250000 /* for names and rows */

/* A single wait, or a time in which its thread was runnable. */
struct waits_row {
	const struct wait *wait;
	size_t number; /* index in its thread's list */
	bool is_runnable;
};

struct waits_answer {
	struct selection *selection;
	struct profile *profile;
	struct waits waits;
	VEC(struct waits_row) rows;
	uint64_t limit;
	struct wakers wakers;
	struct words words;
};

/* --- reasons --------------------------------------------------------------------------------- */

/* Adds up the samples of a part's entries, and finds out what its kind is. */
static uint64_t count_part(struct profile *profile, const struct partition *partition,
			   uint32_t part, bool *ret_is_runnable)
{
	size_t n;
	const struct profile_entry *entries = profile_entries(profile, &n);
	const struct groups *groups = &partition->groups;
	uint64_t waits = 0;

	*ret_is_runnable = false;
	for (uint32_t i = groups->first[part]; i < groups->first[part + 1]; i++) {
		const struct profile_entry *e = &entries[groups->order[i]];
		const struct profile_frame *frames;

		waits += e->samples;
		if (i > groups->first[part])
			continue;
		frames = profile_frames(profile, e->node, e->end_reason, e->origin, &n);
		if (frames && n)
			*ret_is_runnable =
				profile_symbol_wait(frames[n - 1].symbol) == PROFILE_RUNNABLE;
	}
	return waits;
}

struct waits_reason {
	uint32_t name;
	bool is_runnable;
	uint64_t ns, waits;
};

static void put_reason_columns(struct json *j, const struct waits_reason *reasons, uint32_t n)
{
	json_put_object(j, "reasons");
	json_put_array(j, "name");
	for (uint32_t i = 0; i < n; i++)
		json_put_uint(j, NULL, reasons[i].name);
	json_put_end(j);
	json_put_array(j, "kind");
	for (uint32_t i = 0; i < n; i++)
		json_put_string(j, NULL, reasons[i].is_runnable ? "runnable" : "blocked");
	json_put_end(j);
	json_put_array(j, "ns");
	for (uint32_t i = 0; i < n; i++)
		json_put_uint(j, NULL, reasons[i].ns);
	json_put_end(j);
	json_put_array(j, "waits");
	for (uint32_t i = 0; i < n; i++)
		json_put_uint(j, NULL, reasons[i].waits);
	json_put_end(j);
	json_put_end(j);
}

/* Enters the name of a part by reason. */
static int name_part(struct waits_answer *a, const struct partition *partition, uint32_t part,
		     uint32_t *ret_name)
{
	struct buf name = {0};
	int err;

	partition_put_name(partition, part, true, &name);
	buf_put_u8(&name, '\0');
	err = name.failed ? -ENOMEM : words_string(&a->words, (const char *)name.data, ret_name);
	buf_free(&name);
	return err;
}

static int put_reasons(struct json *j, struct waits_answer *a)
{
	struct partition partition;
	struct waits_reason *reasons;
	uint32_t n = 0;
	int err = partition_make(a->profile, PARTITION_BY_REASON, &partition);

	if (err)
		return err;
	reasons = calloc((size_t)partition.groups.n_ranking + 1, sizeof(*reasons));
	if (!reasons)
		err = -ENOMEM;
	for (; err == 0 && n < partition.groups.n_ranking && n < WAITS_REASONS; n++) {
		const uint32_t part = partition.groups.ranking[n];

		reasons[n].ns = partition.groups.samples[part];
		reasons[n].waits =
			count_part(a->profile, &partition, part, &reasons[n].is_runnable);
		err = name_part(a, &partition, part, &reasons[n].name);
	}
	if (err == 0)
		put_reason_columns(j, reasons, n);
	free(reasons);
	partition_free(&partition);
	return err;
}

/* --- single waits ----------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	const struct wait *x = ((const struct waits_row *)a)->wait;
	const struct wait *y = ((const struct waits_row *)b)->wait;
	const uint64_t p = x->end_ns - x->begin_ns, q = y->end_ns - y->begin_ns;

	if (p != q)
		return p < q ? 1 : -1;
	return x->begin_ns == y->begin_ns ? 0 : x->begin_ns < y->begin_ns ? -1 : 1;
}

static int add_row(struct waits_answer *a, const struct wait *wait, size_t number, bool is_runnable)
{
	if (!wait->is_chosen)
		return 0;
	if (VEC_RESERVE(&a->rows, 1) < 0)
		return -ENOMEM;
	a->rows.items[a->rows.count++] = (struct waits_row){wait, number, is_runnable};
	return 0;
}

/* Finds the longest waits. */
static int find_rows(struct waits_answer *a)
{
	int err = waits_make(a->profile, true, &a->waits);

	for (uint32_t i = 0; err == 0 && i < a->waits.n_threads; i++) {
		const struct wait_lane *lane = &a->waits.lanes[i];

		for (size_t k = 0; err == 0 && k < lane->blocked.count; k++)
			err = add_row(a, &lane->blocked.items[k], k, false);
		for (size_t k = 0; err == 0 && k < lane->runnable.count; k++)
			err = add_row(a, &lane->runnable.items[k], k, true);
	}
	if (err == 0 && a->rows.count)
		qsort(a->rows.items, a->rows.count, sizeof(*a->rows.items), compare);
	if (a->rows.count > a->limit)
		a->rows.count = (size_t)a->limit;
	return err;
}

/* Enters the reason of a wait: its path's last frame but for what was waited for. */
static int enter_reason(struct waits_answer *a, const struct waits_row *row, uint32_t *ret_name)
{
	const struct store_sample *s = &row->wait->record;
	size_t n, depth;
	const struct profile_frame *frames =
		profile_frames(a->profile, s->node, s->end_reason, s->origin, &n);

	if (!frames)
		return -ENOMEM;
	depth = profile_wait_depth(frames, n);
	return words_string(&a->words, depth ? frames[depth - 1].symbol->name : "", ret_name);
}

/* Enters who ended a wait; "" if that is not known. */
static int enter_waker(struct waits_answer *a, const struct waits_row *row, uint32_t *ret_name)
{
	const struct waking *waking =
		row->is_runnable
			? NULL
			: waits_waking(&a->waits.lanes[row->wait->record.thread], row->number);
	struct buf name = {0};
	int err;

	if (!waking || waking->value == WAKER_OF_INTERRUPT)
		return words_string(&a->words, waking ? "an interrupt" : "", ret_name);
	err = waker_name(a->profile, waits_waker(&a->waits, waking), waking, &name);
	buf_put_u8(&name, '\0');
	if (err == 0)
		err = name.failed ? -ENOMEM
				  : words_string(&a->words, (const char *)name.data, ret_name);
	buf_free(&name);
	return err;
}

struct waits_names {
	uint32_t thread, reason, waker;
};

static int enter_names(struct waits_answer *a, struct waits_names *names)
{
	const struct store_tables *t = profile_tables(a->profile);
	int err = 0;

	for (size_t i = 0; err == 0 && i < a->rows.count; i++) {
		const struct waits_row *row = &a->rows.items[i];

		err = words_string(&a->words, t->threads[row->wait->record.thread].comm,
				   &names[i].thread);
		if (err == 0)
			err = enter_reason(a, row, &names[i].reason);
		if (err == 0)
			err = enter_waker(a, row, &names[i].waker);
		if (words_size(&a->words) + i * 80 > WAITS_BYTES / 2)
			a->rows.count = i + 1;
	}
	return err;
}

#define WAITS_COLUMN(j, name, put, value)                                                          \
	do {                                                                                       \
		json_put_array(j, name);                                                           \
		for (size_t i = 0; i < a->rows.count; i++) {                                       \
			const struct waits_row *row = &a->rows.items[i];                           \
			(void)row;                                                                 \
			put(j, NULL, value);                                                       \
		}                                                                                  \
		json_put_end(j);                                                                   \
	} while (0)

/* Writes a lane's id as an element of a list. */
static void put_thread(struct json *j, const char *key, uint32_t thread)
{
	char id[16];

	snprintf(id, sizeof(id), "t%u", thread);
	json_put_string(j, key, id);
}

/* Returns a moment since the recording's begin; what was before it is 0. */
static uint64_t since(const struct waits_answer *a, uint64_t ns)
{
	const uint64_t start = profile_tables(a->profile)->recording.start_ns;

	return ns > start ? ns - start : 0;
}

static void put_rows(struct json *j, const struct waits_answer *a, const struct waits_names *names)
{
	json_put_object(j, "longest");
	WAITS_COLUMN(j, "thread", put_thread, row->wait->record.thread);
	WAITS_COLUMN(j, "name", json_put_uint, names[i].thread);
	WAITS_COLUMN(j, "begin", json_put_uint, since(a, row->wait->begin_ns));
	WAITS_COLUMN(j, "end", json_put_uint, since(a, row->wait->end_ns));
	WAITS_COLUMN(j, "stands_for_ns", json_put_uint, row->wait->ns);
	WAITS_COLUMN(j, "kind", json_put_string, row->is_runnable ? "runnable" : "blocked");
	WAITS_COLUMN(j, "reason", json_put_uint, names[i].reason);
	WAITS_COLUMN(j, "waker", json_put_uint, names[i].waker);
	json_put_end(j);
}

static int put_longest(struct json *j, struct waits_answer *a)
{
	struct waits_names *names;
	int err = find_rows(a);

	if (err)
		return err;
	names = calloc(a->rows.count + 1, sizeof(*names));
	err = names ? enter_names(a, names) : -ENOMEM;
	if (err == 0)
		put_rows(j, a, names);
	free(names);
	return err;
}

/* --- chains ----------------------------------------------------------------------------------- */

static const char *kind_name(enum waker_kind kind, bool is_top)
{
	static const char *const names[] = {[WAKER_REASON] = "reason",
					    [WAKER_THREAD] = "thread",
					    [WAKER_INTERRUPT] = "interrupt",
					    [WAKER_UNKNOWN] = "unknown"};

	return is_top ? "all" : names[kind];
}

/* Appends a node's children behind it, depth first, to the list of nodes that are shown. */
static uint32_t list_chains(const struct waits_answer *a, uint32_t *order, int32_t *parents)
{
	const struct waker_node *nodes = a->wakers.nodes.items;
	uint32_t n = 0, at = 0, *place = order + WAITS_CHAINS;

	while (n < WAITS_CHAINS && at != WAKERS_NONE) {
		order[n] = at;
		parents[n] = at ? (int32_t)place[nodes[at].parent] : -1;
		place[at] = n++;
		if (nodes[at].first_child != WAKERS_NONE) {
			at = nodes[at].first_child;
			continue;
		}
		while (at && nodes[at].next == WAKERS_NONE)
			at = nodes[at].parent;
		at = at ? nodes[at].next : WAKERS_NONE;
	}
	return n;
}

static int enter_chains(struct waits_answer *a, const uint32_t *order, uint32_t *n, uint32_t *names)
{
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < *n; i++) {
		const struct waker_node *node = &a->wakers.nodes.items[order[i]];

		err = words_string(&a->words,
				   order[i] ? strings_at(a->wakers.names, node->name) : "",
				   &names[i]);
		if (words_size(&a->words) + (size_t)i * 40 > WAITS_BYTES)
			*n = i + 1;
	}
	return err;
}

#define WAITS_CHAIN_COLUMN(j, name, put, value)                                                    \
	do {                                                                                       \
		json_put_array(j, name);                                                           \
		for (uint32_t i = 0; i < n; i++) {                                                 \
			const struct waker_node *node = &a->wakers.nodes.items[order[i]];          \
			(void)node;                                                                \
			put(j, NULL, value);                                                       \
		}                                                                                  \
		json_put_end(j);                                                                   \
	} while (0)

static int put_chains(struct json *j, struct waits_answer *a)
{
	/* the nodes in order, and behind them the place of each node */
	uint32_t *order = calloc(WAITS_CHAINS + a->wakers.nodes.count + 1, sizeof(*order));
	uint32_t *names = calloc(WAITS_CHAINS, sizeof(*names)), n = 0;
	int32_t *parents = calloc(WAITS_CHAINS, sizeof(*parents));
	int err = order && names && parents ? 0 : -ENOMEM;

	if (err == 0 && a->wakers.nodes.count)
		n = list_chains(a, order, parents);
	if (err == 0)
		err = enter_chains(a, order, &n, names);
	if (err == 0) {
		json_put_object(j, "chains");
		WAITS_CHAIN_COLUMN(j, "parent", json_put_int, parents[i]);
		WAITS_CHAIN_COLUMN(j, "name", json_put_uint, names[i]);
		WAITS_CHAIN_COLUMN(j, "kind", json_put_string, kind_name(node->kind, !order[i]));
		WAITS_CHAIN_COLUMN(j, "ns", json_put_uint, node->ns);
		WAITS_CHAIN_COLUMN(j, "waits", json_put_uint, node->waits);
		json_put_end(j);
	}
	free(order);
	free(names);
	free(parents);
	return err;
}

/* --- the answer ------------------------------------------------------------------------------- */

/* Makes the chains of the same selection, of blocked waits. */
static int add_chains(struct ask *ask, struct waits_answer *a)
{
	struct selection *blocked;
	int err = selection_of_metric(ask, METRIC_WAIT_BLOCKED, &blocked);

	if (err == 0)
		err = wakers_make(blocked->profile, &a->wakers);
	return err ? err : put_chains(&ask->json, a);
}

int answer_wakers(struct ask *ask)
{
	struct waits_answer a = {.limit = WAITS_LIMIT};
	int err = ask_number(ask, "limit", 1, WAITS_MOST, &a.limit);

	if (err == 0)
		err = selection_of_metric(ask, METRIC_WAIT, &a.selection);
	if (err)
		return err;
	a.profile = a.selection->profile;
	err = words_begin(&a.words);
	if (err == 0) {
		selection_put(ask, a.selection);
		err = put_reasons(&ask->json, &a);
	}
	if (err == 0)
		err = put_longest(&ask->json, &a);
	if (err == 0)
		err = add_chains(ask, &a);
	if (err == 0)
		words_put(&a.words, false, &ask->json);
	free(a.rows.items);
	waits_free(&a.waits);
	wakers_free(&a.wakers);
	words_end(&a.words);
	return err;
}
