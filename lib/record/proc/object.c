/* SPDX-License-Identifier: MIT */
/*
 * The object table:
 *   build-id of the mapping ─────────────► file id ─► entry ◄─ number (dense array)
 *   device, inode ─► by_inode ─► entry        ▲
 *   pid ─► by_pid ─► entry (JIT)              └── the result of opening the file
 *
 * The file id identifies an object. /proc/PID/maps names a file by device and inode, perf events
 * name it by build-id, and containers have the same library at several inodes; all lead to one
 * object because, after opening, an object is looked up by its file id. by_inode is only a cache
 * that saves the opening: an entry is valid as long as the file's stamp (size and change time) is
 * the same as when the file was opened. If the file can no longer be examined (the process is
 * gone), the entry is still valid if the object keeps that inode open, because its number cannot
 * have been given to another file then, and if nobody has written to it since it was opened. Of a
 * file that was written to after it was mapped, it is not known what it held then.
 *
 * A build-id alone does not identify code: tools that rewrite a file (patchelf, BOLT, a linker that
 * was given the id) leave it, and move the code. So each inode is opened once to read its layout,
 * even if the event has a build-id. The first layout of a build-id that the table sees gets the
 * file id that follows from the build-id alone; the file id of any other layout is a hash of that
 * id and the layout. If the process is gone, the object is the one with this build-id whose code
 * segments can have the mapping, if there is exactly one.
 *
 * Two different build-ids with the same first eight bytes do not share an object: the second
 * gets the next free id of a fixed sequence.
 *
 * An object that could not be read is tried again at its 2nd, 4th, 8th, ... mapping, since the
 * next process may be there long enough; only then `elf` and `error` of an object change, from
 * NULL to the file, once. A mapped memfd that is not an ELF file is a JIT's double mapping.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "base/hash.h"
#include "base/int_map.h"
#include "base/vec.h"
#include "proc/object.h"
#include "proc/object_copies.h"
#include "proc/object_elsewhere.h"
#include "proc/object_id.h"
#include "proc/object_open.h"
#include "proc/object_pending.h"
#include "proc/proc_fs.h"

/* With more entries than this, by_inode is emptied; and so is `proofs`. */
#define MAX_INODES  65536
#define UNREAD	    "[too many new files]"
#define OPENED_KEPT 256 /* openings whose objects are kept */
#define MAX_RANGES  4	/* ranges of an unread object's mappings that are kept */
/* mixed into an object's file id to make the file id of the object that stands for its unproven
 * code */
#define STAND_IN UINT64_C(0x7772697474656e)

enum proof { REFUTED, PROVEN };

/* Bytes of a file that were mapped as code. */
struct file_range {
	uint64_t offset, size;
};

struct entry {
	struct object object;
	/* next entry with the same build-id and another layout, in no order */
	struct entry *same_id;
	/* what processes mapped of it, while its layout is unknown */
	struct file_range mapped[MAX_RANGES];
	uint32_t n_mapped;
	uint32_t failures; /* mappings since its file could not be read */
	int reopen_error; /* why its file, which was closed, could not be opened again; 0: it was */
	uint32_t closes;  /* number of object_table_close() calls for it */
	UT_hash_handle hh; /* by_file_id, key object.file_id */
};

struct inode_key {
	uint64_t inode;
	uint32_t dev_major, dev_minor;
};

struct inode {
	struct inode_key key;
	struct entry *entry; /* NULL: a memfd that is not an ELF file */
	struct object_open_stamp stamp;
	uint64_t path_hash;
	bool has_stamp; /* The file was opened, so the stamp is set. */
	/* The file could not be read in that state: the entry is that of the build-id in the
	 * mapping's event, and the file may hold something else by now. */
	bool is_unread;
	/* The object's elf keeps the inode in use, unless it has been closed since `closes` was
	 * set. */
	bool is_pinned;
	uint32_t closes; /* the entry's `closes` at the time when `is_pinned` was set */
	UT_hash_handle hh;
};

struct jit {
	pid_t pid;
	struct entry *entry;
	UT_hash_handle hh;
};

struct object_table {
	char *proc_root;
	struct entry **entries; /* by number */
	uint32_t count;
	uint32_t late_files;
	size_t cap;
	struct entry *by_file_id;
	struct inode *by_inode;
	struct jit *by_pid;
	struct entry *vdso, *vdso_compat;
	struct entry *unread;		    /* stands for all files beyond the limit */
	struct object_elsewhere *elsewhere; /* other folders to search for files; NULL: none */
	struct object_copies *copies;	    /* files with an object's content; NULL: not kept */
	struct elf_opener opener;
	/* by (object, change time): PROVEN if a file with this change time has the object's code,
	 * else REFUTED */
	struct int_map proofs;
	uint64_t forgotten; /* times that by_inode was full: entries that it lost */
	uint64_t openings;  /* see object_table_openings() */
	uint32_t opened[OPENED_KEPT];
	struct object_pending pending;
	bool is_foreign; /* only a build-id can prove that a file here is the mapped one */
};

static int open_here(void *arg, int fd, const char *path, struct elf_file **ret_file)
{
	(void)arg;
	(void)path;
	return elf_file_open_any(fd, ret_file);
}

int object_table_new(const char *proc_root, struct object_table **ret_table)
{
	return object_table_new_by(proc_root, &(struct elf_opener){.open = open_here}, ret_table);
}

int object_table_new_by(const char *proc_root, const struct elf_opener *opener,
			struct object_table **ret_table)
{
	struct object_table *table = calloc(1, sizeof(*table));

	if (!table)
		return -ENOMEM;
	table->opener = *opener;
	table->proc_root = strdup(proc_root);
	if (!table->proc_root) {
		object_table_free(table);
		return -ENOMEM;
	}
	*ret_table = table;
	return 0;
}

static void drop_inodes(struct object_table *table)
{
	struct inode *inode, *next;

	table->forgotten += HASH_COUNT(table->by_inode);
	HASH_ITER (hh, table->by_inode, inode, next) {
		HASH_DEL(table->by_inode, inode);
		free(inode);
	}
}

static void free_entry(struct entry *entry)
{
	elf_file_free(entry->object.elf);
	free(entry->object.path);
	free(entry);
}

void object_table_free(struct object_table *table)
{
	struct jit *jit, *next;

	if (!table)
		return;
	HASH_ITER (hh, table->by_pid, jit, next) {
		HASH_DEL(table->by_pid, jit);
		free(jit);
	}
	drop_inodes(table);
	HASH_CLEAR(hh, table->by_file_id);
	for (uint32_t i = 0; i < table->count; i++)
		free_entry(table->entries[i]);
	int_map_fini(&table->proofs);
	free(table->entries);
	free(table->proc_root);
	object_elsewhere_free(table->elsewhere);
	object_copies_free(table->copies);
	object_pending_fini(&table->pending);
	free(table);
}

void object_table_trust_build_ids_alone(struct object_table *table)
{
	table->is_foreign = true;
}

void object_table_look_in(struct object_table *table, struct object_elsewhere *elsewhere)
{
	object_elsewhere_free(table->elsewhere);
	table->elsewhere = elsewhere;
}

int object_table_keep_copies(struct object_table *table)
{
	return table->copies ? 0 : object_copies_new(&table->copies);
}

const struct object_copies *object_table_copies(const struct object_table *table)
{
	return table->copies;
}

uint32_t object_table_late_files(const struct object_table *table)
{
	return table->late_files;
}

uint64_t object_table_forgotten(const struct object_table *table)
{
	return table->forgotten;
}

uint64_t object_table_openings(const struct object_table *table)
{
	return table->openings;
}

uint32_t object_table_opened(const struct object_table *table, uint64_t opening)
{
	return opening < table->openings && table->openings - opening <= OPENED_KEPT
		       ? table->opened[opening % OPENED_KEPT]
		       : UINT32_MAX;
}

uint32_t object_table_count(const struct object_table *table)
{
	return table->count;
}

const struct object *object_table_at(const struct object_table *table, uint32_t number)
{
	return number < table->count ? &table->entries[number]->object : NULL;
}

bool object_table_close(struct object_table *table, uint32_t number)
{
	struct entry *entry = table->entries[number];
	struct elf_file *elf = entry->object.elf;

	if (entry->object.kind != OBJECT_ELF || !elf || !elf_file_is_open(elf))
		return false;
	elf_file_close(elf);
	entry->closes++;
	entry->failures = 0;
	entry->reopen_error = 0;
	return true;
}

/* --- names that are awaited ------------------------------------------------------------------ */

void object_await_names(const struct object *object, uint32_t n)
{
	__atomic_add_fetch((uint32_t *)&object->names_awaited, n, __ATOMIC_RELAXED);
}

/* What was read of the file happens before it is closed. */
void object_end_await(const struct object *object, uint32_t n)
{
	__atomic_sub_fetch((uint32_t *)&object->names_awaited, n, __ATOMIC_RELEASE);
}

bool object_awaits_names(const struct object *object)
{
	return __atomic_load_n(&object->names_awaited, __ATOMIC_ACQUIRE);
}

void object_want_names(const struct object *object, bool at_once)
{
	__atomic_store_n((bool *)&object->names_wanted, at_once, __ATOMIC_RELAXED);
}

bool object_wants_names(const struct object *object)
{
	return __atomic_load_n(&object->names_wanted, __ATOMIC_RELAXED);
}

/* --- entries --------------------------------------------------------------------------------- */

static bool is_same_build(const struct object *a, const struct object *b)
{
	return a->kind == b->kind && a->kind != OBJECT_JIT && a->build_id_len == b->build_id_len &&
	       !memcmp(a->build_id, b->build_id, a->build_id_len);
}

static bool holds_mapped(const struct entry *entry, const struct elf_file *elf)
{
	for (uint32_t i = 0; i < entry->n_mapped; i++)
		if (!elf_file_may_map(elf, entry->mapped[i].offset, entry->mapped[i].size))
			return false;
	return true;
}

/* Returns whether an object has the layout of an entry with the same build-id. If the entry's file
 * was not read, its layout is unknown: then the result is whether the object's file can have the
 * parts that were mapped of the entry. */
static bool is_same_layout(const struct entry *entry, const struct object *object)
{
	if (!entry->object.layout)
		return !object->elf || holds_mapped(entry, object->elf);
	return !object->layout || entry->object.layout == object->layout;
}

/* Returns the entry for the same code as `object`. If there is none, returns NULL and sets the
 * object's file id to one that is free. */
static struct entry *find_same(struct object_table *table, struct object *object)
{
	struct entry *entry;
	bool is_build;

	for (;;) {
		HASH_FIND(hh, table->by_file_id, &object->file_id, sizeof(object->file_id), entry);
		is_build = entry && is_same_build(&entry->object, object);
		if (!entry || (is_build && is_same_layout(entry, object)))
			return entry;
		object->file_id = is_build ? hash_layout_id(object->file_id, object->layout)
					   : object_next_id(object->file_id);
	}
}

/* Links an entry to the entry of the first layout of its build-id (see same_id). */
static void link_layout(struct object_table *table, struct entry *entry)
{
	struct object first = entry->object;
	struct entry *known;

	if (!first.build_id_len || first.kind != OBJECT_ELF)
		return;
	first.layout = 0;
	first.elf = NULL;
	first.file_id = elf_file_id_from_build_id(first.build_id, first.build_id_len);
	known = find_same(table, &first);
	if (known && known != entry) {
		entry->same_id = known->same_id;
		known->same_id = entry;
	}
}

/* Adds an entry with a copy of `object`, whose file id must be free. On success the entry owns the
 * object's elf. */
static int enter(struct object_table *table, const struct object *object, const char *path,
		 struct entry **ret_entry)
{
	int err = VEC_GROW(table->entries, table->cap, (size_t)table->count + 1);
	if (err)
		return err;
	struct entry *entry = calloc(1, sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	entry->object = *object;
	entry->object.number = table->count;
	entry->object.path = strdup(path);
	if (entry->object.path)
		HASH_ADD(hh, table->by_file_id, object.file_id, sizeof(object->file_id), entry);
	if (!entry->object.path || !entry->hh.tbl) {
		entry->object.elf = NULL;
		free_entry(entry);
		return -ENOMEM;
	}
	table->entries[table->count++] = entry;
	link_layout(table, entry);
	*ret_entry = entry;
	return 0;
}

int object_table_add(struct object_table *table, const struct object *object,
		     const struct object **ret_object)
{
	struct object copy = *object;

	if (!copy.file_id && copy.build_id_len)
		copy.file_id = elf_file_id_from_build_id(copy.build_id, copy.build_id_len);
	if (!copy.file_id)
		copy.file_id = object_nonzero_id(object_hash_text(copy.path));
	struct entry *entry = find_same(table, &copy);
	if (entry) {
		elf_file_free(copy.elf);
	} else {
		int err = enter(table, &copy, copy.path, &entry);
		if (err)
			return err;
	}
	*ret_object = &entry->object;
	return 0;
}

/* --- JIT code -------------------------------------------------------------------------------- */

static bool starts_with(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

/* Adds the object of a process's JIT code. Its id follows from pid and start time, so other
 * processes have other objects; if the process has one already (from before an exec), find_same()
 * makes a new id. */
static int enter_jit(struct object_table *table, pid_t pid, struct entry **ret_entry)
{
	struct object object = {.kind = OBJECT_JIT};

	jit_owner_find(table->proc_root, pid, &object.owner);
	object.owner.is_near &= !table->is_foreign;
	object.file_id = object_jit_id(pid, object.owner.start_ticks);
	find_same(table, &object);
	return enter(table, &object, "[jit]", ret_entry);
}

static int resolve_jit(struct object_table *table, pid_t pid, struct entry **ret_entry)
{
	struct jit *jit;

	HASH_FIND(hh, table->by_pid, &pid, sizeof(pid), jit);
	if (!jit) {
		jit = calloc(1, sizeof(*jit));
		if (!jit)
			return -ENOMEM;
		jit->pid = pid;
		int err = enter_jit(table, pid, &jit->entry);
		if (!err)
			HASH_ADD(hh, table->by_pid, pid, sizeof(pid), jit);
		if (err || !jit->hh.tbl) {
			free(jit);
			return -ENOMEM;
		}
	}
	*ret_entry = jit->entry;
	return 0;
}

void object_table_forget_process(struct object_table *table, pid_t pid)
{
	struct jit *jit;

	HASH_FIND(hh, table->by_pid, &pid, sizeof(pid), jit);
	if (jit) {
		HASH_DEL(table->by_pid, jit);
		free(jit);
	}
}

/* --- the vDSO -------------------------------------------------------------------------------- */

static void open_vdso(const struct object_table *table, const struct object_mapping *m, bool compat,
		      struct object *object)
{
	const uint8_t *build_id = m->build_id;
	size_t len = m->build_id_len;

	object->error =
		compat ? -ENOEXEC : object_open_mapped_vdso(m, table->is_foreign, &object->elf);
	if (object->elf) {
		build_id = elf_file_build_id(object->elf, &len);
		object->file_id = elf_file_id(object->elf);
	} else {
		object->file_id =
			len ? elf_file_id_from_build_id(build_id, len)
			    : object_nonzero_id(object_hash_text(compat ? "[vdso32]" : "[vdso]"));
	}
	if (len)
		memcpy(object->build_id, build_id, len);
	object->build_id_len = (uint8_t)len;
}

static int resolve_vdso(struct object_table *table, const struct object_mapping *m,
			struct entry **ret_entry)
{
	bool compat = m->start <= UINT32_MAX;
	struct entry **known = compat ? &table->vdso_compat : &table->vdso;
	struct object object = {.kind = OBJECT_VDSO};
	int err = 0;

	if (*known) {
		*ret_entry = *known;
		return 0;
	}
	open_vdso(table, m, compat, &object);
	*ret_entry = find_same(table, &object);
	if (*ret_entry)
		elf_file_free(object.elf);
	else
		err = enter(table, &object, compat ? "[vdso32]" : "[vdso]", ret_entry);
	if (err)
		elf_file_free(object.elf);
	else
		*known = *ret_entry;
	return err;
}

/* --- files ----------------------------------------------------------------------------------- */

static struct object unread_object(const struct object_mapping *m)
{
	struct object object = {.kind = OBJECT_ELF};

	if (m->build_id_len) {
		memcpy(object.build_id, m->build_id, m->build_id_len);
		object.build_id_len = m->build_id_len;
	}
	return object;
}

/* Returns the entry of the first layout of the mapping's build-id; NULL: there is none. */
static struct entry *find_by_build_id(struct object_table *table, const struct object_mapping *m)
{
	struct object object = unread_object(m);

	object.file_id = elf_file_id_from_build_id(m->build_id, m->build_id_len);
	return find_same(table, &object);
}

static bool may_be_mapped(const struct elf_file *elf, const struct object_mapping *m)
{
	return elf_file_may_map(elf, m->offset, m->end - m->start);
}

/* Returns the only entry with the mapping's build-id whose layout allows this mapping; NULL: there
 * is none, or there are several. An entry whose file was not read allows every mapping. */
static struct entry *find_fitting(struct object_table *table, const struct object_mapping *m)
{
	struct entry *found = NULL;

	for (struct entry *e = find_by_build_id(table, m); e; e = e->same_id) {
		if (e->object.elf && !may_be_mapped(e->object.elf, m))
			continue;
		if (found)
			return NULL;
		found = e;
	}
	return found;
}

static struct inode_key inode_key(const struct object_mapping *m)
{
	return (struct inode_key){
		.inode = m->inode, .dev_major = m->dev_major, .dev_minor = m->dev_minor};
}

/* Makes the same key from stat()'s numbers. */
static struct inode_key inode_key_of(const struct object_open_stamp *stamp)
{
	return (struct inode_key){.inode = stamp->inode,
				  .dev_major = major(stamp->dev),
				  .dev_minor = minor(stamp->dev)};
}

/* Returns whether an inode that can no longer be examined still holds what its entry was made
 * from. An entry without a file has no content that could be wrong. */
static bool is_kept(const struct inode *inode, const struct object_mapping *m)
{
	const struct entry *entry = inode->entry;

	if (!inode->has_stamp)
		return inode->path_hash == object_hash_text(m->path);
	return inode->is_pinned && inode->closes == entry->closes &&
	       elf_file_is_as_read(entry->object.elf);
}

/* Looks the mapped file up in by_inode. If the file has changed since its entry was made, the
 * result has no valid entry. NULL: by_inode lacks the file, or its content is not known. */
static struct inode *find_by_inode(struct object_table *table, pid_t pid,
				   const struct object_mapping *m)
{
	struct inode_key key = inode_key(m);
	struct inode *inode;

	HASH_FIND(hh, table->by_inode, &key, sizeof(key), inode);
	if (!inode || !inode->entry)
		return inode;
	if (inode->is_unread && inode->entry->object.elf)
		return NULL;
	int err = -ENOENT;
	if (inode->has_stamp)
		err = object_open_is_unchanged(table->proc_root, pid, m, &inode->stamp);
	if (err == -ENOENT)
		err = is_kept(inode, m);
	if (inode->has_stamp && object_open_is_written_since(&inode->stamp, m->made_ns))
		err = 0;
	return err ? inode : NULL;
}

/* Finds the entry of a mapping whose event has a build-id. NULL: the caller must open the file. */
static struct entry *find_by_build(struct object_table *table, pid_t pid,
				   const struct object_mapping *m)
{
	struct object object = unread_object(m);
	struct object_open_stamp stamp;
	struct inode_key key;
	struct inode *inode;

	if (object_open_look(table->proc_root, pid, m, &stamp))
		return find_fitting(table, m);
	key = inode_key_of(&stamp);
	HASH_FIND(hh, table->by_inode, &key, sizeof(key), inode);
	return inode && inode->entry && inode->has_stamp &&
			       object_open_is_same_stamp(&inode->stamp, &stamp) &&
			       is_same_build(&inode->entry->object, &object)
		       ? inode->entry
		       : NULL;
}

static uint64_t proof_key(uint32_t number, uint64_t inode, uint64_t changed_ns)
{
	return hash_mix64(hash_mix64(hash_mix64(changed_ns) + inode) + number);
}

bool object_table_has_proof(const struct object_table *table, const struct object *object,
			    uint64_t inode, uint64_t changed_ns)
{
	return int_map_find(&table->proofs, proof_key(object->number, inode, changed_ns)) == PROVEN;
}

/* Keeps the result of a check. If memory is short it is not kept, and the check is made again next
 * time. */
static void keep_proof(struct object_table *table, const struct object *object, uint64_t inode,
		       uint64_t changed_ns, enum proof proof)
{
	if (table->proofs.used >= MAX_INODES)
		int_map_fini(&table->proofs);
	int_map_set(&table->proofs, proof_key(object->number, inode, changed_ns), proof);
}

void object_table_keep_proof(struct object_table *table, const struct object *object,
			     uint64_t inode, uint64_t changed_ns)
{
	keep_proof(table, object, inode, changed_ns, PROVEN);
}

static uint64_t stamp_changed_ns(const struct object_open_stamp *stamp)
{
	return (uint64_t)stamp->ctime.tv_sec * 1000000000 + (uint64_t)stamp->ctime.tv_nsec;
}

static void note_proof(struct object_table *table, const struct entry *entry,
		       const struct object_open_stamp *stamp)
{
	keep_proof(table, &entry->object, stamp->inode, stamp_changed_ns(stamp), PROVEN);
}

/* Adds an entry to by_inode, and returns it. If memory is short it does nothing and returns NULL,
 * because that is only a cache: the next look-up then opens the file again. */
static struct inode *remember_inode(struct object_table *table, const struct object_mapping *m,
				    struct entry *entry, const struct object_open_file *file,
				    bool is_pinned)
{
	struct inode_key key = m->build_id_len ? inode_key_of(&file->stamp) : inode_key(m);
	struct inode *inode;

	HASH_FIND(hh, table->by_inode, &key, sizeof(key), inode);
	if (!inode) {
		if (HASH_COUNT(table->by_inode) >= MAX_INODES)
			drop_inodes(table);
		inode = calloc(1, sizeof(*inode));
		if (!inode)
			return NULL;
		inode->key = key;
		HASH_ADD(hh, table->by_inode, key, sizeof(key), inode);
		if (!inode->hh.tbl) {
			free(inode);
			return NULL;
		}
	}
	inode->entry = entry;
	inode->path_hash = object_hash_text(m->path);
	inode->has_stamp = file;
	inode->is_unread = false;
	inode->is_pinned = is_pinned;
	inode->closes = entry ? entry->closes : 0;
	if (file)
		inode->stamp = file->stamp;
	return inode;
}

/* Returns the path of a mapping, without " (deleted)" if `is_deleted`. The caller frees it. NULL:
 * memory is short. */
static char *name_of(const struct object_mapping *m, bool is_deleted)
{
	size_t len = strlen(m->path);

	if (is_deleted && object_open_is_deleted(m->path))
		len -= strlen(" (deleted)");
	return strndup(m->path, len);
}

/* Gives an entry the file that was just opened, if the entry has none, or if its own file was
 * closed or written to. Returns true if the entry owns `elf` now. */
static bool give_file(struct object_table *table, struct entry *entry, struct elf_file *elf)
{
	struct object *object = &entry->object;

	table->opened[table->openings++ % OPENED_KEPT] = object->number;
	entry->reopen_error = 0;
	if (!object->elf) {
		object->layout = elf_file_layout(elf);
		__atomic_store_n(&object->elf, elf, __ATOMIC_RELEASE);
		object->error = 0;
		table->late_files++;
		return true;
	}
	if (object->elf == elf)
		return true;
	if (elf_file_is_touched(object->elf)) {
		elf_file_close(object->elf);
		entry->closes++;
	}
	if (elf_file_is_open(object->elf))
		return false;
	elf_file_reopen(object->elf, elf);
	return true;
}

/* Finds or adds the entry of a file that was opened. Owns the file from now on, also on failure. */
static int enter_file(struct object_table *table, const struct object_mapping *m,
		      const struct object_open_file *file, struct entry **ret_entry)
{
	struct object object = {.kind = OBJECT_ELF, .elf = file->elf};
	size_t len;
	const uint8_t *build_id = elf_file_build_id(file->elf, &len);
	int err = 0;

	object.build_id_len = (uint8_t)len;
	if (build_id)
		memcpy(object.build_id, build_id, len);
	object.file_id = elf_file_id(file->elf);
	object.layout = elf_file_layout(file->elf);
	struct entry *entry = find_same(table, &object);
	if (!entry) {
		char *path = name_of(m, file->is_deleted);
		err = path ? enter(table, &object, path, &entry) : -ENOMEM;
		free(path);
	}
	bool is_taken = !err && give_file(table, entry, file->elf);
	if (!err && (m->build_id_len ? file->is_exact : m->inode > 0))
		remember_inode(table, m, entry, file, is_taken);
	if (!err)
		note_proof(table, entry, &file->stamp);
	if (!is_taken)
		elf_file_free(file->elf);
	if (!err)
		*ret_entry = entry;
	return err;
}

/* Notes which part of an unread object's file was mapped. */
static void note_mapped(struct entry *entry, const struct object_mapping *m)
{
	const struct file_range range = {m->offset, m->end - m->start};

	if (entry->object.elf || entry->n_mapped == MAX_RANGES)
		return;
	for (uint32_t i = 0; i < entry->n_mapped; i++)
		if (entry->mapped[i].offset == range.offset && entry->mapped[i].size == range.size)
			return;
	entry->mapped[entry->n_mapped++] = range;
}

/* Finds the entry for a file that cannot be read, so that its layout is unknown. It shares an
 * object with files of its build-id that were read only if exactly one of these allows the mapping.
 * NULL: there is no entry; the object's file id is then a free one. */
static struct entry *find_unread(struct object_table *table, const struct object_mapping *m,
				 struct object *object)
{
	struct entry *entry = find_same(table, object);

	while (entry && entry->object.elf &&
	       (!m->build_id_len || entry != find_fitting(table, m))) {
		object->file_id = object_next_id(object->file_id);
		entry = find_same(table, object);
	}
	return entry;
}

static int enter_unreadable(struct object_table *table, const struct object_mapping *m, int error,
			    struct entry **ret_entry)
{
	struct object object = unread_object(m);
	char *path = name_of(m, true);
	int err = 0;

	if (!path)
		return -ENOMEM;
	object.error = error;
	object.file_id = m->build_id_len
				 ? elf_file_id_from_build_id(m->build_id, m->build_id_len)
				 : object_nonzero_id(
					   hash_mix64(object_hash_text(path) + m->inode) ^
					   hash_mix64((uint64_t)m->dev_major << 32 | m->dev_minor));
	struct entry *entry = find_unread(table, m, &object);
	if (!entry)
		err = enter(table, &object, path, &entry);
	else if (!entry->object.elf)
		entry->object.error = error;
	if (!err)
		note_mapped(entry, m);
	if (!err && m->inode && !m->build_id_len)
		remember_inode(table, m, entry, NULL, false);
	if (!err)
		*ret_entry = entry;
	free(path);
	return err;
}

/* Returns why the file of an entry cannot be read for now, which object_pending.h knows. */
static int pending_error(const struct entry *entry)
{
	return entry->object.elf ? entry->reopen_error : entry->object.error;
}

/* Returns whether to try to open the file of an entry now. If it is only unreadable for now
 * (object_pending.h): always; if it is unreadable or closed: at its 1st, 2nd, 4th, 8th, ...
 * mapping; if it is open: only if it was written to. */
static bool is_due(const struct object_table *table, struct entry *entry)
{
	if (entry->object.elf && elf_file_is_open(entry->object.elf))
		return elf_file_is_touched(entry->object.elf);
	if (table->opener.fetch && object_pending_is_due(pending_error(entry)))
		return true;
	uint32_t n = ++entry->failures;
	return !(n & (n - 1));
}

/* Returns whether a mapping of an entry waits to be resolved again, so that it need not be tried
 * now: a program may map such a file thousands of times a second. */
static bool is_pending(const struct object_table *table, const struct entry *entry, pid_t pid,
		       const struct object_mapping *m)
{
	return !(entry->object.elf && elf_file_is_open(entry->object.elf)) &&
	       object_pending_is_due(pending_error(entry)) &&
	       object_pending_has(&table->pending, pid, m);
}

static int open_file(struct object_table *table, pid_t pid, const struct object_mapping *m,
		     struct object_open_file *ret_file)
{
	if (table->opener.may_read && !table->opener.may_read(table->opener.arg, pid))
		return -EDQUOT;
	int err = table->is_foreign && !m->build_id_len
			  ? -ESTALE
			  : object_open(table->proc_root, pid, m, &table->opener, ret_file);
	int elsewhere;

	if (err) {
		elsewhere = object_elsewhere_open(table->elsewhere, m, ret_file);
		err = elsewhere == -ENOENT ? err : elsewhere;
	}
	/* A file with the mapping's path and build-id can still have another layout. */
	if (!err && m->build_id_len && !ret_file->is_exact && !may_be_mapped(ret_file->elf, m)) {
		elf_file_free(ret_file->elf);
		err = -ESTALE;
	}
	if (!err && !m->build_id_len &&
	    object_open_is_written_since(&ret_file->stamp, m->made_ns)) {
		elf_file_free(ret_file->elf);
		err = -ESTALE;
	}
	return err;
}

/* Notes that the file of a mapping with a build-id could not be read, and which object stands for
 * it, so that opening it is not tried again at each mapping. */
static void remember_unread(struct object_table *table, pid_t pid, const struct object_mapping *m,
			    struct entry *entry)
{
	struct object_open_file file = {0};
	struct inode *inode = NULL;

	if (m->build_id_len && !object_open_look(table->proc_root, pid, m, &file.stamp))
		inode = remember_inode(table, m, entry, &file, false);
	if (inode)
		inode->is_unread = true;
}

/* Returns whether the file from which an object is read has this inode, and its content is the same
 * since before the change time. */
static bool is_read_from(const struct object *object, uint64_t inode, uint64_t changed_ns)
{
	const struct elf_stamp *stamp = elf_file_stamp(object->elf);

	return stamp->inode == inode && stamp->mtime_ns <= (int64_t)changed_ns &&
	       elf_file_is_as_read(object->elf);
}

/* Opens the file of a mapping, and returns whether it has this object's code now, and nobody has
 * written to it since the change time. Only the file's own times show the latter, whoever found the
 * object. -errno: the file cannot be opened. */
static int is_found_to_have(struct object_table *table, pid_t pid, const struct object_mapping *m,
			    const struct object *object, uint64_t changed_ns)
{
	struct object_mapping wanted = *m;
	struct object_open_file file;
	bool is_same;
	int err;

	wanted.build_id = object->build_id;
	wanted.build_id_len = object->build_id_len;
	err = object_open(table->proc_root, pid, &wanted, &table->opener, &file);
	if (err)
		return err;
	is_same = elf_file_identity(file.elf) == elf_file_identity(object->elf) &&
		  (stamp_changed_ns(&file.stamp) == changed_ns ||
		   file.stamp.mtime_ns <= (int64_t)changed_ns);
	elf_file_free(file.elf);
	/* Some file systems without a device of their own give the kernel other numbers. */
	return major(file.stamp.dev) && m->dev_major && file.stamp.inode != m->inode ? -ESTALE
										     : is_same;
}

bool object_table_prove(struct object_table *table, pid_t pid, const struct object_mapping *m,
			const struct object *object, uint64_t changed_ns)
{
	uint32_t known =
		int_map_find(&table->proofs, proof_key(object->number, m->inode, changed_ns));
	int is_same;

	if (known != INT_MAP_NONE)
		return known == PROVEN;
	if (!object->elf)
		return false;
	is_same = is_read_from(object, m->inode, changed_ns);
	if (!is_same)
		is_same = is_found_to_have(table, pid, m, object, changed_ns);
	if (is_same < 0)
		return false;
	keep_proof(table, object, m->inode, changed_ns, is_same ? PROVEN : REFUTED);
	return is_same;
}

int object_table_unproven(struct object_table *table, const struct object *object,
			  const struct object **ret_object)
{
	const struct object stand_in = {
		.kind = OBJECT_ELF,
		.file_id = object_nonzero_id(hash_mix64(object->file_id + STAND_IN)),
		.path = object->path,
		.error = -ESTALE,
		.is_unproven = true,
	};

	if (object->is_unproven) {
		*ret_object = object;
		return 0;
	}
	return object_table_add(table, &stand_in, ret_object);
}

bool object_table_is_still(const struct object_table *table, const struct object *object)
{
	const struct elf_opener *opener = &table->opener;
	int fd = elf_file_duplicate(object->elf), err;
	struct elf_file *now;
	bool is_same;

	if (fd < 0)
		return false;
	err = opener->open(opener->arg, fd, object->path, &now);
	close(fd);
	if (err)
		return false;
	is_same = elf_file_identity(now) == elf_file_identity(object->elf);
	elf_file_free(now);
	return is_same;
}

/* Takes a mapping whose file could not be opened, and whose entry by its inode has none, so that an
 * entry without a file stands for it. */
static int take_unreadable(struct object_table *table, pid_t pid, const struct object_mapping *m,
			   int error, struct entry **ret_entry)
{
	int err = enter_unreadable(table, m, error, ret_entry);

	if (err)
		return err;
	remember_unread(table, pid, m, *ret_entry);
	if (table->opener.fetch && object_pending_is_due(error))
		object_pending_add(&table->pending, table->proc_root, pid, m, &(*ret_entry)->object,
				   error);
	return 0;
}

/* Notes that the file of an entry, which was closed, could not be opened again. */
static void keep_closed(struct object_table *table, pid_t pid, const struct object_mapping *m,
			int error, struct entry *entry)
{
	if (elf_file_is_open(entry->object.elf))
		return;
	entry->reopen_error = error;
	if (table->opener.fetch && object_pending_is_due(error))
		object_pending_add(&table->pending, table->proc_root, pid, m, &entry->object,
				   error);
}

/* Takes a mapping whose file is not read for now, since there are too many (-EDQUOT). New files get
 * no object of their own, since there could be too many objects as well. */
static int leave_unread(struct object_table *table, pid_t pid, const struct object_mapping *m,
			struct entry *known, struct entry **ret_entry)
{
	struct object object = {
		.kind = OBJECT_ELF, .error = -EDQUOT, .file_id = object_hash_text(UNREAD)};
	int err = 0;

	if (!known && !table->unread) {
		object.file_id = object_nonzero_id(object.file_id);
		find_same(table, &object);
		err = enter(table, &object, UNREAD, &table->unread);
	}
	if (err)
		return err;
	*ret_entry = known ? known : table->unread;
	object_pending_add(&table->pending, table->proc_root, pid, m, &(*ret_entry)->object,
			   -EDQUOT);
	return 0;
}

static int resolve_file(struct object_table *table, pid_t pid, const struct object_mapping *m,
			struct entry **ret_entry)
{
	struct entry *entry = NULL;
	struct object_open_file file;

	if (m->build_id_len) {
		entry = find_by_build(table, pid, m);
	} else if (m->inode) {
		struct inode *inode = find_by_inode(table, pid, m);
		if (inode && !inode->entry)
			return resolve_jit(table, pid, ret_entry);
		entry = inode ? inode->entry : NULL;
	}
	if (entry && (is_pending(table, entry, pid, m) || !is_due(table, entry))) {
		*ret_entry = entry;
		return 0;
	}
	int err = open_file(table, pid, m, &file);
	if (!err)
		return enter_file(table, m, &file, ret_entry);
	if (err == -EDQUOT)
		return leave_unread(table, pid, m, entry, ret_entry);
	if (entry && entry->object.elf) {
		keep_closed(table, pid, m, err, entry);
		*ret_entry = entry;
		return 0;
	}
	if (m->build_id_len || !starts_with(m->path, "/memfd:"))
		return take_unreadable(table, pid, m, err, ret_entry);
	if (err == -ENOEXEC && m->inode)
		remember_inode(table, m, NULL, NULL, false);
	return resolve_jit(table, pid, ret_entry);
}

int object_table_resolve(struct object_table *table, pid_t pid, const struct object_mapping *m,
			 const struct object **ret_object)
{
	struct entry *entry;
	int err;

	if (m->build_id_len > ELF_BUILD_ID_MAX || (m->build_id_len && !m->build_id))
		return -ENOENT;
	if (!strcmp(m->path, "[vdso]"))
		err = resolve_vdso(table, m, &entry);
	else if (!m->build_id_len && object_open_is_anonymous(m->path))
		err = resolve_jit(table, pid, &entry);
	else if (m->path[0] == '[' || starts_with(m->path, "anon_inode:"))
		return -ENOENT;
	else
		err = resolve_file(table, pid, m, &entry);
	if (!err && table->copies && entry->object.kind == OBJECT_ELF && entry->object.elf)
		err = object_copies_see(table->copies, table->proc_root, pid, m, &table->opener,
					&entry->object);
	if (err)
		return err;
	entry->object.n_met++;
	*ret_object = &entry->object;
	return 0;
}

/* Resolves a mapping again, which leads to its being pending again if that fails. */
static int resolve_again(struct object_table *table, const struct pending_mapping *p,
			 const struct object_again *again)
{
	const struct object *now;
	int err;

	/* A copy that is complete is taken for a process that has ended, too. */
	if (p->has_failed && !again->is_wanted(again->arg, p->pid, &p->mapping, p->object))
		return 0;
	err = object_table_resolve(table, p->pid, &p->mapping, &now);
	if (err)
		return err == -ENOENT ? 0 : err;
	if (!now->elf && object_pending_is_due(now->error))
		return 0;
	return again->take(again->arg, p->pid, &p->mapping, p->object, now);
}

void object_table_begin_again(struct object_table *table, bool has_news)
{
	object_pending_begin(&table->pending, has_news);
}

int object_table_resolve_again(struct object_table *table, const struct object_again *again,
			       uint64_t now_ns)
{
	struct pending_mapping one;
	int err = 0;

	for (size_t i = 0; i < OBJECT_PENDING_AT_ONCE && !err; i++) {
		if (!object_pending_take(&table->pending, now_ns, &one))
			return 0;
		err = resolve_again(table, &one, again);
		object_pending_free_one(&one);
	}
	return err ? err : 1;
}
