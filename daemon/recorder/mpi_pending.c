/* SPDX-License-Identifier: MIT */
/* Keeps a hash table of calls by thread and time; see mpi_pending.h. */
#include "daemon/recorder/mpi_pending.h"

#include <errno.h>
#include <stdlib.h>
#include <uthash.h>

struct key {
	uint64_t enter_ns;
	uint64_t tid;
};

struct entry {
	struct key key;
	struct store_sample row;
	UT_hash_handle hh;
};

struct mpi_pending {
	struct entry *entries;
};

int mpi_pending_new(struct mpi_pending **ret_pending)
{
	*ret_pending = calloc(1, sizeof(**ret_pending));
	return *ret_pending ? 0 : -ENOMEM;
}

static void remove_entry(struct mpi_pending *pending, struct entry *entry)
{
	HASH_DEL(pending->entries, entry);
	free(entry);
}

void mpi_pending_clear(struct mpi_pending *pending)
{
	struct entry *entry, *next;

	HASH_ITER (hh, pending->entries, entry, next)
		remove_entry(pending, entry);
}

void mpi_pending_free(struct mpi_pending *pending)
{
	if (!pending)
		return;
	mpi_pending_clear(pending);
	free(pending);
}

static struct entry *find(const struct mpi_pending *pending, uint32_t tid, uint64_t enter_ns)
{
	const struct key key = {.enter_ns = enter_ns, .tid = tid};
	struct entry *entry;

	HASH_FIND(hh, pending->entries, &key, sizeof(key), entry);
	return entry;
}

int mpi_pending_add(struct mpi_pending *pending, uint32_t tid, uint64_t enter_ns,
		    const struct store_sample *row)
{
	struct entry *entry;

	if (HASH_COUNT(pending->entries) >= MPI_PENDING_MOST || find(pending, tid, enter_ns))
		return 1;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	entry->key = (struct key){.enter_ns = enter_ns, .tid = tid};
	entry->row = *row;
	HASH_ADD(hh, pending->entries, key, sizeof(entry->key), entry);
	return 0;
}

bool mpi_pending_take(struct mpi_pending *pending, uint32_t tid, uint64_t enter_ns, uint64_t posted,
		      struct store_sample *ret_row)
{
	struct entry *entry = find(pending, tid, enter_ns);
	const uint64_t bytes = STACKD_MPI_BYTES_OF(posted);
	uint64_t left;

	if (!entry)
		return false;
	left = STACKD_MPI_BYTES_OF(entry->row.period);
	if (bytes > left)
		return false;
	*ret_row = entry->row;
	entry->row.period -= bytes;
	if (bytes == left)
		remove_entry(pending, entry);
	return true;
}

bool mpi_pending_take_any(struct mpi_pending *pending, struct store_sample *ret_row)
{
	struct entry *entry = pending->entries;

	if (!entry)
		return false;
	*ret_row = entry->row;
	remove_entry(pending, entry);
	return true;
}
