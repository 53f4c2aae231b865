/* SPDX-License-Identifier: MIT */
/*
 * Allocates records, and side-band events, that wait in the queue: thousands a second, which are
 * small and are freed in about the order in which they came. They lie one after the other in
 * blocks. A block is freed when its last record is.
 */
#ifndef CAPTURE_RECORD_POOL_H
#define CAPTURE_RECORD_POOL_H

#include <stddef.h>

struct record_pool;

int record_pool_new(struct record_pool **ret_pool); /* 0 or -ENOMEM */

/* Frees the pool, but not the records that were taken from it, which must still be given back. */
void record_pool_free(struct record_pool *pool);

/* Allocates `size` bytes, aligned to 8, not zeroed. If `pool` is NULL they get a block of their
 * own. They lie inside a block, so never free() them: use record_pool_give_back(). NULL without
 * memory. */
void *record_pool_take(struct record_pool *pool, size_t size);

/* Frees the bytes of record_pool_take(), from any pool; NULL is fine. */
void record_pool_give_back(void *record);

#endif
