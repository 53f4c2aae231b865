/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: an ELF file, given to everything that reads one: identity, address arithmetic, and
 * the search for call frame sections with their decompression. Files of an odd size are read from
 * memory, the others through a descriptor, as the daemon does.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "elf/elf_file.h"
#include "fuzz_table.h"

static int open_file(const uint8_t *data, size_t size, struct elf_file **ret_file)
{
	int fd, err;

	if (size % 2)
		return elf_file_open_memory(data, size, ret_file);
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	err = elf_file_open(fd, ret_file);
	close(fd);
	return err;
}

static void check_arithmetic(const struct elf_file *file, uint64_t vaddr)
{
	uint64_t offset, back;

	if (elf_file_vaddr_to_offset(file, vaddr, &offset))
		fuzz_check(elf_file_offset_to_vaddr(file, offset, &back));
	if (elf_file_offset_to_vaddr(file, vaddr, &back))
		fuzz_check(elf_file_vaddr_to_offset(file, back, &offset));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_file *file;
	struct recipe_table *table;
	uint8_t bytes[64];
	size_t len;

	if (open_file(data, size, &file))
		return -1;
	fuzz_check(elf_file_id(file) != 0);
	elf_file_build_id(file, &len);
	fuzz_check(len <= ELF_BUILD_ID_MAX);
	elf_file_is_position_independent(file);
	check_arithmetic(file, elf_file_entry_vaddr(file));
	for (unsigned shift = 0; shift < 64; shift++)
		check_arithmetic(file, UINT64_MAX >> shift);
	for (uint64_t at = 0; at < size; at += size / 8 + 1)
		fuzz_check(elf_file_read(file, at, bytes, sizeof(bytes)) > 0);
	fuzz_check(elf_file_read(file, size, bytes, sizeof(bytes)) == 0);
	if (!recipe_compile(file, &table)) {
		fuzz_check_table(table);
		recipe_table_free(table);
	}
	elf_file_free(file);
	return 0;
}
