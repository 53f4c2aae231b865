/* SPDX-License-Identifier: MIT */
/* Reads /proc/PID/pagemap, then memory by process_vm_readv(); see resident_memory.h. */
#include "proc/resident_memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

#define MOST_PAGES 2
#define IS_PRESENT (UINT64_C(1) << 63)

static bool are_present(const char *proc, pid_t pid, uint64_t first, size_t count)
{
	uint64_t pages[MOST_PAGES] = {0};
	char path[256];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "%s/%d/pagemap", proc, (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	got = pread(fd, pages, count * sizeof(*pages), (off_t)(first * sizeof(*pages)));
	close(fd);
	return got == (ssize_t)(count * sizeof(*pages)) && pages[0] & IS_PRESENT &&
	       pages[count - 1] & IS_PRESENT;
}

bool resident_memory_read(const char *proc, pid_t pid, uint64_t address, void *buf, size_t len)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), first = address / page;
	const size_t count = len ? (size_t)((address + len - 1) / page - first + 1) : 0;
	const struct iovec to = {.iov_base = buf, .iov_len = len};
	const struct iovec from = {.iov_base = (void *)(uintptr_t)address, .iov_len = len};

	return count >= 1 && count <= MOST_PAGES && are_present(proc, pid, first, count) &&
	       process_vm_readv(pid, &to, 1, &from, 1, 0) == (ssize_t)len;
}
