/* SPDX-License-Identifier: MIT */
/*
 * Asks /proc/PID/pagemap which pages are in memory, and /proc/PID/maps for those that are not; see
 * process_memory.h. A page can still be dropped, or a mapping replaced, between the question and
 * the read; as for other reads of memory, that is accepted.
 */
#include "daemon/recorder/process_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/mount_kind.h"
#include "base/vec.h"
#include "proc/proc_fs.h"

#define PAGE_SHIFT  12
#define IS_PRESENT  (UINT64_C(1) << 63)
#define KNOWN	    256 /* pages that were found in memory */
#define MOST_FILES  65536
#define FILES_AGAIN UINT64_C(200000000) /* ns between two looks at the mappings */
#define MOST_LEN    4096

enum { NOT_ASKED, LOCAL, ELSEWHERE };

/* A mapping of a file. */
struct file_range {
	uint64_t start, end;
	uint8_t where;
};

struct process_memory {
	const char *proc;
	pid_t pid;
	int pagemap;
	uint64_t now_ns, files_ns; /* when the mappings were read */
	uint64_t left;		   /* reads */
	VEC(struct file_range) files;
	uint64_t known[KNOWN]; /* page numbers; 0: none */
};

int process_memory_new(const char *proc, pid_t pid, struct process_memory **ret_memory)
{
	struct process_memory *m = calloc(1, sizeof(*m));
	char path[256];

	if (!m)
		return -ENOMEM;
	m->proc = proc;
	m->pid = pid;
	m->left = PROCESS_MEMORY_BURST;
	snprintf(path, sizeof(path), "%s/%d/pagemap", proc, (int)pid);
	m->pagemap = open(path, O_RDONLY | O_CLOEXEC);
	if (m->pagemap < 0) {
		int err = -errno;

		free(m);
		return err;
	}
	*ret_memory = m;
	return 0;
}

void process_memory_free(struct process_memory *m)
{
	if (!m)
		return;
	close(m->pagemap);
	free(m->files.items);
	free(m);
}

void process_memory_begin(struct process_memory *m, uint64_t now_ns)
{
	uint64_t since = m->now_ns && now_ns > m->now_ns ? now_ns - m->now_ns : 0;
	uint64_t more = since / (UINT64_C(1000000000) / PROCESS_MEMORY_RATE);

	if (!m->now_ns || more)
		m->now_ns = now_ns;
	m->left = more < PROCESS_MEMORY_BURST - m->left ? m->left + more : PROCESS_MEMORY_BURST;
	memset(m->known, 0, sizeof(m->known));
}

/* --- files ------------------------------------------------------------------------------------ */

static int add_file(void *arg, const struct proc_fs_map *map)
{
	struct process_memory *m = arg;

	if (!map->inode)
		return 0;
	if (m->files.count >= MOST_FILES)
		return -E2BIG;
	if (VEC_RESERVE(&m->files, 1))
		return -ENOMEM;
	m->files.items[m->files.count++] = (struct file_range){map->start, map->end, NOT_ASKED};
	return 0;
}

static struct file_range *find_file(struct process_memory *m, uint64_t address)
{
	size_t low = 0, high = m->files.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		struct file_range *f = &m->files.items[middle];

		if (address < f->start)
			high = middle;
		else if (address >= f->end)
			low = middle + 1;
		else
			return f;
	}
	return NULL;
}

static uint8_t ask_where(const struct process_memory *m, const struct file_range *f)
{
	int fd = proc_fs_map_file(m->proc, m->pid, f->start, f->end);
	enum mount_kind kind;

	if (fd < 0)
		return ELSEWHERE;
	kind = mount_kind_of(NULL, fd, m->proc, m->pid);
	close(fd);
	return kind == MOUNT_LOCAL || kind == MOUNT_LAYERED ? LOCAL : ELSEWHERE;
}

/* Returns whether a page that is not in memory is that of a local file. */
static bool is_local(struct process_memory *m, uint64_t address)
{
	struct file_range *f = find_file(m, address);

	if (!f && (!m->files_ns || m->now_ns - m->files_ns > FILES_AGAIN)) {
		m->files_ns = m->now_ns;
		m->files.count = 0;
		if (proc_fs_each_map(m->proc, m->pid, add_file, m))
			m->files.count = 0;
		f = find_file(m, address);
	}
	if (f && f->where == NOT_ASKED)
		f->where = ask_where(m, f);
	return f && f->where == LOCAL;
}

/* --- pages ------------------------------------------------------------------------------------ */

static bool is_readable(struct process_memory *m, uint64_t page)
{
	uint64_t *known = &m->known[page % KNOWN], entry = 0;

	if (page && *known == page)
		return true;
	if (pread(m->pagemap, &entry, sizeof(entry), (off_t)(page * sizeof(entry))) !=
	    sizeof(entry))
		return false;
	if (!(entry & IS_PRESENT) && !is_local(m, page << PAGE_SHIFT))
		return false;
	*known = page;
	return true;
}

bool process_memory_is_spent(const struct process_memory *m)
{
	return !m->left;
}

bool process_memory_read(void *memory, uint64_t address, void *buf, size_t len)
{
	struct process_memory *m = memory;
	const struct iovec to = {buf, len}, from = {(void *)(uintptr_t)address, len};
	uint64_t last = address + len - 1;

	if (!len || len > MOST_LEN || last < address || last >> 47 || !m->left)
		return !len;
	m->left--;
	for (uint64_t page = address >> PAGE_SHIFT; page <= last >> PAGE_SHIFT; page++) {
		if (!is_readable(m, page))
			return false;
	}
	return process_vm_readv(m->pid, &to, 1, &from, 1, 0) == (ssize_t)len;
}
