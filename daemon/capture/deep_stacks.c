/* SPDX-License-Identifier: MIT */
/* Fills the map of blocks; see deep_stacks.h. */
#include "daemon/capture/deep_stacks.h"

#include <bpf/bpf.h>
#include <stdlib.h>

#include "stackd_abi.h"

#define BLOCKS (STACKD_DEEP_PLACES / STACKD_DEEP_BLOCK)
#define TRIES  1000

/* Adds a block, and tries again on failure, because the kernel allocates elements from a cache that
 * it refills in an interrupt, so that the cache can be empty for a moment. */
static int add_block(int fd, uint32_t key, const void *empty)
{
	int err = -1;

	for (int i = 0; err && i < TRIES; i++)
		err = bpf_map_update_elem(fd, &key, empty, BPF_ANY);
	return err;
}

void deep_stacks_add(int blocks_fd, uint32_t block_bytes, uint32_t *n_stacks)
{
	uint32_t stack = *n_stacks + 1;
	void *empty;
	int err;

	if (stack > STACKD_DEEP_STACKS)
		return;
	empty = calloc(1, block_bytes);
	err = empty ? 0 : -1;
	for (uint32_t i = 0; i < BLOCKS && !err; i++)
		err = add_block(blocks_fd, stack << 16 | i, empty);
	free(empty);
	if (!err)
		__atomic_store_n(n_stacks, stack, __ATOMIC_RELEASE);
}
