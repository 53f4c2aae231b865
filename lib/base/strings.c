/* SPDX-License-Identifier: MIT */
/* Interned strings; see strings.h. */
#include "base/strings.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "base/vec.h"

struct strings_entry {
	UT_hash_handle hh;
	uint32_t number;
	char content[];
};

struct strings {
	struct strings_entry *by_content;
	struct strings_entry **by_number;
	uint32_t count;
	size_t cap;
};

int strings_new(struct strings **ret_strings)
{
	struct strings *strings = calloc(1, sizeof(*strings));

	if (!strings)
		return -ENOMEM;
	*ret_strings = strings;
	return 0;
}

void strings_free(struct strings *strings)
{
	if (!strings)
		return;
	HASH_CLEAR(hh, strings->by_content);
	for (uint32_t i = 0; i < strings->count; i++)
		free(strings->by_number[i]);
	free(strings->by_number);
	free(strings);
}

static int reserve(struct strings *strings)
{
	if (strings->count >= UINT32_MAX / 2)
		return -EOVERFLOW;
	return VEC_GROW(strings->by_number, strings->cap, (size_t)strings->count + 1);
}

int strings_intern(struct strings *strings, const char *s, uint32_t *ret_number)
{
	struct strings_entry *entry;
	size_t len = strlen(s);
	int err;

	HASH_FIND(hh, strings->by_content, s, len, entry);
	if (entry) {
		*ret_number = entry->number;
		return 0;
	}
	err = reserve(strings);
	if (err < 0)
		return err;
	entry = calloc(1, sizeof(*entry) + len + 1);
	if (!entry)
		return -ENOMEM;
	memcpy(entry->content, s, len);
	entry->number = strings->count;
	HASH_ADD_KEYPTR(hh, strings->by_content, entry->content, len, entry);
	if (!entry->hh.tbl) { /* uthash ran out of memory and left it out */
		free(entry);
		return -ENOMEM;
	}
	strings->by_number[strings->count++] = entry;
	*ret_number = entry->number;
	return 0;
}

const char *strings_at(const struct strings *strings, uint32_t number)
{
	return strings->by_number[number]->content;
}

uint32_t strings_count(const struct strings *strings)
{
	return strings->count;
}
