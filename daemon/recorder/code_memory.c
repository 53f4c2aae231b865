/* SPDX-License-Identifier: MIT */
/*
 * Reads up to the first page that cannot be read; see code_memory.h.
 *
 * It reads only memory without a file, because a page of a file may be on a file system that the
 * process itself serves (FUSE) and that never answers. The kernel does not tell of a file that is
 * mapped there later, but not as code. So only pages that are in memory, and no file's, are read;
 * of shared memory, into which some runtimes write code by a second mapping, those in memory, if
 * the kernel still says that it has this mapping, and that it is shared memory.
 *
 * The mappings are those of the last event that was applied, but the memory is read as it is now,
 * when the pid may belong to another process. If that process has JIT code at the address, its code
 * is read instead, so callers must not trust what they get.
 */
#include "daemon/recorder/code_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/mount_kind.h"
#include "daemon/recorder/locator.h"
#include "proc/proc_fs.h"

#define PAGE_BYTES UINT64_C(4096)

/* Returns whether a process has shared memory at an address. All of it that no folder has, such as
 * memfds, lies on one mount of the kernel's. */
static bool is_shared(void *locator, pid_t pid, uint64_t address)
{
	const struct mapping *m = locator_mapping(locator, pid, address);
	struct stat there, own;
	bool is_same;
	int fd;

	if (!m || proc_fs_stat_map_file("/proc", pid, m->start, m->end, &there))
		return false;
	fd = memfd_create("stackd-own", MFD_CLOEXEC);
	if (fd < 0)
		return false;
	is_same = mount_stat(fd, &own) == 0 && own.st_dev == there.st_dev;
	close(fd);
	return is_same;
}

static size_t read_at(void *locator, pid_t pid, uint64_t address, uint8_t *bytes, size_t len)
{
	size_t got =
		resident_memory_read_own_some(locator_memory(locator), pid, address, bytes, len);

	return !got && is_shared(locator, pid, address)
		       ? resident_memory_read_some(locator_memory(locator), pid, address, bytes,
						   len)
		       : got;
}

/* Returns how many of the `before` bytes below an address can be read, page by page downwards. */
static uint64_t readable_before(void *locator, pid_t pid, uint64_t address, uint64_t before)
{
	uint64_t len = 0, page = address % PAGE_BYTES ? address % PAGE_BYTES : PAGE_BYTES;
	uint8_t byte;

	while (len < before && read_at(locator, pid, address - len - 1, &byte, 1)) {
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
	got = read_at(locator, pid, address - before, bytes, before + after);
	if (got <= before) {
		before = readable_before(locator, pid, address, before);
		got = read_at(locator, pid, address - before, bytes, before + after);
	}
	*ret_start = address - before;
	return got > before ? got : 0;
}

uint64_t code_memory_start(void *locator, pid_t pid, uint64_t address)
{
	const struct mapping *m = locator_mapping(locator, pid, address);

	return m ? m->start : 0;
}

bool code_memory_read_page(void *locator, pid_t pid, uint64_t start, uint8_t *bytes)
{
	return read_at(locator, pid, start, bytes, PAGE_BYTES) == PAGE_BYTES;
}
