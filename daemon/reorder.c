/* SPDX-License-Identifier: MIT */
/* A binary heap by time; see reorder.h. Equal times keep the order of arrival, events first. */
#include "reorder.h"

#include <errno.h>
#include <stdlib.h>

struct slot {
	struct reorder_item item;
	uint64_t order; /* of arrival */
};

struct reorder {
	struct slot *heap;
	size_t count, room;
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

void reorder_free(struct reorder *q)
{
	if (!q)
		return;
	for (size_t i = 0; i < q->count; i++) {
		free(q->heap[i].item.sample);
		free(q->heap[i].item.event);
	}
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

int reorder_push(struct reorder *q, const struct reorder_item *item)
{
	struct slot slot = {.item = *item, .order = q->arrivals};
	size_t i;

	if (q->count == q->room) {
		size_t room = q->room ? q->room * 2 : 1024;
		struct slot *heap = reallocarray(q->heap, room, sizeof(*heap));

		if (!heap)
			return -ENOMEM;
		q->heap = heap;
		q->room = room;
	}
	q->arrivals++;
	if (item->time_ns < q->handed_out_ns)
		q->late++;
	for (i = q->count++; i > 0 && before(&slot, &q->heap[(i - 1) / 2]); i = (i - 1) / 2)
		q->heap[i] = q->heap[(i - 1) / 2];
	q->heap[i] = slot;
	return 0;
}

/* Puts `slot` where the root is missing. */
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

bool reorder_pop(struct reorder *q, uint64_t horizon_ns, struct reorder_item *ret_item)
{
	if (!q->count || q->heap[0].item.time_ns >= horizon_ns)
		return false;
	*ret_item = q->heap[0].item;
	if (ret_item->time_ns > q->handed_out_ns)
		q->handed_out_ns = ret_item->time_ns;
	if (--q->count) {
		struct slot last = q->heap[q->count];

		sift_down(q, &last);
	}
	return true;
}

size_t reorder_waiting(const struct reorder *q)
{
	return q->count;
}

uint64_t reorder_late(const struct reorder *q)
{
	return q->late;
}
