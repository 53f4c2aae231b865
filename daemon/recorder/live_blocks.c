/* SPDX-License-Identifier: MIT */
/* Keeps a hash table of blocks for each process; see live_blocks.h. */
#include "daemon/recorder/live_blocks.h"

#include <errno.h>
#include <stdlib.h>
#include <uthash.h>

struct entry {
	uint64_t address;
	struct live_block block;
	UT_hash_handle hh;
};

struct owner {
	pid_t pid;
	struct entry *entries;
	UT_hash_handle hh;
};

struct live_blocks {
	struct owner *owners;
	uint32_t n_entries;
	struct live_blocks_counts counts;
};

int live_blocks_new(struct live_blocks **ret_blocks)
{
	*ret_blocks = calloc(1, sizeof(**ret_blocks));
	return *ret_blocks ? 0 : -ENOMEM;
}

static void remove_entry(struct live_blocks *blocks, struct owner *owner, struct entry *entry)
{
	HASH_DEL(owner->entries, entry);
	free(entry);
	blocks->n_entries--;
}

static void remove_owner(struct live_blocks *blocks, struct owner *owner)
{
	struct entry *entry, *next;

	HASH_ITER (hh, owner->entries, entry, next)
		remove_entry(blocks, owner, entry);
	HASH_DEL(blocks->owners, owner);
	free(owner);
}

void live_blocks_clear(struct live_blocks *blocks)
{
	struct owner *owner, *next;

	HASH_ITER (hh, blocks->owners, owner, next)
		remove_owner(blocks, owner);
}

void live_blocks_free(struct live_blocks *blocks)
{
	if (!blocks)
		return;
	live_blocks_clear(blocks);
	free(blocks);
}

static struct owner *find_owner(const struct live_blocks *blocks, pid_t pid)
{
	struct owner *owner;

	HASH_FIND_INT(blocks->owners, &pid, owner);
	return owner;
}

static struct owner *enter_owner(struct live_blocks *blocks, pid_t pid)
{
	struct owner *owner = find_owner(blocks, pid);

	if (owner)
		return owner;
	owner = calloc(1, sizeof(*owner));
	if (!owner)
		return NULL;
	owner->pid = pid;
	HASH_ADD_INT(blocks->owners, pid, owner);
	return owner;
}

static struct entry *find_entry(const struct owner *owner, uint64_t address)
{
	struct entry *entry;

	HASH_FIND(hh, owner->entries, &address, sizeof(address), entry);
	return entry;
}

int live_blocks_add(struct live_blocks *blocks, pid_t pid, uint64_t address,
		    const struct live_block *block, struct live_block *ret_before)
{
	struct owner *owner = enter_owner(blocks, pid);
	struct entry *entry = owner ? find_entry(owner, address) : NULL;

	if (!owner)
		return -ENOMEM;
	if (entry) {
		*ret_before = entry->block;
		entry->block = *block;
		blocks->counts.missed++;
		return 1;
	}
	if (blocks->n_entries >= LIVE_BLOCKS_MOST) {
		blocks->counts.untracked++;
		return 0;
	}
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	entry->address = address;
	entry->block = *block;
	HASH_ADD(hh, owner->entries, address, sizeof(entry->address), entry);
	blocks->n_entries++;
	return 0;
}

bool live_blocks_take(struct live_blocks *blocks, pid_t pid, uint64_t address,
		      struct live_block *ret_block)
{
	struct owner *owner = find_owner(blocks, pid);
	struct entry *entry = owner ? find_entry(owner, address) : NULL;

	if (!entry) {
		blocks->counts.unknown++;
		return false;
	}
	*ret_block = entry->block;
	remove_entry(blocks, owner, entry);
	return true;
}

void live_blocks_forget(struct live_blocks *blocks, pid_t pid)
{
	struct owner *owner = find_owner(blocks, pid);

	if (owner)
		remove_owner(blocks, owner);
}

const struct live_blocks_counts *live_blocks_counts(const struct live_blocks *blocks)
{
	return &blocks->counts;
}
