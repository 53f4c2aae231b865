/* SPDX-License-Identifier: MIT */
/* Strings and functions to numbers; see store_intern.h. */
#include "store/store_intern.h"

#include <string.h>

#include "base/hash.h"

void store_intern_fini(struct store_intern *names)
{
	buf_free(&names->bytes);
	free(names->ends.items);
	free(names->strings.slot);
	free(names->functions.items);
	free(names->function_index.slot);
	*names = (struct store_intern){0};
}

static uint64_t store_intern_hash(const char *s, size_t len)
{
	uint64_t hash = len, word = 0;

	for (; len >= sizeof(word); s += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, s, sizeof(word));
		hash = hash_mix64(hash ^ word);
	}
	word = 0;
	memcpy(&word, s, len);
	return hash_mix64(hash ^ word);
}

static const char *store_intern_at(const struct store_intern *names, uint32_t i, size_t *ret_len)
{
	size_t start = i ? names->ends.items[i - 1] : 0;

	*ret_len = names->ends.items[i] - start;
	return (const char *)names->bytes.data + start;
}

static int grow_strings(struct store_intern *names)
{
	struct hash_index grown;

	if (!hash_index_full(&names->strings))
		return 0;
	if (hash_index_grow(&names->strings, &grown) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < names->ends.count; i++) {
		size_t len;
		const char *s = store_intern_at(names, i, &len);

		hash_index_put(&grown, store_intern_hash(s, len), i);
	}
	free(names->strings.slot);
	names->strings = grown;
	return 0;
}

int store_intern_string(struct store_intern *names, const char *s, size_t len, uint32_t *ret_number,
			bool *ret_is_new)
{
	uint64_t hash = store_intern_hash(s, len);
	const struct hash_index *index = &names->strings;
	uint32_t number = (uint32_t)names->ends.count;

	if (grow_strings(names) < 0 || VEC_RESERVE(&names->ends, 1) < 0)
		return -ENOMEM;
	for (size_t at = hash & index->mask; index->slot[at]; at = (at + 1) & index->mask) {
		size_t other_len;
		const char *other = store_intern_at(names, index->slot[at] - 1, &other_len);

		if (other_len == len && memcmp(other, s, len) == 0) {
			*ret_number = index->slot[at];
			*ret_is_new = false;
			return 0;
		}
	}
	buf_put(&names->bytes, s, len);
	if (names->bytes.failed) {
		names->bytes.failed = false; /* nothing was appended, so the buffer is still good */
		return -ENOMEM;
	}
	names->ends.items[names->ends.count++] = names->bytes.len;
	hash_index_put(&names->strings, hash, number);
	*ret_number = number + 1;
	*ret_is_new = true;
	return 0;
}

static uint64_t function_hash(const struct table_function *f)
{
	return hash_mix64(hash_mix64((uint64_t)f->name << 32 | f->file) + f->start);
}

static int grow_functions(struct store_intern *names)
{
	struct hash_index grown;

	if (!hash_index_full(&names->function_index))
		return 0;
	if (hash_index_grow(&names->function_index, &grown) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < names->functions.count; i++)
		hash_index_put(&grown, function_hash(&names->functions.items[i]), i);
	free(names->function_index.slot);
	names->function_index = grown;
	return 0;
}

int store_intern_function(struct store_intern *names, const struct table_function *f,
			  uint32_t *ret_number, bool *ret_is_new)
{
	uint64_t hash = function_hash(f);
	const struct hash_index *index = &names->function_index;
	uint32_t number = (uint32_t)names->functions.count;

	if (grow_functions(names) < 0 || VEC_RESERVE(&names->functions, 1) < 0)
		return -ENOMEM;
	for (size_t at = hash & index->mask; index->slot[at]; at = (at + 1) & index->mask) {
		const struct table_function *o = &names->functions.items[index->slot[at] - 1];

		if (o->name == f->name && o->file == f->file && o->start == f->start) {
			*ret_number = index->slot[at];
			*ret_is_new = false;
			return 0;
		}
	}
	names->functions.items[names->functions.count++] = *f;
	hash_index_put(&names->function_index, hash, number);
	*ret_number = number + 1;
	*ret_is_new = true;
	return 0;
}
