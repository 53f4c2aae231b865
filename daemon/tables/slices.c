/* SPDX-License-Identifier: MIT */
/* Keeps a list that only grows; see slices.h. */
#include "daemon/tables/slices.h"

void slices_give(struct slices *s, struct stackd_file *file, uint32_t number, uint32_t first_chunk,
		 size_t n_chunks)
{
	uint64_t end = ((uint64_t)first_chunk + n_chunks) << STACKD_CHUNK_SHIFT;
	uint32_t need = (uint32_t)((end + (1u << STACKD_SLICE_SHIFT) - 1) >> STACKD_SLICE_SHIFT);
	uint32_t first = s->count;

	if (file->n_slices || need > STACKD_SLICE_COUNT - first)
		return;
	for (uint32_t i = 0; i < need; i++)
		s->items[first + i] = (struct slices_entry){
			.file = number,
			.offset = (uint64_t)i << STACKD_SLICE_SHIFT,
		};
	__atomic_store_n(&s->count, first + need, __ATOMIC_RELEASE);
	file->first_slice = (uint16_t)first;
	__atomic_store_n(&file->n_slices, (uint16_t)need, __ATOMIC_RELEASE);
}

bool slices_find(const struct slices *s, uint32_t slice, uint32_t *ret_file, uint64_t *ret_offset)
{
	if (slice >= __atomic_load_n(&s->count, __ATOMIC_ACQUIRE))
		return false;
	*ret_file = s->items[slice].file;
	*ret_offset = s->items[slice].offset;
	return true;
}
