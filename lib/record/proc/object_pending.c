/* SPDX-License-Identifier: MIT */
/* Keeps copies of mappings in an array; see object_pending.h. */
#include "proc/object_pending.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proc/proc_fs.h"

/* An inode's number is one of its device. */
static bool is_same_file(const struct object_mapping *a, const struct object_mapping *b)
{
	return a->inode == b->inode && a->dev_major == b->dev_major &&
	       a->dev_minor == b->dev_minor && !strcmp(a->path, b->path);
}

bool object_pending_has(const struct object_pending *pending, pid_t pid,
			const struct object_mapping *m)
{
	for (size_t i = pending->first; i < pending->all.count; i++) {
		const struct pending_mapping *p = &pending->all.items[i];

		if (p->pid == pid && p->mapping.start == m->start &&
		    p->mapping.offset == m->offset && is_same_file(&p->mapping, m))
			return true;
	}
	return false;
}

void object_pending_free_one(struct pending_mapping *one)
{
	free((void *)(uintptr_t)one->mapping.path);
	free((void *)(uintptr_t)one->mapping.build_id);
}

/* -EAGAIN: too many wait for their copies. (-EDQUOT: its user's processes have brought too many
 * files.) */
static bool is_waiting(int err)
{
	return err == -EINPROGRESS || err == -EAGAIN;
}

bool object_pending_is_due(int err)
{
	return is_waiting(err) || err == -EREMOTE || err == -EFBIG || err == -EDQUOT;
}

static uid_t user_of(const char *proc_root, pid_t pid)
{
	struct proc_fs_status status;

	return proc_fs_status(proc_root, pid, &status) ? (uid_t)-1 : status.uid;
}

static bool has_room(const struct object_pending *pending, uid_t user)
{
	size_t of_user = 0;

	for (size_t i = pending->first; i < pending->all.count; i++)
		of_user += pending->all.items[i].user == user;
	return of_user < OBJECT_PENDING_MOST / 2 &&
	       pending->all.count - pending->first < OBJECT_PENDING_MOST;
}

void object_pending_add(struct object_pending *pending, const char *proc_root, pid_t pid,
			const struct object_mapping *m, const struct object *object, int err)
{
	struct pending_mapping one = {
		.pid = pid, .mapping = *m, .object = object, .has_failed = !is_waiting(err)};
	uint8_t *build_id = NULL;

	if (pid == pending->full || object_pending_has(pending, pid, m))
		return;
	one.user = user_of(proc_root, pid);
	if (!has_room(pending, one.user)) {
		pending->full = pid;
		return;
	}
	if (VEC_RESERVE(&pending->all, 1))
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

/* Returns whether a mapping is to be resolved again. One that has just failed is not, but for the
 * first time later. */
static bool is_to_be_tried(struct pending_mapping *p, uint64_t now_ns, bool has_news)
{
	if (!p->has_failed)
		return has_news;
	if (!p->due_ns)
		p->due_ns = now_ns + OBJECT_PENDING_PAUSE_NS;
	return now_ns >= p->due_ns;
}

void object_pending_begin(struct object_pending *pending, bool has_news)
{
	pending->has_news = has_news || (pending->has_news && pending->left);
	pending->left = pending->all.count - pending->first;
	pending->full = 0;
}

/* Gives the room of mappings that were taken back, so that one more can be added. */
static void compact(struct object_pending *pending)
{
	struct pending_mapping *items = pending->all.items;

	pending->all.count -= pending->first;
	memmove(items, items + pending->first, pending->all.count * sizeof(*items));
	pending->first = 0;
}

bool object_pending_take(struct object_pending *pending, uint64_t now_ns,
			 struct pending_mapping *ret_one)
{
	while (pending->left) {
		struct pending_mapping one = pending->all.items[pending->first++];

		pending->left--;
		if (pending->first > pending->all.count / 2)
			compact(pending);
		if (is_to_be_tried(&one, now_ns, pending->has_news)) {
			*ret_one = one;
			return true;
		}
		if (VEC_RESERVE(&pending->all, 1))
			object_pending_free_one(&one);
		else
			pending->all.items[pending->all.count++] = one;
	}
	return false;
}

void object_pending_fini(struct object_pending *pending)
{
	for (size_t i = pending->first; i < pending->all.count; i++)
		object_pending_free_one(&pending->all.items[i]);
	free(pending->all.items);
	*pending = (struct object_pending){0};
}
