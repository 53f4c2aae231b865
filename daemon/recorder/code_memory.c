/* SPDX-License-Identifier: MIT */
/*
 * Reads up to the first page that cannot be read; see code_memory.h.
 *
 * It reads only memory without a file, because a page of a file may be on a file system that the
 * process itself serves (FUSE) and that never answers. The kernel does not tell of a file that is
 * mapped there later, but not as code. So only pages that are in memory are read.
 *
 * The mappings are those of the last event that was applied, but the memory is read as it is now,
 * when the pid may belong to another process. If that process has JIT code at the address, its code
 * is read instead, so callers must not trust what they get.
 */
#include "daemon/recorder/code_memory.h"

#include "daemon/recorder/locator.h"
#include "proc/resident_memory.h"

#define PAGE_BYTES UINT64_C(4096)

static size_t read_at(pid_t pid, uint64_t address, uint8_t *bytes, size_t len)
{
	return resident_memory_read_some("/proc", pid, address, bytes, len);
}

/* Returns how many of the `before` bytes below an address can be read, page by page downwards. */
static uint64_t readable_before(pid_t pid, uint64_t address, uint64_t before)
{
	uint64_t len = 0, page = address % PAGE_BYTES ? address % PAGE_BYTES : PAGE_BYTES;
	uint8_t byte;

	while (len < before && read_at(pid, address - len - 1, &byte, 1)) {
		len = page < before ? page : before;
		page += PAGE_BYTES;
	}
	return len;
}

size_t code_memory_read(void *locator, pid_t pid, uint64_t address, uint64_t before, uint64_t after,
			uint8_t *bytes, uint64_t *ret_start)
{
	const struct mapping *m = locator_mapping(locator, pid, address);
	size_t got;

	if (!m || (m->object->kind != OBJECT_JIT && !m->is_copy))
		return 0;
	if (before > address - m->start)
		before = address - m->start;
	if (after > m->end - address)
		after = m->end - address;
	got = read_at(pid, address - before, bytes, before + after);
	if (got <= before) {
		before = readable_before(pid, address, before);
		got = read_at(pid, address - before, bytes, before + after);
	}
	*ret_start = address - before;
	return got > before ? got : 0;
}

uint64_t code_memory_start(void *locator, pid_t pid, uint64_t address)
{
	const struct mapping *m = locator_mapping(locator, pid, address);

	return m ? m->start : 0;
}

bool code_memory_read_page(pid_t pid, uint64_t start, uint8_t *bytes)
{
	return read_at(pid, start, bytes, PAGE_BYTES) == PAGE_BYTES;
}
