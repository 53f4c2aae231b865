/* SPDX-License-Identifier: MIT */
/* Keeps files by device and inode; see object_copies.h. */
#include "proc/object_copies.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/int_map.h"
#include "base/vec.h"
#include "base/mount_kind.h"
#include "proc/object_open.h"
#include "proc/proc_fs.h"

struct object_copies {
	struct int_map seen;   /* by device and inode */
	struct int_map owners; /* by number: objects whose own file is in `seen` */
	VEC(struct object_copy *) all;
};

int object_copies_new(struct object_copies **ret_copies)
{
	*ret_copies = calloc(1, sizeof(**ret_copies));
	return *ret_copies ? 0 : -ENOMEM;
}

static void free_copy(struct object_copy *copy)
{
	elf_file_free(copy->elf);
	free(copy->path);
	free(copy);
}

void object_copies_free(struct object_copies *copies)
{
	if (!copies)
		return;
	for (size_t i = 0; i < copies->all.count; i++)
		free_copy(copies->all.items[i]);
	free(copies->all.items);
	int_map_fini(&copies->seen);
	int_map_fini(&copies->owners);
	free(copies);
}

size_t object_copies_count(const struct object_copies *copies)
{
	return copies ? copies->all.count : 0;
}

const struct object_copy *object_copies_at(const struct object_copies *copies, size_t index)
{
	return copies->all.items[index];
}

static uint64_t key_of(dev_t dev, ino_t inode)
{
	return hash_mix64(hash_mix64(dev) + inode);
}

static bool is_seen(const struct object_copies *copies, uint64_t key)
{
	return int_map_find(&copies->seen, key) != INT_MAP_NONE;
}

static int note(struct object_copies *copies, uint64_t key)
{
	return int_map_set(&copies->seen, key, 1);
}

/* Notes the first file from which an object is read as its own. If that file is replaced, the
 * object is read from another file, which then counts as a copy. */
static int note_own(struct object_copies *copies, const struct object *object)
{
	const struct elf_stamp *stamp = elf_file_stamp(object->elf);

	if (int_map_find(&copies->owners, object->number) != INT_MAP_NONE ||
	    elf_file_descriptor(object->elf) < 0)
		return 0;
	return int_map_set(&copies->owners, object->number, 1) ||
			       note(copies, key_of(stamp->dev, stamp->inode))
		       ? -ENOMEM
		       : 0;
}

/* Gives the key of the mapped file without opening it. Returns false if the mapping is gone, or
 * /proc does not let this process see it. */
static bool look_at_mapping(const char *proc_root, pid_t pid, const struct object_mapping *m,
			    uint64_t *ret_key)
{
	int fd = proc_fs_map_file(proc_root, pid, m->start, m->end);
	struct stat st;
	bool is_there = fd >= 0 && !mount_stat(fd, &st);

	if (is_there)
		*ret_key = key_of(st.st_dev, st.st_ino);
	if (fd >= 0)
		close(fd);
	return is_there;
}

/* Adds a copy, which owns `elf`. */
static int add(struct object_copies *copies, const struct object *object, const char *path,
	       struct elf_file *elf)
{
	struct object_copy *copy = calloc(1, sizeof(*copy));

	if (!copy || VEC_RESERVE(&copies->all, 1) || !(copy->path = strdup(path))) {
		free(copy);
		elf_file_free(elf);
		return -ENOMEM;
	}
	copy->object = object;
	copy->elf = elf;
	copies->all.items[copies->all.count++] = copy;
	return 0;
}

/* Adds a file that was opened as a copy; frees it if it is known already or has another content.
 * Returns 0 or -ENOMEM. */
static int take(struct object_copies *copies, const struct object *object, const char *path,
		struct elf_file *elf)
{
	const struct elf_stamp *stamp = elf_file_stamp(elf);
	uint64_t key = key_of(stamp->dev, stamp->inode);

	if (is_seen(copies, key) || elf_file_identity(elf) != elf_file_identity(object->elf)) {
		elf_file_free(elf);
		return 0;
	}
	if (note(copies, key)) {
		elf_file_free(elf);
		return -ENOMEM;
	}
	return add(copies, object, path, elf);
}

/* If the object is now read from another file than its first one, adds that file as a copy, for
 * which its mapping need not exist any more. Returns 0 or -ENOMEM. */
static int see_reopened(struct object_copies *copies, const struct object_mapping *m,
			const struct elf_opener *opener, const struct object *object)
{
	const struct elf_stamp *stamp = elf_file_stamp(object->elf);
	int fd = elf_file_descriptor(object->elf);
	struct elf_file *elf;

	if (fd < 0 || is_seen(copies, key_of(stamp->dev, stamp->inode)))
		return 0;
	if (opener->open(opener->arg, fd, m->path, &elf))
		return 0;
	return take(copies, object, m->path, elf);
}

int object_copies_see(struct object_copies *copies, const char *proc_root, pid_t pid,
		      const struct object_mapping *m, const struct elf_opener *opener,
		      const struct object *object)
{
	struct object_open_file file;
	uint64_t key;
	int err = note_own(copies, object);

	if (!err)
		err = see_reopened(copies, m, opener, object);
	if (err || !look_at_mapping(proc_root, pid, m, &key) || is_seen(copies, key))
		return err;
	/* Another file may have been mapped there meanwhile. */
	return object_open(proc_root, pid, m, opener, &file)
		       ? 0
		       : take(copies, object, m->path, file.elf);
}
