/* SPDX-License-Identifier: MIT */
/*
 * Reads /proc/PID/maps for the kinds of mappings, and asks /proc/PID/pagemap which pages are in
 * memory; see process_memory.h.
 *
 * The list of mappings can be MAPS_NEW old, and meanwhile a process can put another file in the
 * place of what is listed. So only pages that are in memory and no file's are read from a process;
 * nothing has to be fetched for them. What a mapping of a file has in all its other pages is in the
 * file, and is read there: from the very file whose mount was found to be local. Such are files in
 * memory, too (memfd_create()), in which some runtimes keep the code that they make.
 *
 * A process that starts maps memory all the time. Where pagemap has a page that the list does not
 * have, or has as another kind, the list is old, and is read anew, though not for more than a
 * twentieth of the time.
 *
 * Between the look at pagemap and the read, which are microseconds apart, a process can still put
 * a file there. The kernel half, which reads the page, does not wait for it (memory_source).
 */
#include "daemon/recorder/process_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mount_kind.h"
#include "base/named_file.h"
#include "base/vec.h"
#include "proc/proc_fs.h"
#include "proc/resident_memory.h"

#define PAGE_SHIFT  12
#define IS_PRESENT  (UINT64_C(1) << 63)
#define IS_SWAPPED  (UINT64_C(1) << 62)
#define IS_FILES    (UINT64_C(1) << 61) /* or of shared memory */
#define PAGE	    4096
#define KEPT	    1024 /* pages, of all processes */
#define MOST_RANGES 65536
#define MOST_FILES  16 /* that are open, of a process */
#define MAPS_AGAIN                                                                                 \
	UINT64_C(200000000)		/* ns before an address in no mapping is looked for again  \
					 */
#define MAPS_NEW   UINT64_C(1000000000) /* ns for which mappings are believed */
#define MAPS_SHARE 20 /* times what a read of them takes is between two at least */
#define MOST_LEN   4096

enum kind { ANONYMOUS, FILE_NOT_ASKED, FILE_LOCAL, FORBIDDEN };

/* A mapping, or neighbours without a file. Shared memory without a file is FORBIDDEN. */
struct range {
	uint64_t start, end, offset;
	enum kind kind;
	int fd; /* FILE_LOCAL: of the file */
};

/* A page of a process as it was read. */
struct process_page {
	uint64_t owner; /* id of its struct process_memory; 0: the slot is free */
	uint64_t number;
	uint64_t serial; /* of the owner when it was read */
	bool is_bad;	 /* it cannot be read */
	uint8_t bytes[PAGE];
};

struct process_memory {
	const char *proc;
	pid_t pid;
	uint64_t id;	   /* no other one has had it */
	uint64_t serial;   /* rises with each renewal */
	uint64_t from;	   /* pages of a lower serial are read anew */
	uint64_t since_ns; /* pages of the present time are of this time or later */
	int pagemap;
	struct process_reads *reads;
	uint64_t now_ns, maps_ns; /* when the mappings were read */
	uint64_t maps_took_ns;
	uint64_t left;	 /* reads */
	uint64_t failed; /* reads */
	bool has_ranges;
	VEC(struct range) ranges;
	unsigned n_open; /* files of ranges */
};

int process_memory_new(const char *proc, pid_t pid, struct process_reads *reads,
		       struct process_memory **ret_memory)
{
	struct process_memory *m = calloc(1, sizeof(*m));
	char path[256];

	if (!m)
		return -ENOMEM;
	m->proc = proc;
	m->pid = pid;
	m->reads = reads;
	m->id = ++reads->last_id;
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

/* Closes the files of all mappings, which are opened again when they are needed. */
static void close_files(struct process_memory *m)
{
	for (size_t i = 0; i < m->ranges.count && m->n_open; i++) {
		struct range *r = &m->ranges.items[i];

		if (r->kind != FILE_LOCAL)
			continue;
		close(r->fd);
		r->kind = FILE_NOT_ASKED;
		m->n_open--;
	}
}

void process_memory_free(struct process_memory *m)
{
	if (!m)
		return;
	close_files(m);
	close(m->pagemap);
	free(m->ranges.items);
	free(m);
}

/* Returns how many reads the time since *then_ns allows, and sets it to now if there are any. */
static uint64_t allowed_since(uint64_t *then_ns, uint64_t now_ns, uint64_t rate)
{
	uint64_t since = *then_ns && now_ns > *then_ns ? now_ns - *then_ns : 0;
	uint64_t more = since / (UINT64_C(1000000000) / rate);

	if (!*then_ns || more)
		*then_ns = now_ns;
	return more;
}

uint64_t process_memory_begin(struct process_memory *m, uint64_t now_ns, uint64_t sample_ns)
{
	uint64_t more = allowed_since(&m->now_ns, now_ns, PROCESS_MEMORY_RATE);
	struct process_reads *reads = m->reads;

	m->left = more < PROCESS_MEMORY_BURST - m->left ? m->left + more : PROCESS_MEMORY_BURST;
	more = allowed_since(&reads->now_ns, now_ns, PROCESS_READS_RATE);
	reads->taken -= more < reads->taken ? more : reads->taken;
	if (!m->since_ns || sample_ns >= m->since_ns) {
		m->from = ++m->serial;
		m->since_ns = now_ns;
	}
	return m->since_ns;
}

uint64_t process_memory_renew(struct process_memory *m)
{
	uint64_t before = m->from;

	m->from = ++m->serial;
	return before;
}

void process_memory_settle(struct process_memory *m, uint64_t renewed)
{
	m->from = renewed;
}

void process_reads_fini(struct process_reads *reads)
{
	free(reads->pages);
	reads->pages = NULL;
}

/* --- mappings --------------------------------------------------------------------------------- */

static int add_range(void *arg, const struct proc_fs_map *map)
{
	struct process_memory *m = arg;
	struct range *last = m->ranges.count ? &m->ranges.items[m->ranges.count - 1] : NULL;
	enum kind kind = map->inode ? FILE_NOT_ASKED : map->shared ? FORBIDDEN : ANONYMOUS;

	if (last && kind != FILE_NOT_ASKED && last->kind == kind && last->end == map->start) {
		last->end = map->end;
		return 0;
	}
	if (m->ranges.count >= MOST_RANGES)
		return -E2BIG;
	if (VEC_RESERVE(&m->ranges, 1))
		return -ENOMEM;
	m->ranges.items[m->ranges.count++] =
		(struct range){map->start, map->end, map->offset, kind, -1};
	return 0;
}

static struct range *find_range(struct process_memory *m, uint64_t address)
{
	size_t low = 0, high = m->ranges.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		struct range *r = &m->ranges.items[middle];

		if (address < r->start)
			high = middle;
		else if (address >= r->end)
			low = middle + 1;
		else
			return r;
	}
	return NULL;
}

/* Opens a mapped file: FILE_LOCAL; FORBIDDEN: it is not a regular one on a local mount. */
static void open_file(struct process_memory *m, struct range *r)
{
	int fd = proc_fs_map_file(m->proc, m->pid, r->start, r->end);
	enum mount_kind kind;

	r->kind = FORBIDDEN;
	if (fd < 0)
		return;
	if (m->n_open >= MOST_FILES)
		close_files(m);
	kind = mount_kind_of(m->reads->mounts, fd, m->proc, m->pid);
	r->fd = kind == MOUNT_LOCAL || kind == MOUNT_LAYERED ? named_file_reopen(fd) : -EREMOTE;
	close(fd);
	if (r->fd < 0)
		return;
	r->kind = FILE_LOCAL;
	m->n_open++;
}

static void read_ranges(struct process_memory *m)
{
	const uint64_t begun_ns = clock_ns(CLOCK_MONOTONIC);

	m->has_ranges = true;
	m->maps_ns = m->now_ns;
	close_files(m);
	m->ranges.count = 0;
	if (proc_fs_each_map(m->proc, m->pid, add_range, m))
		m->ranges.count = 0;
	m->maps_took_ns = clock_ns(CLOCK_MONOTONIC) - begun_ns;
}

/* Returns the mapping with an address, with its file open; NULL: there is none. */
static const struct range *range_of(struct process_memory *m, uint64_t address)
{
	struct range *r = find_range(m, address);

	if (!m->has_ranges || m->now_ns - m->maps_ns > (r ? MAPS_NEW : MAPS_AGAIN)) {
		read_ranges(m);
		r = find_range(m, address);
	}
	if (r && r->kind == FILE_NOT_ASKED)
		open_file(m, r);
	return r;
}

/* --- pages ------------------------------------------------------------------------------------ */

/* Reads what the file has where a page is mapped; behind the file's end are zeros. */
static bool read_file(const struct range *r, uint64_t page, uint8_t bytes[PAGE])
{
	const uint64_t offset = r->offset + ((page << PAGE_SHIFT) - r->start);
	ssize_t got = pread(r->fd, bytes, PAGE, (off_t)offset);

	if (got <= 0)
		return false;
	memset(bytes + got, 0, PAGE - (size_t)got);
	return true;
}

static const struct memory_source by_system_call = {.proc = "/proc"};

static bool read_entry(const struct process_memory *m, uint64_t page, uint64_t *ret_entry)
{
	return pread(m->pagemap, ret_entry, sizeof(*ret_entry),
		     (off_t)(page * sizeof(*ret_entry))) == sizeof(*ret_entry);
}

/* Returns whether a page in memory shows that the mappings that are known are old, and they may be
 * read again so soon. */
static bool is_outdated(const struct process_memory *m, const struct range *r, uint64_t entry)
{
	return entry & IS_PRESENT && (!r || (r->kind == ANONYMOUS && entry & IS_FILES)) &&
	       m->now_ns - m->maps_ns > MAPS_SHARE * m->maps_took_ns;
}

static bool read_page(struct process_memory *m, uint64_t page, uint8_t bytes[PAGE])
{
	const struct range *r = range_of(m, page << PAGE_SHIFT);
	uint64_t entry;

	if (!read_entry(m, page, &entry))
		return false;
	if (is_outdated(m, r, entry)) {
		read_ranges(m);
		r = range_of(m, page << PAGE_SHIFT);
		if (!read_entry(m, page, &entry))
			return false;
	}
	if (!r || r->kind == FORBIDDEN)
		return false;
	if ((entry & (IS_PRESENT | IS_FILES)) == IS_PRESENT)
		return resident_memory_page(m->reads->memory ? m->reads->memory : &by_system_call,
					    m->pid, page << PAGE_SHIFT, bytes);
	return r->kind == FILE_LOCAL && !(entry & IS_SWAPPED) && read_file(r, page, bytes);
}

bool process_memory_is_spent(const struct process_memory *m)
{
	return !m->left || m->reads->taken >= PROCESS_READS_BURST;
}

uint64_t process_memory_failed(const struct process_memory *m)
{
	return m->failed;
}

/* Reads a page to its slot. */
static void load_page(struct process_memory *m, uint64_t number, struct process_page *page)
{
	m->left--;
	m->reads->taken++;
	page->owner = m->id;
	page->number = number;
	page->serial = m->serial;
	page->is_bad = !read_page(m, number, page->bytes);
}

/* Returns a page's bytes; NULL: it cannot be read. */
static const uint8_t *page_of(struct process_memory *m, uint64_t number)
{
	struct process_page *page;

	if (!m->reads->pages)
		m->reads->pages = calloc(KEPT, sizeof(*m->reads->pages));
	if (!m->reads->pages)
		return NULL;
	page = &m->reads->pages[hash_mix64(number ^ m->id << 52) % KEPT];
	if (page->owner != m->id || page->number != number || page->serial < m->from) {
		if (process_memory_is_spent(m))
			return NULL;
		load_page(m, number, page);
	}
	return page->is_bad ? NULL : page->bytes;
}

static bool read_pages(struct process_memory *m, uint64_t address, uint8_t *buf, size_t len)
{
	if (len > MOST_LEN || address + len < address || (address + len) >> 47)
		return !len;
	for (size_t done = 0, n; done < len; done += n) {
		uint64_t at = address + done;
		const uint8_t *bytes = page_of(m, at >> PAGE_SHIFT);

		if (!bytes)
			return false;
		n = PAGE - at % PAGE < len - done ? (size_t)(PAGE - at % PAGE) : len - done;
		memcpy(buf + done, bytes + at % PAGE, n);
	}
	return true;
}

bool process_memory_read(void *memory, uint64_t address, void *buf, size_t len)
{
	struct process_memory *m = memory;
	bool is_read = read_pages(m, address, buf, len);

	m->failed += !is_read;
	return is_read;
}

int process_memory_has(void *memory, uint64_t address)
{
	struct process_memory *m = memory;

	if (address >> 47)
		return 0;
	if (page_of(m, address >> PAGE_SHIFT))
		return 1;
	if (!process_memory_is_spent(m))
		return 0;
	m->failed++;
	return -EAGAIN;
}
