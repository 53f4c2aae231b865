/* SPDX-License-Identifier: MIT */
/*
 * Finds a recording's objects again; see reader_objects.h.
 *
 *   ELF file       PATH in this process's root, then in the roots of recorded processes that still
 *                  live (containers), each root once; a deleted file is not searched
 *   vDSO           that of this process
 *   kernel, module the part of /proc/kallsyms of that name, which only some users may read
 *   JIT code       the recorded process, if it still lives: its file id identifies it by pid and
 *                  start time, and it must still run the same program
 *
 * For the first three, the build-id in the store must be equal to the one found here. A file must
 * also have the layout that the store has, since tools that rewrite a file (patchelf) keep its
 * build-id. If the store has no layout, the file must be older than the recording. The path and the
 * pids come from the recording, which may come from anywhere: object_elsewhere.h opens only regular
 * files, and a process's names are never taken for another's.
 */
#include "sym/reader_objects.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/vec.h"
#include "proc/object_elsewhere.h"
#include "proc/proc_fs.h"

#define MAX_ROOTS     64	 /* roots of containers that are searched */
#define MAX_PROCESSES (1u << 16) /* processes of a recording that are looked up */

/* A process's root folder: two processes with the same four numbers see the same files. */
struct root {
	ino_t namespace;
	dev_t dev;
	ino_t inode;
	struct object_elsewhere *files;
};

/* A recorded process that still lives. */
struct process {
	pid_t pid;
	uint64_t jit_id; /* id of its first JIT code */
};

struct reader_object {
	struct object object;
	int error; /* -ENOENT: it is not here */
};

struct reader_objects {
	char *proc_root, *sys_root;
	struct object_elsewhere *own; /* this process's root */
	VEC(struct root) roots;
	uint32_t n_rooted; /* processes whose roots are known */
	VEC(struct process) processes;
	uint32_t n_seen;	/* processes that were looked up */
	struct kallsyms *ksyms; /* NULL: not loaded yet, or not readable */
	bool ksyms_tried;
	VEC(struct reader_object *) objects; /* by number; NULL: not searched yet */
};

int reader_objects_new(const char *proc_root, const char *sys_root,
		       struct reader_objects **ret_late)
{
	struct reader_objects *l = calloc(1, sizeof(*l));
	int err = -ENOMEM;

	if (!l)
		return -ENOMEM;
	l->proc_root = strdup(proc_root);
	l->sys_root = strdup(sys_root);
	if (l->proc_root && l->sys_root)
		err = object_elsewhere_new("/", NULL, &l->own);
	if (err) {
		reader_objects_free(l);
		return -ENOMEM;
	}
	*ret_late = l;
	return 0;
}

static void free_object(struct reader_object *o)
{
	if (!o)
		return;
	elf_file_free(o->object.elf);
	free(o->object.path);
	free(o);
}

void reader_objects_free(struct reader_objects *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->objects.count; i++)
		free_object(l->objects.items[i]);
	for (size_t i = 0; i < l->roots.count; i++)
		object_elsewhere_free(l->roots.items[i].files);
	object_elsewhere_free(l->own);
	kallsyms_free(l->ksyms);
	free(l->objects.items);
	free(l->roots.items);
	free(l->processes.items);
	free(l->proc_root);
	free(l->sys_root);
	free(l);
}

/* --- files ----------------------------------------------------------------------------------- */

static int stat_of(const struct reader_objects *l, pid_t pid, const char *name,
		   struct stat *ret_stat)
{
	char *path;
	int err;

	if (asprintf(&path, "%s/%d/%s", l->proc_root, pid, name) < 0)
		return -ENOMEM;
	err = stat(path, ret_stat) ? -ENOENT : 0;
	free(path);
	return err;
}

static bool is_known_root(const struct reader_objects *l, const struct root *root)
{
	for (size_t i = 0; i < l->roots.count; i++) {
		const struct root *o = &l->roots.items[i];

		if (o->namespace == root->namespace && o->dev == root->dev &&
		    o->inode == root->inode)
			return true;
	}
	return false;
}

/* Adds the root of a process, which may have ended, or be inaccessible. Returns 0 or -ENOMEM. */
static int add_root(struct reader_objects *l, pid_t pid)
{
	struct stat namespace, folder;
	struct root root = {0};
	char *path;
	int err = 0;

	if (stat_of(l, pid, "ns/mnt", &namespace) || stat_of(l, pid, "root", &folder))
		return 0;
	root = (struct root){
		.namespace = namespace.st_ino, .dev = folder.st_dev, .inode = folder.st_ino};
	if (is_known_root(l, &root) || VEC_RESERVE(&l->roots, 1) ||
	    asprintf(&path, "%s/%d/root", l->proc_root, pid) < 0)
		return 0;
	err = object_elsewhere_new(path, NULL, &root.files);
	free(path);
	if (!err)
		l->roots.items[l->roots.count++] = root;
	return err == -ENOMEM ? err : 0;
}

static uint32_t process_count(const struct store_tables *t)
{
	return t->n_processes < MAX_PROCESSES ? t->n_processes : MAX_PROCESSES;
}

static int add_roots(struct reader_objects *l, const struct store_tables *t)
{
	int err = 0;

	for (; !err && l->n_rooted < process_count(t) && l->roots.count < MAX_ROOTS; l->n_rooted++)
		err = add_root(l, t->processes[l->n_rooted].pid);
	return err;
}

/* Returns whether a file that has the object's build-id (or its name, if the object has none) has
 * the object's code. Its layout must be the same. If the store has no layout, the content must be,
 * and the file must have been written before the recording began. */
static bool is_code_of(const struct elf_file *elf, const struct store_object *wanted,
		       uint64_t since_unix_ns)
{
	if (wanted->layout && elf_file_layout(elf) != wanted->layout)
		return false;
	if (wanted->layout && wanted->build_id_len)
		return true;
	return (wanted->build_id_len || elf_file_id(elf) == wanted->file_id) &&
	       (uint64_t)elf_file_stamp(elf)->mtime_ns <= since_unix_ns;
}

/* Opens the file of an object below a root. Returns 0, -ENOMEM, or -ENOENT. */
static int open_in(const struct object_elsewhere *files, const struct store_object *wanted,
		   uint64_t since_unix_ns, struct elf_file **ret_elf)
{
	const struct object_mapping m = {
		.path = wanted->path,
		.build_id = wanted->build_id,
		.build_id_len = (uint8_t)wanted->build_id_len,
	};
	struct object_open_file file;
	size_t len;
	int err = object_elsewhere_open(files, &m, &file);

	if (err)
		return err == -ENOMEM ? err : -ENOENT;
	elf_file_build_id(file.elf, &len);
	if (len != wanted->build_id_len || !is_code_of(file.elf, wanted, since_unix_ns)) {
		elf_file_free(file.elf);
		return -ENOENT;
	}
	*ret_elf = file.elf;
	return 0;
}

static int find_file(struct reader_objects *l, const struct store_tables *t,
		     const struct store_object *wanted, struct object *object)
{
	const uint64_t since = t->recording.start_unix_ns;
	int err = open_in(l->own, wanted, since, &object->elf);

	if (err == -ENOENT && add_roots(l, t))
		return -ENOMEM;
	for (size_t i = 0; err == -ENOENT && i < l->roots.count; i++)
		err = open_in(l->roots.items[i].files, wanted, since, &object->elf);
	return err;
}

static int find_vdso(const struct store_object *wanted, struct object *object)
{
	struct elf_file *elf;
	const uint8_t *build_id;
	size_t len;
	int err = object_open_vdso(&elf);

	if (err)
		return err == -ENOMEM ? err : -ENOENT;
	build_id = elf_file_build_id(elf, &len);
	if (!len || len != wanted->build_id_len || memcmp(build_id, wanted->build_id, len) != 0) {
		elf_file_free(elf);
		return -ENOENT;
	}
	object->elf = elf;
	return 0;
}

/* --- the kernel ------------------------------------------------------------------------------ */

static int find_kernel(struct reader_objects *l, const struct store_object *wanted,
		       struct object *object)
{
	const struct kallsyms_options options = {.proc_root = l->proc_root,
						 .sys_root = l->sys_root};

	if (!l->ksyms_tried && wanted->build_id_len) {
		l->ksyms_tried = true;
		if (kallsyms_load(&options, &l->ksyms) == -ENOMEM)
			return -ENOMEM;
	}
	for (size_t i = 0; l->ksyms && i < kallsyms_part_count(l->ksyms); i++) {
		const struct kallsyms_part *part = kallsyms_part_at(l->ksyms, i);

		if (strcmp(part->name, wanted->path) != 0 || !part->build_id_len ||
		    part->build_id_len != wanted->build_id_len ||
		    memcmp(part->build_id, wanted->build_id, part->build_id_len) != 0)
			continue;
		object->address = part->start;
		return 0;
	}
	return -ENOENT;
}

/* --- JIT code -------------------------------------------------------------------------------- */

static bool runs_same_program(const struct reader_objects *l, const struct store_process *p)
{
	char *exe;
	bool is_same;

	if (!p->exe || proc_fs_exe(l->proc_root, p->pid, &exe))
		return false;
	is_same = !strcmp(exe, p->exe);
	free(exe);
	return is_same;
}

static int add_processes(struct reader_objects *l, const struct store_tables *t)
{
	struct proc_fs_stat stat;

	for (; l->n_seen < process_count(t); l->n_seen++) {
		const struct store_process *p = &t->processes[l->n_seen];

		if (proc_fs_stat(l->proc_root, p->pid, &stat) || !runs_same_program(l, p))
			continue;
		if (VEC_RESERVE(&l->processes, 1))
			return -ENOMEM;
		l->processes.items[l->processes.count++] = (struct process){
			.pid = p->pid, .jit_id = object_jit_id(p->pid, stat.start_ticks)};
	}
	return 0;
}

static bool has_jit(const struct store_tables *t, uint64_t file_id)
{
	for (uint32_t i = 0; i < t->n_objects; i++)
		if (t->objects[i].kind == OBJECT_JIT && t->objects[i].file_id == file_id)
			return true;
	return false;
}

/* Returns the id of a process's last JIT code in the recording; an exec discards the previous
 * one. */
static uint64_t latest_jit(const struct store_tables *t, uint64_t file_id)
{
	for (uint32_t i = 0; i < t->n_objects; i++) {
		uint64_t next = object_next_id(file_id);

		if (!has_jit(t, next))
			break;
		file_id = next;
	}
	return file_id;
}

static int find_jit(struct reader_objects *l, const struct store_tables *t,
		    const struct store_object *wanted, struct object *object)
{
	if (add_processes(l, t))
		return -ENOMEM;
	for (size_t i = 0; i < l->processes.count; i++) {
		if (latest_jit(t, l->processes.items[i].jit_id) != wanted->file_id)
			continue;
		jit_owner_find(l->proc_root, l->processes.items[i].pid, &object->owner);
		return 0;
	}
	return -ENOENT;
}

/* --- all kinds ------------------------------------------------------------------------------- */

/* Fills in the object from this machine. Returns 0, -ENOENT or -ENOMEM. */
static int find(struct reader_objects *l, const struct store_tables *t,
		const struct store_object *wanted, struct object *object)
{
	*object = (struct object){
		.number = wanted->number,
		.kind = wanted->kind,
		.file_id = wanted->file_id,
		.path = strdup(wanted->path),
	};
	if (!object->path)
		return -ENOMEM;
	switch (object->kind) {
	case OBJECT_ELF:
		return find_file(l, t, wanted, object);
	case OBJECT_VDSO:
		return find_vdso(wanted, object);
	case OBJECT_KERNEL:
	case OBJECT_MODULE:
		return find_kernel(l, wanted, object);
	case OBJECT_JIT:
		return find_jit(l, t, wanted, object);
	case OBJECT_TAG:
	case OBJECT_MARK:
	case OBJECT_AWAITED:
	case OBJECT_MANAGED:
		break; /* not code, or named together with its first sample */
	}
	return -ENOENT;
}

static int reserve(struct reader_objects *l, uint32_t number)
{
	if (number < l->objects.count)
		return 0;
	if (VEC_RESERVE(&l->objects, number + 1 - l->objects.count))
		return -ENOMEM;
	while (l->objects.count <= number)
		l->objects.items[l->objects.count++] = NULL;
	return 0;
}

int reader_objects_find(struct reader_objects *l, const struct store_tables *t, uint32_t number,
			const struct object **ret_object)
{
	struct reader_object *o;

	if (reserve(l, number))
		return -ENOMEM;
	o = l->objects.items[number];
	if (!o) {
		o = calloc(1, sizeof(*o));
		if (!o)
			return -ENOMEM;
		l->objects.items[number] = o;
		o->error = find(l, t, &t->objects[number], &o->object);
	}
	if (!o->error)
		*ret_object = &o->object;
	return o->error;
}

const struct kallsyms *reader_objects_kallsyms(const struct reader_objects *l)
{
	return l->ksyms;
}
