/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: what stackd reads of a worker that a file may have subverted.
 *
 *   input := u8 kind, then a recipe table, an identity, or lines of a location
 *
 * Beyond memory errors, it checks that a table that was taken names nothing that it does not have.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/worker/name_wire.h"
#include "elf/elf_file.h"
#include "unwind/recipe_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_check(bool holds)
{
	if (!holds)
		abort();
}

static void look_at(const struct recipe_table *t)
{
	size_t n_rows, n_rules, n_chunks;
	const struct stackd_row *rows;
	const uint32_t *chunks;
	uint32_t first;

	rows = recipe_table_rows(t, &n_rows);
	chunks = recipe_table_chunks(t, &first, &n_chunks);
	recipe_table_rules(t, &n_rules);
	for (size_t i = 0; i < n_rows; i++)
		fuzz_check(rows[i].rule < n_rules);
	for (size_t i = 0; i < n_chunks; i++)
		fuzz_check(chunks[i] < chunks[i + 1] && chunks[i + 1] <= n_rows);
	for (uint64_t at = 0; at < (uint64_t)(first + n_chunks) << STACKD_CHUNK_SHIFT; at += 4099)
		recipe_lookup(t, at);
}

/* A table is read twice: its rows are copied, and then left where they are. */
static void table(struct buf_reader *r)
{
	struct buf bytes = {0};
	struct recipe_table *copied = NULL, *kept = NULL;
	int err;

	buf_put(&bytes, r->at, buf_left(r));
	fuzz_check(!bytes.failed);
	err = recipe_wire_get(r, &copied);
	fuzz_check(recipe_wire_take(&bytes, &kept) == err);
	if (!err) {
		look_at(copied);
		look_at(kept);
	}
	recipe_table_free(copied);
	recipe_table_free(kept);
	buf_free(&bytes);
}

static void identity(struct buf_reader *r)
{
	static int fd = -1;
	struct elf_file *file;
	uint64_t vaddr;

	if (fd < 0)
		fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (elf_file_of_identity(fd, r, &file))
		return;
	fuzz_check(elf_file_id(file));
	elf_file_offset_to_vaddr(file, 4096, &vaddr);
	elf_file_free(file);
}

static int take_line(void *arg, const struct store_line *line)
{
	unsigned *lines = arg;

	fuzz_check(line->depth == (*lines)++);
	fuzz_check(!line->function || strlen(line->function) < NAME_WIRE_MAX_BYTES);
	fuzz_check(!line->file || strlen(line->file) < NAME_WIRE_MAX_BYTES);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf_reader r = buf_reader(data, size);
	unsigned lines = 0;

	switch (buf_get_u8(&r) % 3) {
	case 0:
		table(&r);
		break;
	case 1:
		identity(&r);
		break;
	default:
		name_wire_get(&r, 1, take_line, &lines);
		break;
	}
	return 0;
}
