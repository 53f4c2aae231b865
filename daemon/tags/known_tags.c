/* SPDX-License-Identifier: MIT */
/* Keeps two hash tables of tags: of the present round, and of the previous one; see
 * known_tags.h. */
#include "daemon/tags/known_tags.h"

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

struct known_tags {
	int known_fd;
	uint32_t max;
	struct entry *now, *before;
	uint64_t taught, forgotten;
};

int known_tags_new(int known_fd, uint32_t max, struct known_tags **ret_tags)
{
	struct known_tags *tags = calloc(1, sizeof(*tags));

	if (!tags)
		return -ENOMEM;
	tags->known_fd = known_fd;
	tags->max = max;
	*ret_tags = tags;
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

void known_tags_free(struct known_tags *tags)
{
	if (!tags)
		return;
	free_entries(&tags->now);
	free_entries(&tags->before);
	free(tags);
}

static struct entry *find(struct entry *entries, const struct stackd_known_tag *key)
{
	struct entry *entry;

	HASH_FIND(hh, entries, key, sizeof(*key), entry);
	return entry;
}

/* Starts a round, since the kernel half's set is full: empties the set, forgets the entries of the
 * previous round, and makes the present ones those of the previous round. */
static void start_anew(struct known_tags *tags)
{
	struct entry *entry, *next;

	tags->forgotten += HASH_COUNT(tags->before);
	HASH_ITER (hh, tags->now, entry, next)
		bpf_map_delete_elem(tags->known_fd, &entry->key);
	free_entries(&tags->before);
	tags->before = tags->now;
	tags->now = NULL;
}

int known_tags_teach(struct known_tags *tags, uint32_t program, uint64_t tag,
		     const struct tag_meaning *meaning)
{
	const struct stackd_known_tag key = {.tag = tag, .program = program};
	const __u32 yes = 1;
	struct entry *entry = find(tags->now, &key);

	if (entry)
		return 0;
	if (HASH_COUNT(tags->now) >= tags->max)
		start_anew(tags);
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	entry->key = key;
	entry->meaning = *meaning;
	HASH_ADD(hh, tags->now, key, sizeof(key), entry);
	tags->taught++;
	if (tags->known_fd >= 0)
		bpf_map_update_elem(tags->known_fd, &key, &yes, BPF_ANY);
	return 0;
}

const struct tag_meaning *known_tags_find(const struct known_tags *tags, uint32_t program,
					  uint64_t tag)
{
	const struct stackd_known_tag key = {.tag = tag, .program = program};
	struct entry *entry = find(tags->now, &key);

	if (!entry)
		entry = find(tags->before, &key);
	return entry ? &entry->meaning : NULL;
}

uint64_t known_tags_count(const struct known_tags *tags)
{
	return tags->taught;
}

uint64_t known_tags_forgotten(const struct known_tags *tags)
{
	return tags->forgotten;
}
