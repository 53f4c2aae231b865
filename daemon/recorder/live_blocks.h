/* SPDX-License-Identifier: MIT */
/*
 * The sampled allocations that have not been freed, by process and address (docs/ALLOC.md).
 *
 * The record of a free has no path: this table tells the size of the freed block and the path that
 * allocated it. Only frees of sampled blocks are recorded, by libstackalloc or by the kernel half
 * (bpf/malloc.bpf.h), so the table is as small as the sample is. Blocks that a process has at its
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
	uint64_t untracked; /* allocations that the full table did not take: their frees are not
			     * recognised */
	uint64_t unknown;   /* frees of blocks that are not in the table */
	uint64_t missed;    /* frees that were not recorded: the address was allocated again */
};

int live_blocks_new(struct live_blocks **ret_blocks); /* 0 or -ENOMEM */
void live_blocks_free(struct live_blocks *blocks);    /* NULL is fine */

/* Adds a block. 1: another block had this address, so it must have been freed; *ret_before is that
 * block. 0: none had; -ENOMEM. */
int live_blocks_add(struct live_blocks *blocks, pid_t pid, uint64_t address,
		    const struct live_block *block, struct live_block *ret_before);

/* Takes a block out. Returns whether it was there. */
bool live_blocks_take(struct live_blocks *blocks, pid_t pid, uint64_t address,
		      struct live_block *ret_block);

/* Forgets the blocks of a process, which has ended or executes another program. */
void live_blocks_forget(struct live_blocks *blocks, pid_t pid);

/* Forgets all blocks, since the numbers in their rows are not valid any more. */
void live_blocks_clear(struct live_blocks *blocks);

/* Returns what was counted; it lives as long as the blocks. */
const struct live_blocks_counts *live_blocks_counts(const struct live_blocks *blocks);

#endif
