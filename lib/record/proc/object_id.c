/* SPDX-License-Identifier: MIT */
/* Makes file ids for objects without a build-id; see object_id.h. object_open.c decides whether a
 * file is the mapped one. */
#include "proc/object_id.h"

#include <string.h>

#include "base/hash.h"
#include "proc/object.h"

#define TRIES 4 /* ids after the first that object_is_managed_id() tries */

uint64_t object_hash_text(const char *s)
{
	uint64_t hash = 0;

	for (size_t left = strlen(s); left;) {
		uint64_t word = 0;
		size_t n = left < sizeof(word) ? left : sizeof(word);
		memcpy(&word, s, n);
		hash = hash_mix64(hash + word + n);
		s += n;
		left -= n;
	}
	return hash;
}

const char *object_kind_name(uint32_t kind)
{
	static const char *const names[] = {
		[OBJECT_ELF] = "elf",	     [OBJECT_VDSO] = "vdso",
		[OBJECT_JIT] = "jit",	     [OBJECT_KERNEL] = "kernel",
		[OBJECT_MODULE] = "module",  [OBJECT_TAG] = "tag",
		[OBJECT_MARK] = "mark",	     [OBJECT_AWAITED] = "awaited",
		[OBJECT_MANAGED] = "managed"};

	return kind < sizeof(names) / sizeof(*names) ? names[kind] : "unknown";
}

uint64_t object_nonzero_id(uint64_t id)
{
	return id ? id : 1;
}

uint64_t object_managed_id(uint32_t language, const char *path)
{
	return object_nonzero_id(hash_mix64(object_hash_text(path) + language + 1));
}

bool object_is_managed_id(uint64_t file_id, uint32_t language, const char *path)
{
	uint64_t id = object_managed_id(language, path);

	for (int i = 0; i < TRIES && id != file_id; i++)
		id = object_next_id(id);
	return id == file_id;
}

uint64_t object_jit_id(pid_t pid, uint64_t start_ticks)
{
	return object_nonzero_id(hash_mix64(hash_mix64(start_ticks) + (uint32_t)pid));
}

uint64_t object_next_id(uint64_t file_id)
{
	return object_nonzero_id(hash_mix64(file_id + 1));
}
