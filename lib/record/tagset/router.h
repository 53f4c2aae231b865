/* SPDX-License-Identifier: MIT */
/*
 * Brings the items of many processes each to one process, its owner, and combines equal items on
 * the way.
 *
 * An item is a key of 64 bits, an id (bytes) and data. Items are equal if key and id are. They are
 * distributed in order of key and then id: the first process owns the least items, and so on. An
 * owner can answer each of its items with a number, and the answers go back to all processes that
 * had the item.
 *
 * This is a crystal router (Fox et al., "Solving Problems on Concurrent Processors", 1988): in
 * round i a process exchanges with the one whose number differs in bit i, and gives it the items of
 * its half of the keys. Items that all processes have become one with the first exchange of two
 * processes, as in a tree of sums, while items that only one process has travel to their owner
 * unchanged. So one pass serves both kinds, with log2(N) messages a process, each no larger than
 * about a process's share. MPI_Alltoallv was rejected: its arrays of counts alone take a process 1
 * MiB at 65,536 processes, and an item that all processes have would reach its owner once from each
 * of them.
 */
#ifndef TAGSET_ROUTER_H
#define TAGSET_ROUTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* One of several processes, and its connection to the others. All processes must call the same
 * functions in the same order. With a single process, `exchange` is never called. */
struct router_comm {
	uint32_t rank, size; /* number of this process, from 0; number of processes */
	void *arg;
	/* Sends `out` to process `other`, and appends to *in what that process sends. Returns 0,
	 * -ENOMEM or -EIO. */
	int (*exchange)(void *arg, uint32_t other, const struct buf *out, struct buf *in);
};

extern const struct router_comm router_alone; /* a single process */

/* Returns how many processes own items: the largest power of two that is not above the number of
 * processes. */
uint32_t router_owners(const struct router_comm *comm);

/* Replaces each of `n` numbers by its sum over all processes, modulo 2^64. *ret_before (unless
 * NULL) receives the sums over the processes before this one. Returns 0, -ENOMEM, -EIO or -EBADMSG.
 */
int router_sum(const struct router_comm *comm, uint64_t *numbers, size_t n, uint64_t *ret_before);

/* Replaces each of `n` numbers by its maximum over all processes. Returns what router_sum()
 * does. */
int router_largest(const struct router_comm *comm, uint64_t *numbers, size_t n);

struct router;

/* Combines the data of two equal items: either changes `into`, keeping its size, and returns false;
 * or returns true, and the data of `from` replaces it. The result must not depend on the order in
 * which items are combined. */
typedef bool (*router_combine)(uint8_t *into, size_t n_into, const uint8_t *from, size_t n_from);

/* `comm` is borrowed. Returns 0 or -ENOMEM. */
int router_new(const struct router_comm *comm, router_combine combine, struct router **ret_router);
void router_free(struct router *router); /* NULL is fine */

/* Adds an item, before router_run(). Items are numbered in the order in which they are added.
 * Returns 0, -ENOMEM, or -EOVERFLOW (2^32 items, or an item of 2^32 bytes). */
int router_add(struct router *router, uint64_t key, const void *id, size_t n_id, const void *data,
	       size_t n_data);

/* Brings all items to their owners. Each owner has an about equal part of the range of keys from
 * `first` to `last`; all keys must lie in that range, and all processes must pass the same one.
 * `answers` false saves memory, but then router_return() cannot be called. Returns 0, -ENOMEM,
 * -EIO, -EOVERFLOW, or -EBADMSG: a message was broken. */
int router_run(struct router *router, uint64_t first, uint64_t last, bool answers);

struct router_item {
	uint64_t key;
	const uint8_t *id, *data; /* live as long as the router */
	uint32_t n_id, n_data;
};

/* After router_run(): return how many items this process owns, and one of them, in order. */
uint32_t router_count(const struct router *router);
struct router_item router_at(const struct router *router, uint32_t index);

/* Answers an owned item; without a call, the answer is 0. */
void router_answer(struct router *router, uint32_t index, uint64_t answer);

/* Sends the answers back to the processes that added the items. It may be called again with other
 * answers. Errors as router_run(). */
int router_return(struct router *router);

/* After router_return(): returns the answer to the item that this process added as the index-th. */
uint64_t router_answer_to(const struct router *router, uint32_t index);

#endif
