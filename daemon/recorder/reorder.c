/* SPDX-License-Identifier: MIT */
/*
 * Keeps the items in two rows, of samples and of events, and in a binary heap, all by time; see
 * reorder.h. Items of the same time are handed out in the order of arrival, but events before
 * samples.
 *
 * Both kinds nearly always arrive in order. Then they are added at their row's end and taken from
 * its front, in one step each. Items that are older than the row's last one go into the heap.
 *
 * When the caller looks ahead (reorder_ahead()), the next items are moved from rows and heap into
 * an array, in order. An item that arrives later and is older than the last one in the array is
 * inserted there.
 */
#include "daemon/recorder/reorder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/capture/record_pool.h"
#include "base/vec.h"

struct slot {
	struct reorder_item item;
	uint64_t order; /* position of the item in the order of arrival */
};

struct row {
	struct slot *slots; /* from `first` up to `end` */
	size_t first, end, room;
};

enum { SAMPLES, EVENTS, N_ROWS };

struct reorder {
	struct slot *heap;
	size_t count, room;
	struct row rows[N_ROWS];
	struct slot next[REORDER_AHEAD]; /* the oldest items of all, in order, `n_next` of them from
					  * `next_at` on */
	size_t next_at, n_next;
	uint64_t arrivals;
	uint64_t handed_out_ns; /* the youngest time that was handed out */
	uint64_t late;
};

int reorder_new(struct reorder **ret_queue)
{
	struct reorder *q = calloc(1, sizeof(*q));

	if (!q)
		return -ENOMEM;
	*ret_queue = q;
	return 0;
}

static void free_items(struct slot *slots, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		record_pool_give_back(slots[i].item.sample);
		record_pool_give_back(slots[i].item.event);
	}
}

void reorder_free(struct reorder *q)
{
	if (!q)
		return;
	free_items(q->heap, q->count);
	for (size_t i = 0; i < N_ROWS; i++) {
		free_items(q->rows[i].slots + q->rows[i].first, q->rows[i].end - q->rows[i].first);
		free(q->rows[i].slots);
	}
	free_items(q->next + q->next_at, q->n_next);
	free(q->heap);
	free(q);
}

static bool before(const struct slot *a, const struct slot *b)
{
	if (a->item.time_ns != b->item.time_ns)
		return a->item.time_ns < b->item.time_ns;
	if (!a->item.event != !b->item.event)
		return a->item.event != NULL;
	return a->order < b->order;
}

/* Makes room for one more item at a row's end, by moving the row to the front of its memory if
 * half of that is free, else by more memory. 0 or -ENOMEM. */
static int reserve_row(struct row *row)
{
	if (row->end < row->room)
		return 0;
	if (row->first && row->first >= row->room / 2) {
		memmove(row->slots, row->slots + row->first,
			(row->end - row->first) * sizeof(*row->slots));
		row->end -= row->first;
		row->first = 0;
		return 0;
	}
	return VEC_GROW(row->slots, row->room, row->end + 1);
}

static int push_heap(struct reorder *q, const struct slot *slot)
{
	size_t i;

	if (VEC_GROW(q->heap, q->room, q->count + 1))
		return -ENOMEM;
	for (i = q->count++; i > 0 && before(slot, &q->heap[(i - 1) / 2]); i = (i - 1) / 2)
		q->heap[i] = q->heap[(i - 1) / 2];
	q->heap[i] = *slot;
	return 0;
}

/* Inserts a slot into the array of next items, whose last item is younger. If the array is full,
 * the last item goes back to the heap. */
static int insert_next(struct reorder *q, const struct slot *slot)
{
	size_t end, i;
	int err;

	memmove(q->next, q->next + q->next_at, q->n_next * sizeof(*q->next));
	q->next_at = 0;
	end = q->n_next;
	if (end == REORDER_AHEAD) {
		err = push_heap(q, &q->next[end - 1]);
		if (err)
			return err;
		q->n_next = --end;
		if (!before(slot, &q->next[end - 1]))
			return push_heap(q, slot);
	}
	for (i = end; i > 0 && before(slot, &q->next[i - 1]); i--)
		q->next[i] = q->next[i - 1];
	q->next[i] = *slot;
	q->n_next++;
	return 0;
}

int reorder_push(struct reorder *q, const struct reorder_item *item)
{
	struct slot slot = {.item = *item, .order = q->arrivals};
	struct row *row = &q->rows[item->event ? EVENTS : SAMPLES];
	int err;

	if (q->n_next && before(&slot, &q->next[q->next_at + q->n_next - 1])) {
		err = insert_next(q, &slot);
	} else if (row->first < row->end && before(&slot, &row->slots[row->end - 1])) {
		err = push_heap(q, &slot);
	} else {
		err = reserve_row(row);
		if (!err)
			row->slots[row->end++] = slot;
	}
	if (err)
		return err;
	q->arrivals++;
	if (item->time_ns < q->handed_out_ns)
		q->late++;
	return 0;
}

/* Puts `slot` into the heap, whose root was taken. */
static void sift_down(struct reorder *q, const struct slot *slot)
{
	size_t i = 0;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= q->count)
			break;
		if (child + 1 < q->count && before(&q->heap[child + 1], &q->heap[child]))
			child++;
		if (!before(&q->heap[child], slot))
			break;
		q->heap[i] = q->heap[child];
		i = child;
	}
	q->heap[i] = *slot;
}

static void pop_heap(struct reorder *q)
{
	struct slot last;

	if (!--q->count)
		return;
	last = q->heap[q->count];
	sift_down(q, &last);
}

/* Returns the oldest slot of heap and rows; NULL: all are empty. *ret_row: the number of its row;
 * N_ROWS: it is in the heap. */
static const struct slot *oldest(const struct reorder *q, size_t *ret_row)
{
	const struct slot *next = q->count ? &q->heap[0] : NULL;

	*ret_row = N_ROWS;
	for (size_t i = 0; i < N_ROWS; i++) {
		const struct row *row = &q->rows[i];

		if (row->first == row->end || (next && !before(&row->slots[row->first], next)))
			continue;
		next = &row->slots[row->first];
		*ret_row = i;
	}
	return next;
}

const struct reorder_item *reorder_peek(const struct reorder *q, uint64_t horizon_ns)
{
	size_t row;
	const struct slot *next = q->n_next ? &q->next[q->next_at] : oldest(q, &row);

	return next && next->item.time_ns < horizon_ns ? &next->item : NULL;
}

/* Removes the oldest slot of heap and rows, and gives it, if it is older than the horizon; else
 * returns false. */
static bool take_oldest(struct reorder *q, uint64_t horizon_ns, struct slot *ret_slot)
{
	size_t number;
	const struct slot *next = oldest(q, &number);
	struct row *row;

	if (!next || next->item.time_ns >= horizon_ns)
		return false;
	*ret_slot = *next;
	if (number == N_ROWS) {
		pop_heap(q);
		return true;
	}
	row = &q->rows[number];
	if (++row->first == row->end)
		row->first = row->end = 0;
	return true;
}

bool reorder_pop(struct reorder *q, uint64_t horizon_ns, struct reorder_item *ret_item)
{
	struct slot slot;

	if (!q->n_next) {
		if (!take_oldest(q, horizon_ns, &slot))
			return false;
	} else {
		slot = q->next[q->next_at];
		if (slot.item.time_ns >= horizon_ns)
			return false;
		q->n_next--;
		q->next_at = q->n_next ? q->next_at + 1 : 0;
	}
	*ret_item = slot.item;
	if (ret_item->time_ns > q->handed_out_ns)
		q->handed_out_ns = ret_item->time_ns;
	return true;
}

const struct reorder_item *reorder_ahead(struct reorder *q, uint64_t horizon_ns, size_t n)
{
	const struct slot *slot;

	if (n >= REORDER_AHEAD)
		return NULL;
	if (n >= q->n_next && q->next_at) {
		memmove(q->next, q->next + q->next_at, q->n_next * sizeof(*q->next));
		q->next_at = 0;
	}
	while (n >= q->n_next && take_oldest(q, horizon_ns, &q->next[q->n_next]))
		q->n_next++;
	slot = &q->next[q->next_at + n];
	return n < q->n_next && slot->item.time_ns < horizon_ns ? &slot->item : NULL;
}

size_t reorder_waiting(const struct reorder *q)
{
	size_t n = q->count + q->n_next;

	for (size_t i = 0; i < N_ROWS; i++)
		n += q->rows[i].end - q->rows[i].first;
	return n;
}

uint64_t reorder_late(const struct reorder *q)
{
	return q->late;
}
