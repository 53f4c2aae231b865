/* SPDX-License-Identifier: MIT */
/*
 * Memory for records that wait: thousands of small ones a second, which go in about the order in
 * which they came. They are laid one after the other into blocks; a block goes with its last.
 */
#ifndef CAPTURE_RECORD_POOL_H
#define CAPTURE_RECORD_POOL_H

#include <stddef.h>

struct record_pool;

int record_pool_new(struct record_pool **ret_pool); /* 0 or -ENOMEM */

/* Records that are still there stay. */
void record_pool_free(struct record_pool *pool);

/* `size` bytes, aligned to 8, not zeroed; NULL: there is no memory. `pool` NULL: in a block of
 * their own. */
void *record_pool_take(struct record_pool *pool, size_t size);

/* Bytes that were taken from any pool, or NULL. */
void record_pool_give_back(void *record);

#endif
