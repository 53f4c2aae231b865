/* SPDX-License-Identifier: MIT */
/*
 * The queue that restores the order of time.
 *
 *   items:  [ returned | ready, sorted | arrived since ]
 *                      head            ready           count
 *   blocks: the records' bytes, in order of arrival; a block is free when its last record has been
 *           returned
 *
 * A round of perf consists of a few sorted runs of records, one for each ring buffer, so the queue
 * is sorted by merging at the end of a round. A heap would move each item a dozen times. The block
 * of the record that was returned last is kept until the next call.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "perf/perfdata_reader.h"

#define BLOCK_SIZE ((size_t)1 << 20)

struct perfdata_block {
	struct perfdata_block *next; /* in the list of spare blocks */
	size_t used;
	uint32_t records; /* records in the block that were not returned yet */
	uint64_t bytes[BLOCK_SIZE / 8];
};

static void put_back(struct perfdata_order *o, struct perfdata_block *block)
{
	if (--block->records || block == o->open)
		return;
	if (o->spare) {
		free(block);
	} else {
		block->next = NULL;
		o->spare = block;
	}
}

static struct perfdata_block *room_for(struct perfdata_order *o, size_t size)
{
	struct perfdata_block *block = o->open;

	if (block && !block->records)
		block->used = 0;
	if (block && BLOCK_SIZE - block->used >= size)
		return block;
	block = o->spare ? o->spare : malloc(sizeof(*block));
	if (!block)
		return NULL;
	o->spare = NULL;
	block->used = 0;
	block->records = 0;
	o->open = block; /* the previous one is freed with its last record */
	return block;
}

int perfdata_order_push(struct perfdata_order *o, const struct perfdata_raw *raw)
{
	size_t size = raw->header->size, aligned = (size + 7) & ~(size_t)7;
	struct perfdata_block *block;

	if (o->head && o->count == o->cap) {
		memmove(o->items, o->items + o->head, (o->count - o->head) * sizeof(*o->items));
		o->count -= o->head;
		o->ready -= o->head;
		o->head = 0;
	}
	if (vec_reserve((void **)&o->items, &o->cap, o->count + 1, sizeof(*o->items)))
		return -ENOMEM;
	block = room_for(o, aligned);
	if (!block)
		return -ENOMEM;
	o->items[o->count++] = (struct perfdata_waiting){
		.time_ns = raw->time_ns,
		.order = o->arrivals++,
		.offset = raw->offset,
		.block = block,
		.at = (uint32_t)block->used,
		.event = raw->event,
	};
	memcpy((uint8_t *)block->bytes + block->used, raw->header, size);
	block->used += aligned;
	block->records++;
	o->bytes += aligned;
	if (raw->time_ns > o->max_ns)
		o->max_ns = raw->time_ns;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct perfdata_waiting *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

/* Sorts the queue. Records with times up to `limit_ns` become ready to be returned. */
static void sort_to(struct perfdata_order *o, uint64_t limit_ns)
{
	size_t sorted = o->head + 1;

	while (sorted < o->count && compare(&o->items[sorted - 1], &o->items[sorted]) < 0)
		sorted++;
	if (sorted < o->count)
		qsort(o->items + o->head, o->count - o->head, sizeof(*o->items), compare);
	o->ready = o->head;
	while (o->ready < o->count && o->items[o->ready].time_ns <= limit_ns)
		o->ready++;
}

void perfdata_order_round(struct perfdata_order *o)
{
	sort_to(o, o->round_max_ns);
	o->round_max_ns = o->max_ns;
}

void perfdata_order_end(struct perfdata_order *o)
{
	sort_to(o, UINT64_MAX);
}

bool perfdata_order_pop(struct perfdata_order *o, struct perfdata_raw *ret_raw)
{
	const struct perfdata_waiting *item;

	if (o->lent)
		put_back(o, o->lent);
	o->lent = NULL;
	if (o->head == o->ready && o->bytes > PERFDATA_QUEUE_MAX) {
		/* The file has no rounds, or rounds that are too long: make the older half of the
		 * queue ready. */
		sort_to(o, 0);
		o->ready = o->head + (o->count - o->head) / 2;
	}
	if (o->head == o->ready)
		return false;
	item = &o->items[o->head++];
	o->lent = item->block;
	*ret_raw = (struct perfdata_raw){
		.header = (const void *)((const uint8_t *)item->block->bytes + item->at),
		.offset = item->offset,
		.time_ns = item->time_ns,
		.event = item->event,
	};
	o->bytes -= (ret_raw->header->size + 7u) & ~7u;
	if (item->time_ns > o->returned_ns)
		o->returned_ns = item->time_ns;
	if (o->head == o->count)
		o->head = o->count = o->ready = 0;
	return true;
}

void perfdata_order_fini(struct perfdata_order *o)
{
	if (o->lent)
		put_back(o, o->lent);
	for (size_t i = o->head; i < o->count; i++)
		put_back(o, o->items[i].block);
	free(o->open);
	free(o->spare);
	free(o->items);
}
