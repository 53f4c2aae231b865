/* SPDX-License-Identifier: MIT */
/*
 * Keeps pages in a table of sets, whose number is a hash of process and address, like a cache's;
 * see code_pages.h. A set can hold several versions of a page whose code was rewritten.
 */
#include "daemon/recorder/code_pages.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define PAGE_BYTES UINT64_C(4096)

#define WAYS 4

struct page {
	pid_t pid; /* 0: there is none */
	uint64_t start;
	uint64_t used;	/* time of the last use, counted in records */
	uint8_t *bytes; /* owned */
};

struct code_pages {
	code_pages_read_fn *read;
	void *arg;
	code_pages_read_page_fn *read_page;
	uint64_t records;
	struct page pages[CODE_PAGES_MOST];
};

int code_pages_new(code_pages_read_fn *read, void *arg, code_pages_read_page_fn *read_page,
		   struct code_pages **ret_pages)
{
	struct code_pages *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->read = read;
	c->arg = arg;
	c->read_page = read_page;
	*ret_pages = c;
	return 0;
}

void code_pages_free(struct code_pages *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < CODE_PAGES_MOST; i++)
		free(c->pages[i].bytes);
	free(c);
}

static struct page *set_of(struct code_pages *c, pid_t pid, uint64_t start)
{
	uint64_t hash = hash_mix64(start ^ (uint64_t)pid << 44);

	return &c->pages[hash % (CODE_PAGES_MOST / WAYS) * WAYS];
}

/* Returns whether a mark (hashes of the code blocks around an address) has the hash of any block
 * that lies in the page at `start`. */
static bool is_of_page(const struct stackd_code_mark *mark, uint64_t start)
{
	uint64_t from = mark->address / STACKD_CODE_BLOCK - STACKD_CODE_BEFORE;

	for (unsigned i = 0; i < STACKD_CODE_BLOCKS; i++) {
		if (mark->hashes[i] && (from + i) * STACKD_CODE_BLOCK - start < PAGE_BYTES)
			return true;
	}
	return false;
}

/* Returns whether those blocks of a mark that lie in a page have the same hashes in the page. */
static bool has_blocks(const struct page *p, const struct stackd_code_mark *mark)
{
	uint64_t from = mark->address / STACKD_CODE_BLOCK - STACKD_CODE_BEFORE;
	__u64 words[STACKD_CODE_BLOCK / 8];

	for (unsigned i = 0; i < STACKD_CODE_BLOCKS; i++) {
		uint64_t at = (from + i) * STACKD_CODE_BLOCK - p->start;

		if (!mark->hashes[i] || at >= PAGE_BYTES)
			continue;
		memcpy(words, p->bytes + at, sizeof(words));
		if (stackd_code_hash(words) != mark->hashes[i])
			return false;
	}
	return true;
}

/* Returns the kept version of a page whose blocks have the hashes of the mark, or NULL. */
static struct page *find(struct code_pages *c, pid_t pid, uint64_t start,
			 const struct stackd_code_mark *mark)
{
	struct page *set = set_of(c, pid, start);

	for (size_t i = 0; i < WAYS; i++) {
		if (set[i].pid == pid && set[i].start == start && has_blocks(&set[i], mark))
			return &set[i];
	}
	return NULL;
}

/* Reads a page of the process into the least recently used entry of its set. */
static void read_page(struct code_pages *c, pid_t pid, uint64_t start)
{
	struct page *set = set_of(c, pid, start), *p = set;

	for (size_t i = 1; i < WAYS; i++)
		p = set[i].used < p->used ? &set[i] : p;
	if (!p->bytes)
		p->bytes = malloc(PAGE_BYTES);
	p->pid = p->bytes && c->read_page(c->arg, pid, start, p->bytes) ? pid : 0;
	p->start = start;
	p->used = p->pid ? c->records : 0;
}

typedef void page_fn(struct code_pages *c, pid_t pid, uint64_t start,
		     const struct stackd_code_mark *mark);

/* Calls `each` for each mark of a record, with each page that has a block with a hash in the
 * mark. */
static void each_page(struct code_pages *c, const struct stackd_code_record *record,
		      const struct stackd_code_mark *mark, page_fn *each)
{
	for (const struct stackd_code_mark *end = mark + record->n; mark < end; mark++) {
		uint64_t from = (mark->address / STACKD_CODE_BLOCK - STACKD_CODE_BEFORE) *
				STACKD_CODE_BLOCK;
		uint64_t to = from + STACKD_CODE_BLOCKS * STACKD_CODE_BLOCK;

		if (!mark->address)
			continue;
		for (uint64_t at = from & ~(PAGE_BYTES - 1); at < to; at += PAGE_BYTES) {
			if (is_of_page(mark, at))
				each(c, (pid_t)record->pid, at, mark);
		}
	}
}

static void keep_page(struct code_pages *c, pid_t pid, uint64_t start,
		      const struct stackd_code_mark *mark)
{
	struct page *p = find(c, pid, start, mark);

	if (p)
		p->used = c->records;
	else
		read_page(c, pid, start);
}

void code_pages_keep(struct code_pages *c, const struct stackd_code_record *record)
{
	c->records++;
	each_page(c, record, (const struct stackd_code_mark *)(record + 1), keep_page);
}

/* Returns the version of a page that was used last. NULL: none is kept. */
static const struct page *version_of(struct code_pages *c, pid_t pid, uint64_t start)
{
	const struct page *set = set_of(c, pid, start), *found = NULL;

	for (size_t i = 0; i < WAYS; i++) {
		if (set[i].pid != pid || set[i].start != start)
			continue;
		if (!found || set[i].used > found->used)
			found = &set[i];
	}
	return found;
}

/* Copies the kept pages around an address, with zeros for missing ones between them. Returns the
 * length; 0: the page at the address is not kept. */
static size_t read_kept(struct code_pages *c, pid_t pid, uint64_t address, uint64_t before,
			uint64_t after, uint8_t *bytes, uint64_t *ret_start)
{
	uint64_t least = address - before, most = address + after, start = 0, end = 0;

	memset(bytes, 0, before + after);
	for (uint64_t at = least & ~(PAGE_BYTES - 1); at < most; at += PAGE_BYTES) {
		const struct page *p = version_of(c, pid, at);
		uint64_t from = at > least ? at : least;
		uint64_t to = at + PAGE_BYTES < most ? at + PAGE_BYTES : most;

		if (!p)
			continue;
		start = end ? start : from;
		end = to;
		memcpy(bytes + (from - start), p->bytes + (from - at), to - from);
	}
	if (address - start >= end - start)
		return 0;
	*ret_start = start;
	return end - start;
}

size_t code_pages_read(struct code_pages *c, pid_t pid, uint64_t address, uint64_t before,
		       uint64_t after, uint8_t *bytes, uint64_t *ret_start)
{
	size_t got = c->read(c->arg, pid, address, before, after, bytes, ret_start);

	return got ? got : read_kept(c, pid, address, before, after, bytes, ret_start);
}
