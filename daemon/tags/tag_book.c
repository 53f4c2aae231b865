/* SPDX-License-Identifier: MIT */
/* Keeps two hash tables of tags, of this round and of the one before; see tag_book.h. */
#include "daemon/tags/tag_book.h"

#define HASH_NONFATAL_OOM 1
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <uthash.h>

struct entry {
	struct stackd_known_tag key;
	struct tag_meaning meaning;
	UT_hash_handle hh;
};

struct tag_book {
	int known_fd;
	uint32_t max;
	struct entry *now, *before;
	uint64_t taught;
};

int tag_book_new(int known_fd, uint32_t max, struct tag_book **ret_book)
{
	struct tag_book *book = calloc(1, sizeof(*book));

	if (!book)
		return -ENOMEM;
	book->known_fd = known_fd;
	book->max = max;
	*ret_book = book;
	return 0;
}

static void free_entries(struct entry **entries)
{
	struct entry *entry, *next;

	HASH_ITER (hh, *entries, entry, next) {
		HASH_DEL(*entries, entry);
		free(entry);
	}
}

void tag_book_free(struct tag_book *book)
{
	if (!book)
		return;
	free_entries(&book->now);
	free_entries(&book->before);
	free(book);
}

static struct entry *find(struct entry *entries, const struct stackd_known_tag *key)
{
	struct entry *entry;

	HASH_FIND(hh, entries, key, sizeof(*key), entry);
	return entry;
}

/* Starts a round: empties the kernel half's set, which is full. */
static void start_anew(struct tag_book *book)
{
	struct entry *entry, *next;

	HASH_ITER (hh, book->now, entry, next)
		bpf_map_delete_elem(book->known_fd, &entry->key);
	free_entries(&book->before);
	book->before = book->now;
	book->now = NULL;
}

int tag_book_teach(struct tag_book *book, uint32_t program, uint64_t tag,
		   const struct tag_meaning *meaning)
{
	const struct stackd_known_tag key = {.tag = tag, .program = program};
	const __u32 yes = 1;
	struct entry *entry = find(book->now, &key);

	if (entry)
		return 0;
	if (HASH_COUNT(book->now) >= book->max)
		start_anew(book);
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	entry->key = key;
	entry->meaning = *meaning;
	HASH_ADD(hh, book->now, key, sizeof(key), entry);
	book->taught++;
	if (book->known_fd >= 0)
		bpf_map_update_elem(book->known_fd, &key, &yes, BPF_ANY);
	return 0;
}

const struct tag_meaning *tag_book_find(const struct tag_book *book, uint32_t program, uint64_t tag)
{
	const struct stackd_known_tag key = {.tag = tag, .program = program};
	struct entry *entry = find(book->now, &key);

	if (!entry)
		entry = find(book->before, &key);
	return entry ? &entry->meaning : NULL;
}

uint64_t tag_book_count(const struct tag_book *book)
{
	return book->taught;
}
