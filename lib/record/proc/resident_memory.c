/* SPDX-License-Identifier: MIT */
/* Reads /proc/PID/pagemap, then the pages that are in memory; see resident_memory.h. */
#include "proc/resident_memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define MOST_PAGES 64
#define IS_PRESENT (UINT64_C(1) << 63)
#define IS_FILES   (UINT64_C(1) << 61) /* or of shared memory */

/* What is read of a process. */
struct source {
	const struct memory_source *from;
	int pagemap;
	pid_t pid;
	uint64_t looks_at; /* bits of pagemap, of which IS_PRESENT alone is to be set */
};

static int open_pagemap(const char *proc, pid_t pid)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%d/pagemap", proc, (int)pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Returns how many of `count` pages from `first` on, MOST_PAGES at most, may be read, up to the
 * first that may not. */
static size_t count_readable(const struct source *s, uint64_t first, size_t count)
{
	uint64_t pages[MOST_PAGES];
	ssize_t got =
		pread(s->pagemap, pages, count * sizeof(*pages), (off_t)(first * sizeof(*pages)));
	size_t n = 0;

	while (got >= 0 && n < (size_t)got / sizeof(*pages) &&
	       (pages[n] & s->looks_at) == IS_PRESENT)
		n++;
	return n;
}

bool resident_memory_page(const struct memory_source *from, pid_t pid, uint64_t address,
			  uint8_t bytes[MEMORY_PAGE])
{
	const struct iovec to = {.iov_base = bytes, .iov_len = MEMORY_PAGE};
	const struct iovec there = {.iov_base = (void *)(uintptr_t)address, .iov_len = MEMORY_PAGE};

	if (from->read_page)
		return from->read_page(from->arg, pid, address, bytes);
	return process_vm_readv(pid, &to, 1, &there, 1, 0) == MEMORY_PAGE;
}

/* Reads page by page, for as long as pages are in memory. Returns how many bytes. */
static size_t read_pages(const struct source *s, uint64_t address, uint8_t *buf, size_t len)
{
	uint8_t page[MEMORY_PAGE];
	size_t done = 0;

	while (done < len) {
		const size_t in = (address + done) % MEMORY_PAGE;
		const size_t n = MEMORY_PAGE - in < len - done ? MEMORY_PAGE - in : len - done;

		if (!s->from->read_page(s->from->arg, s->pid, address + done - in, page))
			break;
		memcpy(buf + done, page + in, n);
		done += n;
	}
	return done;
}

static size_t read_by_system_call(const struct source *s, uint64_t address, void *buf, size_t len)
{
	const struct iovec to = {.iov_base = buf, .iov_len = len};
	const struct iovec from = {.iov_base = (void *)(uintptr_t)address, .iov_len = len};
	const ssize_t got = len ? process_vm_readv(s->pid, &to, 1, &from, 1, 0) : 0;

	return got > 0 ? (size_t)got : 0;
}

/* Reads up to the first page that may not be read, MOST_PAGES at most. */
static size_t read_piece(const struct source *s, uint64_t address, void *buf, size_t len)
{
	const uint64_t page = MEMORY_PAGE, first = address / page;
	const uint64_t last = (address + len - 1) / page;
	const size_t count = last - first < MOST_PAGES ? (size_t)(last - first + 1) : MOST_PAGES;
	const uint64_t end = (first + count_readable(s, first, count)) * page;
	const size_t size = end <= address	  ? 0
			    : end - address < len ? (size_t)(end - address)
						  : len;

	return s->from->read_page ? read_pages(s, address, buf, size)
				  : read_by_system_call(s, address, buf, size);
}

static size_t read_some(const struct memory_source *from, pid_t pid, uint64_t looks_at,
			uint64_t address, void *buf, size_t len)
{
	const int pagemap = len && address + len > address ? open_pagemap(from->proc, pid) : -1;
	const struct source s = {from, pagemap, pid, looks_at};
	size_t done = 0, got = 1;

	while (pagemap >= 0 && got && done < len) {
		got = read_piece(&s, address + done, (uint8_t *)buf + done, len - done);
		done += got;
	}
	if (pagemap >= 0)
		close(pagemap);
	return done;
}

size_t resident_memory_read_some(const struct memory_source *from, pid_t pid, uint64_t address,
				 void *buf, size_t len)
{
	return read_some(from, pid, IS_PRESENT, address, buf, len);
}

size_t resident_memory_read_own_some(const struct memory_source *from, pid_t pid, uint64_t address,
				     void *buf, size_t len)
{
	return read_some(from, pid, IS_PRESENT | IS_FILES, address, buf, len);
}

bool resident_memory_read(const struct memory_source *from, pid_t pid, uint64_t address, void *buf,
			  size_t len)
{
	return len && resident_memory_read_some(from, pid, address, buf, len) == len;
}
