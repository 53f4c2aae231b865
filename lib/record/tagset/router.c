/* SPDX-License-Identifier: MIT */
/*
 * The crystal router; see router.h.
 *
 * A process holds its items sorted. Owners are a monotone function of keys, and after round i all
 * items of a process belong to owners that share the upper bits of its own number. So the items
 * that it sends in a round are one end of the array. For the way back each round keeps where its
 * items went.
 *
 * If the number of processes is no power of two, each process beyond the largest power of two first
 * gives all its items to one of the other processes, and owns nothing.
 */
#include "tagset/router.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

struct entry {
	uint64_t key;
	size_t id, data; /* offsets of the item's id and data in the bytes */
	uint32_t n_id, n_data;
};

typedef VEC(struct entry) entries;

struct round {
	uint32_t other;
	uint32_t n_before; /* number of items before the round */
	/* kept: index, among the items before the round, of the first one that stayed; n_kept: how
	 * many stayed */
	uint32_t kept, n_kept;
	/* sent: index, among the items before the round, of the first one that was sent; n_sent:
	 * how many were */
	uint32_t sent, n_sent;
	uint32_t n_got; /* number of items that came */
	/* for each item that stayed, and for each that came: its index after the round; both owned;
	 * NULL if no answers will be returned */
	uint32_t *kept_at, *got_at;
};

struct router {
	const struct router_comm *comm;
	router_combine combine;
	entries items;
	struct buf bytes;
	VEC(struct round) rounds;
	uint32_t *added_at; /* by added item: its index after sorting */
	uint32_t n_added;
	uint64_t *answers;  /* answers to the items that this process owns */
	uint64_t *returned; /* answers to the items that it added, in order */
	bool has_answers;
};

int router_new(const struct router_comm *comm, router_combine combine, struct router **ret_router)
{
	struct router *router = calloc(1, sizeof(*router));

	if (!router)
		return -ENOMEM;
	router->comm = comm;
	router->combine = combine;
	*ret_router = router;
	return 0;
}

void router_free(struct router *router)
{
	if (!router)
		return;
	for (size_t i = 0; i < router->rounds.count; i++) {
		free(router->rounds.items[i].kept_at);
		free(router->rounds.items[i].got_at);
	}
	free(router->rounds.items);
	free(router->items.items);
	free(router->added_at);
	free(router->answers);
	free(router->returned);
	buf_free(&router->bytes);
	free(router);
}

/* Appends an item to a list, and its id and data to the list's bytes. */
static int append(entries *list, struct buf *bytes, uint64_t key, const void *id, size_t n_id,
		  const void *data, size_t n_data)
{
	if (n_id > UINT32_MAX || n_data > UINT32_MAX || list->count >= UINT32_MAX)
		return -EOVERFLOW;
	if (VEC_RESERVE(list, 1) < 0)
		return -ENOMEM;
	list->items[list->count++] = (struct entry){.key = key,
						    .id = bytes->len,
						    .data = bytes->len + n_id,
						    .n_id = (uint32_t)n_id,
						    .n_data = (uint32_t)n_data};
	buf_put(bytes, id, n_id);
	buf_put(bytes, data, n_data);
	return bytes->failed ? -ENOMEM : 0;
}

int router_add(struct router *router, uint64_t key, const void *id, size_t n_id, const void *data,
	       size_t n_data)
{
	return append(&router->items, &router->bytes, key, id, n_id, data, n_data);
}

static int compare_ids(const uint8_t *a, uint32_t n_a, const uint8_t *b, uint32_t n_b)
{
	uint32_t n = n_a < n_b ? n_a : n_b;
	int order = n ? memcmp(a, b, n) : 0;

	return order ? order : (n_a > n_b) - (n_a < n_b);
}

static int compare_entries(const struct entry *a, const uint8_t *bytes_a, const struct entry *b,
			   const uint8_t *bytes_b)
{
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return compare_ids(bytes_a + a->id, a->n_id, bytes_b + b->id, b->n_id);
}

static int compare_added(const void *x, const void *y, void *arg)
{
	const struct router *r = arg;

	return compare_entries(&r->items.items[*(const uint32_t *)x], r->bytes.data,
			       &r->items.items[*(const uint32_t *)y], r->bytes.data);
}

/* Combines an item with an equal one whose bytes are in the same buffer. */
static void join(struct router *r, struct entry *into, const struct entry *from)
{
	uint8_t *bytes = r->bytes.data;

	if (r->combine(bytes + into->data, into->n_data, bytes + from->data, from->n_data)) {
		into->data = from->data;
		into->n_data = from->n_data;
	}
}

/* Sorts the added items, and combines equal ones. */
static int sort(struct router *r)
{
	uint32_t n = (uint32_t)r->items.count, *order = vec_alloc((size_t)n + 1, sizeof(*order));
	struct entry *sorted = vec_alloc((size_t)n + 1, sizeof(*sorted));
	uint32_t count = 0;

	r->added_at = vec_alloc((size_t)n + 1, sizeof(*r->added_at));
	r->n_added = n;
	if (!order || !sorted || !r->added_at) {
		free(order);
		free(sorted);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	qsort_r(order, n, sizeof(*order), compare_added, r);
	for (uint32_t i = 0; i < n; i++) {
		const struct entry *item = &r->items.items[order[i]];

		if (count &&
		    compare_entries(&sorted[count - 1], r->bytes.data, item, r->bytes.data) == 0)
			join(r, &sorted[count - 1], item);
		else
			sorted[count++] = *item;
		r->added_at[order[i]] = count - 1;
	}
	free(order);
	free(r->items.items);
	r->items.items = sorted;
	r->items.count = count;
	r->items.cap = (size_t)n + 1;
	return 0;
}

/* --- rounds ----------------------------------------------------------------------------------- */

static void pack(const struct router *r, uint32_t from, uint32_t n, struct buf *out)
{
	for (uint32_t i = from; i < from + n; i++) {
		const struct entry *item = &r->items.items[i];

		BUF_PUT(out, item->key);
		buf_put_varint(out, item->n_id);
		buf_put_varint(out, item->n_data);
		buf_put(out, r->bytes.data + item->id, item->n_id);
		buf_put(out, r->bytes.data + item->data, item->n_data);
	}
}

/* Reads the items of a message: the entries refer to the bytes of `in` itself. */
static int unpack(const struct buf *in, entries *ret_items)
{
	struct buf_reader reader = buf_reader(in->data, in->len);

	while (buf_left(&reader)) {
		struct entry item = {0};
		uint64_t n_id, n_data;

		BUF_GET(&reader, item.key);
		n_id = buf_get_varint(&reader);
		n_data = buf_get_varint(&reader);
		if (reader.failed || n_id > buf_left(&reader) ||
		    n_data > buf_left(&reader) - n_id || n_id + n_data > UINT32_MAX)
			return -EBADMSG;
		item.id = (size_t)(reader.at - in->data);
		item.data = item.id + n_id;
		item.n_id = (uint32_t)n_id;
		item.n_data = (uint32_t)n_data;
		reader.at += n_id + n_data;
		if (VEC_RESERVE(ret_items, 1) < 0)
			return -ENOMEM;
		ret_items->items[ret_items->count++] = item;
	}
	return reader.failed ? -EBADMSG : 0;
}

/* The merging of two sorted lists into one. */
struct merging {
	const struct entry *item[2];
	const uint8_t *bytes[2];
	uint32_t n[2];
	uint32_t *at[2]; /* by item of each list: its index in `items`; or NULL */
	entries items;
	struct buf out;
};

/* Appends item `index` of a list to the merged items, or combines it with the last of these if they
 * are equal. */
static int take(struct router *r, struct merging *m, unsigned list, uint32_t index)
{
	const struct entry *item = &m->item[list][index];
	struct entry *last = m->items.count ? &m->items.items[m->items.count - 1] : NULL;
	int err = 0;

	if (last && compare_entries(last, m->out.data, item, m->bytes[list]) == 0) {
		const uint8_t *data = m->bytes[list] + item->data;

		if (r->combine(m->out.data + last->data, last->n_data, data, item->n_data)) {
			last->data = m->out.len;
			last->n_data = item->n_data;
			buf_put(&m->out, data, item->n_data);
			err = m->out.failed ? -ENOMEM : 0;
		}
	} else {
		err = append(&m->items, &m->out, item->key, m->bytes[list] + item->id, item->n_id,
			     m->bytes[list] + item->data, item->n_data);
	}
	if (err == 0 && m->at[list])
		m->at[list][index] = (uint32_t)m->items.count - 1;
	return err;
}

static int merge(struct router *r, struct merging *m)
{
	uint32_t i = 0, k = 0;
	int err = 0;

	while (err == 0 && (i < m->n[0] || k < m->n[1])) {
		bool is_first = k == m->n[1] ||
				(i < m->n[0] && compare_entries(&m->item[0][i], m->bytes[0],
								&m->item[1][k], m->bytes[1]) <= 0);

		err = is_first ? take(r, m, 0, i++) : take(r, m, 1, k++);
	}
	return err;
}

/* Replaces the process's items by those that stay and those that came. */
static int settle(struct router *r, struct round *round, const struct buf *in)
{
	entries got = {0};
	struct merging m = {.bytes = {r->bytes.data, in->data}, .n = {round->n_kept, 0}};
	int err = unpack(in, &got);

	round->n_got = (uint32_t)got.count;
	if (err == 0 && r->has_answers) {
		round->kept_at = vec_alloc((size_t)round->n_kept + 1, sizeof(*round->kept_at));
		round->got_at = vec_alloc(got.count + 1, sizeof(*round->got_at));
		err = round->kept_at && round->got_at ? 0 : -ENOMEM;
	}
	m.item[0] = r->items.items + round->kept;
	m.item[1] = got.items;
	m.n[1] = round->n_got;
	m.at[0] = round->kept_at;
	m.at[1] = round->got_at;
	if (err == 0)
		err = merge(r, &m);
	free(got.items);
	if (err < 0) {
		free(m.items.items);
		buf_free(&m.out);
		return err;
	}
	free(r->items.items);
	buf_free(&r->bytes);
	r->items.items = m.items.items;
	r->items.count = m.items.count;
	r->items.cap = m.items.cap;
	r->bytes = m.out;
	return 0;
}

/* Exchanges items with process `other`. Sends the `n_sent` items from index `sent` on, which are at
 * one end of the array; the others stay. */
static int exchange(struct router *r, uint32_t other, uint32_t sent, uint32_t n_sent)
{
	uint32_t n = (uint32_t)r->items.count;
	struct round *round;
	struct buf out = {0}, in = {0};
	int err = VEC_RESERVE(&r->rounds, 1);

	if (err < 0)
		return err;
	round = &r->rounds.items[r->rounds.count++];
	*round = (struct round){.other = other,
				.n_before = n,
				.sent = sent,
				.n_sent = n_sent,
				.kept = sent ? 0 : n_sent,
				.n_kept = n - n_sent};
	pack(r, sent, n_sent, &out);
	err = out.failed ? -ENOMEM : r->comm->exchange(r->comm->arg, other, &out, &in);
	buf_free(&out);
	if (err == 0)
		err = settle(r, round, &in);
	buf_free(&in);
	return err;
}

uint32_t router_owners(const struct router_comm *comm)
{
	uint32_t n = 1;

	while (n <= comm->size / 2)
		n *= 2;
	return n;
}

/* Returns the index of the first item that belongs to process `owner` or a later one. */
static uint32_t boundary(const struct router *r, uint64_t first, uint64_t last, uint32_t owner)
{
	unsigned __int128 keys = (unsigned __int128)(last - first) + 1;
	uint32_t low = 0, high = (uint32_t)r->items.count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		uint64_t key = r->items.items[middle].key - first;

		if ((unsigned __int128)key * router_owners(r->comm) / keys < owner)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int router_run(struct router *r, uint64_t first, uint64_t last, bool answers)
{
	uint32_t rank = r->comm->rank, n = router_owners(r->comm);
	int err = sort(r);

	r->has_answers = answers;
	if (err == 0 && rank >= n)
		err = exchange(r, rank - n, 0, (uint32_t)r->items.count);
	else if (err == 0 && rank + n < r->comm->size)
		err = exchange(r, rank + n, (uint32_t)r->items.count, 0);
	for (uint32_t bit = n / 2; err == 0 && bit && rank < n; bit /= 2) {
		uint32_t count = (uint32_t)r->items.count;
		/* the first owner in the upper half of the group */
		uint32_t upper = (rank | bit) & ~(bit - 1);
		uint32_t at = boundary(r, first, last, upper);

		err = rank & bit ? exchange(r, rank ^ bit, 0, at)
				 : exchange(r, rank ^ bit, at, count - at);
	}
	if (err == 0 && answers) {
		r->answers = calloc(r->items.count + 1, sizeof(*r->answers));
		err = r->answers ? 0 : -ENOMEM;
	}
	return err;
}

uint32_t router_count(const struct router *router)
{
	return (uint32_t)router->items.count;
}

struct router_item router_at(const struct router *router, uint32_t index)
{
	const struct entry *item = &router->items.items[index];

	return (struct router_item){item->key, router->bytes.data + item->id,
				    router->bytes.data + item->data, item->n_id, item->n_data};
}

void router_answer(struct router *router, uint32_t index, uint64_t answer)
{
	router->answers[index] = answer;
}

/* Undoes a round for the answers: on entry, r->returned has an answer for each item after the
 * round; on return, for each item before it. */
static int back(struct router *r, const struct round *round)
{
	uint64_t *answers = calloc((size_t)round->n_before + 1, sizeof(*answers));
	struct buf out = {0}, in = {0};
	struct buf_reader reader;
	int err = answers ? 0 : -ENOMEM;

	for (uint32_t i = 0; err == 0 && i < round->n_kept; i++)
		answers[round->kept + i] = r->returned[round->kept_at[i]];
	for (uint32_t i = 0; err == 0 && i < round->n_got; i++)
		buf_put_varint(&out, r->returned[round->got_at[i]]);
	if (err == 0)
		err = out.failed ? -ENOMEM
				 : r->comm->exchange(r->comm->arg, round->other, &out, &in);
	reader = buf_reader(in.data, in.len);
	for (uint32_t i = 0; err == 0 && i < round->n_sent; i++)
		answers[round->sent + i] = buf_get_varint(&reader);
	if (err == 0 && (reader.failed || buf_left(&reader)))
		err = -EBADMSG;
	buf_free(&out);
	buf_free(&in);
	free(r->returned);
	r->returned = answers;
	return err;
}

int router_return(struct router *r)
{
	size_t size = r->items.count * sizeof(*r->answers);
	int err = 0;

	free(r->returned);
	r->returned = malloc(size + 1);
	if (!r->returned)
		return -ENOMEM;
	memcpy(r->returned, r->answers, size);
	for (size_t i = r->rounds.count; err == 0 && i-- > 0;)
		err = back(r, &r->rounds.items[i]);
	return err;
}

uint64_t router_answer_to(const struct router *r, uint32_t index)
{
	return r->returned[r->added_at[index]];
}
