/* SPDX-License-Identifier: MIT */
/*
 * Reads a file without waiting, for callers that an unresponsive file system must not block.
 *
 * ext4, XFS and Btrfs support RWF_NOWAIT: the kernel returns what is in the page cache, and starts
 * to read what is not. tmpfs and overlayfs do not support it; for these, mincore() first shows
 * whether the page is in the page cache. All other file systems are refused, since FUSE and NFS may
 * ask their server even for a page that is in the cache.
 */
#include <errno.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "elf/elf_file_state.h"

/* Returns whether the pages of a range are in the page cache, and the file system asks no
 * server. */
static bool is_at_hand(int fd, uint64_t offset, size_t len)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), start = offset & ~(page - 1);
	size_t bytes = (size_t)(offset + len - start);
	unsigned char there[2] = {0};
	struct statfs fs;
	void *at;
	bool is_there;

	if (bytes > 2 * page || fstatfs(fd, &fs) ||
	    (fs.f_type != TMPFS_MAGIC && fs.f_type != OVERLAYFS_SUPER_MAGIC))
		return false;
	at = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, (off_t)start);
	if (at == MAP_FAILED)
		return false;
	is_there = !mincore(at, bytes, there) && there[0] & 1 && (bytes <= page || there[1] & 1);
	munmap(at, bytes);
	return is_there;
}

bool elf_file_read_now(const struct elf_file *file, uint64_t offset, void *buf, size_t len)
{
	struct iovec to = {.iov_base = buf, .iov_len = len};
	ssize_t n;

	if (file->image)
		return elf_file_read_whole(file, offset, buf, len);
	if (file->fd < 0 || offset > file->size || len > file->size - offset)
		return false;
	n = preadv2(file->fd, &to, 1, (off_t)offset, RWF_NOWAIT);
	if (n < 0 && errno == EOPNOTSUPP && is_at_hand(file->fd, offset, len))
		n = pread(file->fd, buf, len, (off_t)offset);
	return n == (ssize_t)len;
}
