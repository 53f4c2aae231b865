/* SPDX-License-Identifier: MIT */
/*
 * The sampled allocations that have not been freed, by process and address (docs/ALLOC.md).
 *
 * The record of a free has no path. This table has the size of the freed block and the path that
 * has allocated it. Only frees of sampled blocks are recorded, by libstackalloc or by the kernel
 * half (bpf/malloc.bpf.h), so the table has only sampled blocks. Blocks that a process has at its
 * end stay live in the recording, and are forgotten here.
 */
#ifndef RECORDER_LIVE_BLOCKS_H
#define RECORDER_LIVE_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/archive/batch.h"
#include "stackd_abi.h"

#define LIVE_BLOCKS_MOST STACKD_MOST_LIVE

struct live_blocks;

struct live_block {
	struct store_sample row; /* of the allocation; its period is the bytes that the allocation
				  * represents */
	uint64_t objects;	 /* how many allocations this one represents */
	uint64_t error;		 /* standard error of the bytes */
};

struct live_blocks_counts {
	uint64_t untracked; /* allocations that were not added to the full table, so that their
			     * frees are unknown */
	uint64_t unknown;   /* frees of blocks that are not in the table */
	uint64_t missed; /* frees that were not recorded, found when the address was allocated again
			  */
};

int live_blocks_new(struct live_blocks **ret_blocks); /* 0 or -ENOMEM */
void live_blocks_free(struct live_blocks *blocks);    /* NULL is fine */

/* Adds the block that a process has allocated at an address. 1: the table had another block there,
 * whose free was not recorded; *ret_before is that block, which the new one replaces. 0: it had
 * none; -ENOMEM. */
int live_blocks_add(struct live_blocks *blocks, pid_t pid, uint64_t address,
		    const struct live_block *block, struct live_block *ret_before);

/* Removes the block that a process has freed, and gives it. false: the table does not have it. */
bool live_blocks_take(struct live_blocks *blocks, pid_t pid, uint64_t address,
		      struct live_block *ret_block);

/* Forgets the blocks of a process, which has ended or executes another program. */
void live_blocks_forget(struct live_blocks *blocks, pid_t pid);

/* Forgets all blocks. To be called when a window of the recording ends, since the numbers in their
 * rows are not valid any more. */
void live_blocks_clear(struct live_blocks *blocks);

/* Returns the counts so far, which live as long as `blocks`. */
const struct live_blocks_counts *live_blocks_counts(const struct live_blocks *blocks);

#endif
