/* SPDX-License-Identifier: MIT */
/*
 * Compares some bytes around an address; see data_code.h. All of them lie in the page that holds
 * the address, which is in memory if the process is still using it. To read another page, stackd
 * might have to wait for a file system.
 */
#include "daemon/recorder/data_code.h"

#include <string.h>

#define PAGE_BYTES   UINT64_C(4096)
#define BYTES_BEFORE UINT64_C(256)
#define BYTES_BEHIND UINT64_C(32)

bool data_code_has_changed(const struct memory_source *from, const struct object *object,
			   uint64_t offset, pid_t pid, uint64_t address)
{
	uint8_t file[BYTES_BEFORE + BYTES_BEHIND], memory[sizeof(file)];
	uint64_t in_page = address % PAGE_BYTES, before = BYTES_BEFORE, behind = BYTES_BEHIND;
	int64_t got;

	if (object->kind != OBJECT_ELF || !object->elf || !elf_file_is_data(object->elf, offset))
		return false;
	before = before < in_page ? before : in_page;
	before = before < offset ? before : offset;
	behind = behind < PAGE_BYTES - in_page ? behind : PAGE_BYTES - in_page;
	got = elf_file_read(object->elf, offset - before, file, before + behind);
	if (got <= (int64_t)before)
		return false;
	return resident_memory_read(from, pid, address - before, memory, (size_t)got) &&
	       memcmp(file, memory, (size_t)got);
}
