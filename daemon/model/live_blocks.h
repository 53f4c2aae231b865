/* SPDX-License-Identifier: MIT */
/*
 * The sampled allocations that have not ended, by process and address (docs/ALLOC.md).
 *
 * The end of a block is a record without a path: what ended, and where it was allocated, is found
 * here. Only the ends of sampled blocks are recorded, by libstackalloc or by the kernel half
 * (bpf/malloc.bpf.h), so this is as small as the sample is. What a process has at its end stays
 * live in the recording; here it is forgotten.
 */
#ifndef MODEL_LIVE_BLOCKS_H
#define MODEL_LIVE_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/archive/batch.h"
#include "stackd_abi.h"

#define LIVE_BLOCKS_MOST STACKD_MOST_LIVE

struct live_blocks;

struct live_block {
	struct store_sample row; /* of the allocation; its value is the bytes that it stands for */
	uint64_t objects;	 /* that it stands for */
	uint64_t error;		 /* standard error of its value */
};

struct live_blocks_counts {
	uint64_t untracked; /* allocations for which there was no room: their ends are not known */
	uint64_t unknown;   /* ends of blocks that are not here */
	uint64_t missed;    /* ends without a record: the address was allocated again */
};

int live_blocks_new(struct live_blocks **ret_blocks); /* 0 or -ENOMEM */
void live_blocks_free(struct live_blocks *blocks);    /* NULL is fine */

/* Adds a block. 1: another one had this address, which has ended then, and is *ret_before; 0; or
 * -ENOMEM. */
int live_blocks_add(struct live_blocks *blocks, pid_t pid, uint64_t address,
		    const struct live_block *block, struct live_block *ret_before);

/* Takes a block out. Returns whether it was there. */
bool live_blocks_take(struct live_blocks *blocks, pid_t pid, uint64_t address,
		      struct live_block *ret_block);

/* Forgets those of a process, which has ended or executes another program. */
void live_blocks_forget(struct live_blocks *blocks, pid_t pid);

/* Forgets all: the rows' numbers are not valid any more. */
void live_blocks_clear(struct live_blocks *blocks);

/* Returns what was counted; it lives as long as the blocks. */
const struct live_blocks_counts *live_blocks_counts(const struct live_blocks *blocks);

#endif
