/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: call frame sections into recipes.
 *
 *   input := u64 section vaddr, u64 segment vaddr, offset, size     little-endian
 *            u8 flags: 1 .eh_frame, 2 split in two sections         the second is of the other kind
 *            the section's bytes
 *
 * Beyond memory errors, it checks what a table promises: sorted rows in sound chunks, and look-ups
 * that find what the rows say.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_table.h"

#define HEADER_BYTES 33

static uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct recipe_load segment;
	struct cfi_section sections[2];
	struct recipe_table *table;
	size_t first;
	uint8_t flags, *copy[2];

	if (size < HEADER_BYTES)
		return -1;
	segment = (struct recipe_load){get64(data + 8), get64(data + 16), get64(data + 24)};
	flags = data[32];
	size -= HEADER_BYTES;
	first = flags & 2 ? size / 2 : size;
	for (int i = 0; i < 2; i++) {
		size_t len = i ? size - first : first;

		/* Memory of exactly this size, so that a byte too many is seen. */
		copy[i] = malloc(len);
		if (len)
			memcpy(copy[i], data + HEADER_BYTES + (i ? first : 0), len);
		sections[i] = (struct cfi_section){
			.data = copy[i],
			.size = len,
			.vaddr = get64(data),
			.is_eh_frame = (flags & 1) != i,
		};
	}
	if (!recipe_section_compile(sections, 2, &segment, 1, &table)) {
		fuzz_check_table(table);
		recipe_table_free(table);
	}
	free(copy[0]);
	free(copy[1]);
	return 0;
}
