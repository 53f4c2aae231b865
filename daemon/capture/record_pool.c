/* SPDX-License-Identifier: MIT */
/*
 * Allocates records in blocks; see record_pool.h.
 *
 *   block   used, live, is_open | its address, record | its address, record | ...
 *
 * One block of a pool is open and takes new records at its end. A closed block is freed with its
 * last record.
 */
#include "daemon/capture/record_pool.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define BLOCK_BYTES 65536u
#ifdef __SANITIZE_ADDRESS__
#define LARGE_BYTES 0u /* every record has a block of its own, so that overruns are found */
#else
#define LARGE_BYTES (BLOCK_BYTES / 8) /* larger records have a block of their own */
#endif

struct block {
	size_t used, live; /* used bytes; records that were not given back */
	bool is_open;
	uint64_t bytes[];
};

struct record_pool {
	struct block *open; /* NULL: no block was allocated yet */
};

int record_pool_new(struct record_pool **ret_pool)
{
	struct record_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return -ENOMEM;
	*ret_pool = pool;
	return 0;
}

static struct block *block_new(size_t bytes)
{
	struct block *block = malloc(sizeof(*block) + bytes);

	if (block)
		*block = (struct block){0};
	return block;
}

static void block_close(struct block *block)
{
	if (!block)
		return;
	block->is_open = false;
	if (!block->live)
		free(block);
}

void record_pool_free(struct record_pool *pool)
{
	if (!pool)
		return;
	block_close(pool->open);
	free(pool);
}

/* Allocates `bytes` at the end of a block that has room. */
static void *block_take(struct block *block, size_t bytes)
{
	struct block **owner = (struct block **)&block->bytes[block->used / 8];

	*owner = block;
	block->used += bytes;
	block->live++;
	return owner + 1;
}

void *record_pool_take(struct record_pool *pool, size_t size)
{
	size_t bytes = sizeof(struct block *) + ((size + 7) & ~(size_t)7);
	bool is_alone = !pool || bytes > LARGE_BYTES;
	struct block *block = is_alone ? NULL : pool->open;

	if (!block || block->used + bytes > BLOCK_BYTES) {
		block = block_new(is_alone ? bytes : BLOCK_BYTES);
		if (!block)
			return NULL;
		block->is_open = !is_alone;
		if (!is_alone) {
			block_close(pool->open);
			pool->open = block;
		}
	}
	return block_take(block, bytes);
}

void record_pool_give_back(void *record)
{
	struct block *block;

	if (!record)
		return;
	block = *((struct block **)record - 1);
	if (!--block->live && !block->is_open)
		free(block);
}
