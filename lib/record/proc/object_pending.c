/* SPDX-License-Identifier: MIT */
/* Keeps copies of mappings in an array; see object_pending.h. */
#include "proc/object_pending.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool has(const struct object_pending *pending, pid_t pid, const struct object_mapping *m)
{
	for (size_t i = 0; i < pending->all.count; i++) {
		const struct pending_mapping *p = &pending->all.items[i];

		if (p->pid == pid && p->mapping.start == m->start &&
		    p->mapping.offset == m->offset && p->mapping.inode == m->inode &&
		    !strcmp(p->mapping.path, m->path))
			return true;
	}
	return false;
}

void object_pending_free_one(struct pending_mapping *one)
{
	free((void *)(uintptr_t)one->mapping.path);
	free((void *)(uintptr_t)one->mapping.build_id);
}

/* -EAGAIN: too many wait for their copies. */
static bool is_waiting(int err)
{
	return err == -EINPROGRESS || err == -EAGAIN;
}

bool object_pending_is_due(int err)
{
	return is_waiting(err) || err == -EREMOTE || err == -EFBIG;
}

void object_pending_add(struct object_pending *pending, pid_t pid, const struct object_mapping *m,
			const struct object *object)
{
	struct pending_mapping one = {.pid = pid,
				      .mapping = *m,
				      .object = object,
				      .has_failed = !is_waiting(object->error)};
	uint8_t *build_id = NULL;

	if (pending->all.count >= OBJECT_PENDING_MOST || has(pending, pid, m) ||
	    VEC_RESERVE(&pending->all, 1))
		return;
	if (m->build_id_len)
		build_id = malloc(m->build_id_len);
	if (build_id)
		memcpy(build_id, m->build_id, m->build_id_len);
	one.mapping.build_id = build_id;
	one.mapping.path = strdup(m->path);
	if (one.mapping.path && (build_id || !m->build_id_len))
		pending->all.items[pending->all.count++] = one;
	else
		object_pending_free_one(&one);
}

void object_pending_fini(struct object_pending *pending)
{
	for (size_t i = 0; i < pending->all.count; i++)
		object_pending_free_one(&pending->all.items[i]);
	free(pending->all.items);
	*pending = (struct object_pending){0};
}
