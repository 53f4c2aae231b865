/* SPDX-License-Identifier: MIT */
/*
 * Maps the parts of the kernel half's maps that it reads (base/map_window.h); see loaded_rule.h.
 *
 * The tables' thread may evict the table meanwhile. It clears the file's entry first. So if the
 * entry is unchanged after the rule was read, the rule is the file's; otherwise it is discarded.
 * Until then, numbers that were read may be those of another table, which does no harm.
 */
#include "daemon/tables/loaded_rule.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "daemon/base/map_window.h"

/* Reads `count` words of a map of words, from number `first` on. */
static int read_words(int fd, uint32_t first, uint32_t count, uint32_t *ret_words)
{
	struct map_window window;
	int err = map_window_open(fd, PROT_READ, first * sizeof(uint32_t), count * sizeof(uint32_t),
				  &window);

	if (err)
		return err;
	memcpy(ret_words, window.data, count * sizeof(uint32_t));
	map_window_close(&window);
	return 0;
}

/* Finds, in the rows from `first` up to `end` (at least one row), the number of the rule for a file
 * offset whose lowest 16 bits are `low`. 0 or the -errno of mmap(). */
static int find_row(const struct tables_maps *maps, uint32_t first, uint32_t end, uint16_t low,
		    uint16_t *ret_rule)
{
	struct map_window window;
	const struct stackd_row *rows;
	uint32_t from = 0, to = end - first;
	int err = map_window_open(maps->rows_fd, PROT_READ, first * sizeof(*rows),
				  to * sizeof(*rows), &window);

	if (err)
		return err;
	rows = window.data;
	while (to - from > 1) {
		uint32_t middle = from + (to - from) / 2;

		if (rows[middle].low <= low)
			from = middle;
		else
			to = middle;
	}
	*ret_rule = rows[from].rule;
	map_window_close(&window);
	return 0;
}

static bool is_within(const struct tables_maps *maps, const uint32_t *rows)
{
	return rows[0] < rows[1] && rows[1] <= maps->n_rows;
}

int loaded_rule_find(const struct tables_maps *maps, uint32_t number, uint64_t offset,
		     struct stackd_rule *ret_rule)
{
	const struct stackd_file *file = &maps->files[number];
	bool is_partial = __atomic_load_n(&file->is_partial, __ATOMIC_ACQUIRE);
	uint32_t n_chunks = __atomic_load_n(&file->n_chunks, __ATOMIC_ACQUIRE), rows[2];
	uint32_t base = file->chunk_base;
	uint64_t chunk = (offset >> STACKD_CHUNK_SHIFT) - file->first_chunk;
	uint16_t rule = STACKD_RULE_NONE;
	struct stackd_rule found;
	int err = 0;

	if (!n_chunks)
		return -ENOENT;
	if (chunk < n_chunks && base + chunk + 1 < maps->n_chunks) {
		err = read_words(maps->chunks_fd, base + (uint32_t)chunk, 2, rows);
		if (!err && is_within(maps, rows))
			err = find_row(maps, rows[0], rows[1], (uint16_t)offset, &rule);
	}
	if (err)
		return err;
	found = maps->rules[rule];
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (__atomic_load_n(&file->n_chunks, __ATOMIC_RELAXED) != n_chunks ||
	    file->chunk_base != base)
		return -ENOENT;
	if (rule == STACKD_RULE_NONE && is_partial)
		return -ENOENT; /* the whole table, which may have a rule, is not loaded yet */
	*ret_rule = found;
	return 0;
}
