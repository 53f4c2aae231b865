/* SPDX-License-Identifier: MIT */
/* See take_back.h. */
#include "daemon/tables/take_back.h"

#include <bpf/bpf.h>
#include <string.h>
#include <sys/mman.h>

#include "daemon/base/map_window.h"
#include "daemon/tables/room.h"
#include "daemon/tables/tables.h"

#define CACHE_AT_ONCE (UINT64_C(1) << 20) /* bytes of the cache that are mapped at a time */

/* Returns whether an entry of the map of inodes is to be removed. */
static bool is_removed(const struct tables_maps *maps, const struct stackd_inode *key,
		       const bool *is_ended, const struct stackd_inode *known_as)
{
	uint32_t number;

	return !bpf_map_lookup_elem(maps->inodes_fd, key, &number) && number < maps->n_files &&
	       (is_ended[number] || memcmp(key, &known_as[number], sizeof(*key)) != 0);
}

/* The next key is asked for before a key is removed, since one that is not there leads to the first
 * key. */
uint64_t take_back_inodes(const struct tables_maps *maps, const bool *is_ended,
			  const struct stackd_inode *known_as)
{
	struct stackd_inode key, next;
	bool has_next = !bpf_map_get_next_key(maps->inodes_fd, NULL, &next);
	uint64_t removed = 0;

	while (has_next) {
		key = next;
		has_next = !bpf_map_get_next_key(maps->inodes_fd, &key, &next);
		if (is_removed(maps, &key, is_ended, known_as))
			removed += !bpf_map_delete_elem(maps->inodes_fd, &key);
	}
	return removed;
}

void take_back_walks(const struct tables_maps *maps)
{
	__atomic_add_fetch(maps->numbers_ended, 1, __ATOMIC_SEQ_CST);
	room_await_walks();
}

static int empty_cache(const struct tables_maps *maps)
{
	for (uint64_t at = 0, some; at < maps->cache_bytes; at += some) {
		struct map_window window;
		uint64_t *entries;
		int err;

		some = maps->cache_bytes - at < CACHE_AT_ONCE ? maps->cache_bytes - at
							      : CACHE_AT_ONCE;
		err = map_window_open(maps->cache_fd, PROT_READ | PROT_WRITE, at, some, &window);
		if (err)
			return err;
		entries = window.data;
		for (size_t i = 0; i < some / sizeof(*entries); i++)
			__atomic_store_n(&entries[i], 0, __ATOMIC_RELAXED);
		map_window_close(&window);
	}
	return 0;
}

/* A walk that adds an entry to a set moves the set's newer one. If it has read that one before, it
 * can be written after the first pass; but after the second pass none is left, since no newer one
 * was. */
int take_back_cache(const struct tables_maps *maps)
{
	int err = empty_cache(maps);

	if (err)
		return err;
	room_await_walks();
	return empty_cache(maps);
}
