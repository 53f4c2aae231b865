/* SPDX-License-Identifier: MIT */
/* Keeps a hash table without chains: a mapping replaces the one that has the same slot; see
 * new_mappings.h. */
#include "daemon/recorder/new_mappings.h"

#include "base/hash.h"

static size_t slot_of(pid_t pid, uint64_t start)
{
	return hash_mix64(hash_mix64((uint64_t)pid) + start) & (NEW_MAPPINGS_KEPT - 1);
}

void new_mappings_add(struct new_mappings *m, pid_t pid, const struct object_mapping *mapping,
		      const struct object *object)
{
	const size_t slot = slot_of(pid, mapping->start);

	m->kept[slot].object = object;
	m->kept[slot].start = mapping->start;
	m->kept[slot].offset = mapping->offset;
	m->kept[slot].pid = pid;
}

const struct object *new_mappings_find(const struct new_mappings *m, pid_t pid, uint64_t start,
				       uint64_t offset)
{
	const size_t slot = slot_of(pid, start);
	const struct object *object = m->kept[slot].object;

	return object && m->kept[slot].pid == pid && m->kept[slot].start == start &&
			       m->kept[slot].offset == offset
		       ? object
		       : NULL;
}
