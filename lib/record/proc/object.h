/* SPDX-License-Identifier: MIT */
/*
 * Objects: the files that code was mapped from, each once, however many processes map it.
 *
 * An object stands for code: all files with the same build-id and the same layout (program headers)
 * are one object. It is found again by the mapped file's device, inode and change time, so a file
 * is opened once, not once for each process. Files with the same build-id but another layout
 * (patchelf, BOLT or another link make them) are other objects, and so is the new content of a file
 * that was overwritten. The vDSO, the kernel, its modules and a process's JIT code are objects too.
 * Objects have dense numbers from 0 and are never removed: locations, caches and the store refer to
 * them by number.
 *
 * Opening follows the mapping, not the name: /proc/PID/map_files (right for deleted and replaced
 * files, memfds and other mount namespaces), then /proc/PID/root/PATH, then PATH, and a file found
 * by one of the two paths is used only if device and inode, or the build-id, prove that it is the
 * mapped file. An object whose file cannot be opened has no `elf`, and `error` holds the reason;
 * its frames stay unnamed. The next mapping tries again, so `elf` can appear later: once, inside
 * object_table_resolve(). Files that are no longer mapped may be closed (open_files.h).
 */
#ifndef PROC_OBJECT_H
#define PROC_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "elf/elf_file.h"
#include "proc/jit_owner.h"

enum object_kind {
	OBJECT_ELF,    /* an ELF file; `elf` is NULL if it could not be read */
	OBJECT_VDSO,   /* the kernel's vDSO image */
	OBJECT_JIT,    /* executable memory of one process without a file; offset = address */
	OBJECT_KERNEL, /* vmlinux; offset = address - text start */
	OBJECT_MODULE, /* a kernel module; offset = address - module start */
	OBJECT_TAG,    /* no code: tags whose path is not known; offset = the tag */
	/* no code: a mark that the user set (--mark); `path` is its name; offset = 0 */
	OBJECT_MARK,
	OBJECT_AWAITED, /* no code: what a thread waited for; `path` is its name; offset = 0 */
	OBJECT_MANAGED, /* a source file of a managed language; offset = a hash of function and line
			 * (daemon/recorder/managed.h) */
};

struct object {
	uint32_t number;
	enum object_kind kind;
	uint64_t file_id; /* never 0 */
	char *path;	  /* as the process saw it, e.g. "/usr/lib/libc.so.6" */
	uint8_t build_id[ELF_BUILD_ID_MAX];
	uint8_t build_id_len; /* 0 for none */
	uint64_t layout;      /* OBJECT_ELF: elf_file_layout(); 0: not known */
	struct elf_file *elf; /* the table's; NULL: see error */
	int error; /* why `elf` is NULL: negative errno; 0 if it is not, or no file is needed */
	struct jit_owner owner; /* OBJECT_JIT: the process */
	uint64_t n_met;		/* number of times that a mapping of it was resolved */
	uint64_t address;	/* OBJECT_KERNEL, OBJECT_MODULE: where it starts */
	/* accessed atomically, see object_await_names() and object_want_names() */
	uint32_t names_awaited;
	bool names_wanted;
	bool is_unproven; /* it stands for a file's code at times when that is not known */
};

/* A mapping as /proc/PID/maps or a PERF_RECORD_MMAP2 describes it. */
struct object_mapping {
	uint64_t start, end; /* addresses */
	uint64_t offset;     /* in the file, bytes */
	uint32_t dev_major, dev_minor;
	uint64_t inode;		 /* 0: not known (the record has a build-id instead), or no file */
	const uint8_t *build_id; /* NULL: not known */
	uint8_t build_id_len;
	const char *path; /* "//anon", "[vdso]", "/memfd:x (deleted)", ...; never NULL */
	/* when it was mapped, in nanoseconds of CLOCK_REALTIME; 0: not known */
	uint64_t made_ns;
};

struct object_table;

/* `proc_root` is "/proc" but for tests; the table copies it. Returns 0 or -ENOMEM. */
int object_table_new(const char *proc_root, struct object_table **ret_table);

/* Does the same, but files of mappings are opened by `opener`, which the table copies. */
int object_table_new_by(const char *proc_root, const struct elf_opener *opener,
			struct object_table **ret_table);
void object_table_free(struct object_table *table);

/* From now on, treats mappings as those of another machine, or of ended processes: files found by a
 * mapping's path, and the vDSO, are used only if they have the mapping's build-id. */
void object_table_trust_build_ids_alone(struct object_table *table);

struct object_elsewhere;

/* Makes the table look for files in `elsewhere` as well (object_elsewhere.h). The table owns it
 * from now on, and frees the one that it had before. */
void object_table_look_in(struct object_table *table, struct object_elsewhere *elsewhere);

struct object_copies;

/* From now on, the table also keeps the other files with the same content as an object
 * (object_copies.h). Returns 0 or -ENOMEM. */
int object_table_keep_copies(struct object_table *table);

/* Returns these other files; NULL: object_table_keep_copies() was not called. */
const struct object_copies *object_table_copies(const struct object_table *table);

/* Finds or adds the object that process `pid` has mapped at `m`. Returns 0, with an object that
 * lives as long as the table; -ENOENT: the mapping has neither the code of a file nor JIT code
 * ("[vsyscall]"); -ENOMEM. Opens the file, unless it is known. If neither the mapping's build-id
 * nor the state of its file proves what the file held when it was mapped, gives an object without a
 * file. */
int object_table_resolve(struct object_table *table, pid_t pid, const struct object_mapping *m,
			 const struct object **ret_object);

/* What object_table_resolve_again() asks about a mapping whose file could not be read at first
 * (struct elf_opener), and which was resolved to `before`, and tells. */
struct object_again {
	void *arg;
	/* Returns whether the process still has the mapping; if not, it is forgotten. */
	bool (*is_wanted)(void *arg, pid_t pid, const struct object_mapping *m,
			  const struct object *before);
	/* Takes the mapping, which is now resolved to `now`. That can be the same object, with its
	 * file. Returns 0, or an error with which object_table_resolve_again() ends. */
	int (*take)(void *arg, pid_t pid, const struct object_mapping *m,
		    const struct object *before, const struct object *now);
};

/* Begins to resolve these mappings again: those that failed a minute ago or more, as their file
 * systems did not answer, or as there was no room for copies; and if `has_news`, as copies have
 * become complete, or cannot be made, those that wait for copies. */
void object_table_begin_again(struct object_table *table, bool has_news);

/* Resolves some of them, and keeps those that still cannot be read. Returns 1 if others are to be
 * resolved by further calls; 0; -ENOMEM; or an error of `again`. */
int object_table_resolve_again(struct object_table *table, const struct object_again *again,
			       uint64_t now_ns);

/* A process has called exec, has ended, or its pid is used again: from now on the pid's JIT code is
 * another object. */
void object_table_forget_process(struct object_table *table, pid_t pid);

/* Adds an object that no process has mapped (the kernel, a module). Copies `object`, ignores its
 * number, and replaces a file id of 0 by one made from the build-id or the path. From now on the
 * table owns the object's elf, if any. If the table has an object of this kind with the same
 * content, gives that one. Returns 0, or -ENOMEM with the elf still the caller's. */
int object_table_add(struct object_table *table, const struct object *object,
		     const struct object **ret_object);

/* object_jit_id() returns the file id of a process's JIT code. object_next_id() returns the id to
 * try next if an id is taken, since code from before and after an exec are two objects. */
uint64_t object_jit_id(pid_t pid, uint64_t start_ticks);
uint64_t object_next_id(uint64_t file_id);

/* Returns how many entries of the cache by inode were dropped to make room. The file of such an
 * entry is opened again at its next mapping. */
uint64_t object_table_forgotten(const struct object_table *table);

/* Returns whether it has been found that a file with this inode number and change time (in
 * nanoseconds) has the object's code, so that processes that mapped the file after that time run
 * this code. Both are needed, since files that were written in one tick of the kernel's clock have
 * one change time. (The device is not: some file systems give the kernel another one than
 * stat().) */
bool object_table_has_proof(const struct object_table *table, const struct object *object,
			    uint64_t inode, uint64_t changed_ns);

/* Does the same, but if the answer is unknown, checks the file of mapping `m` of the object (its
 * name, mode or content can have changed since it was opened), and keeps the result. The mapping
 * has the file's inode; its build-id is not used. */
bool object_table_prove(struct object_table *table, pid_t pid, const struct object_mapping *m,
			const struct object *object, uint64_t changed_ns);

/* From now on, object_table_has_proof() returns true for these. */
void object_table_keep_proof(struct object_table *table, const struct object *object,
			     uint64_t inode, uint64_t changed_ns);

/* Gives the object that stands for the code of an object's file at times when it is not known which
 * code the file had. It has no names. For an object that is one already, gives the same. 0 or
 * -ENOMEM. */
int object_table_unproven(struct object_table *table, const struct object *object,
			  const struct object **ret_object);

/* Opens the file from which an object is read again, and returns whether it still has the object's
 * code; false also if it cannot be read. */
bool object_table_is_still(const struct object_table *table, const struct object *object);

/* Returns how often any object got a file to read from: its first one, or another one later. */
uint64_t object_table_openings(const struct object_table *table);

/* Returns the object that got a file in one of these, counted from 0; UINT32_MAX: it was too long
 * ago. */
uint32_t object_table_opened(const struct object_table *table, uint64_t opening);

/* Returns the number of objects. */
uint32_t object_table_count(const struct object_table *table);

/* Returns how often an object that could not be read at first got its `elf` later. */
uint32_t object_table_late_files(const struct object_table *table);

/* Returns an object by its number, which must be below the count; it lives as the table does. */
const struct object *object_table_at(const struct object_table *table, uint32_t number);

/* Names of locations are found in an object's file by another thread, some time after the
 * locations. object_await_names() notes that names of `n` more locations will be looked for, and
 * object_end_await() that this was done, or will not be. object_awaits_names() returns whether any
 * are left. Any thread. */
void object_await_names(const struct object *object, uint32_t n);
void object_end_await(const struct object *object, uint32_t n);
bool object_awaits_names(const struct object *object);

/* Says whether these names are wanted at once, since the file is about to be closed; and returns
 * what was said last. Any thread. */
void object_want_names(const struct object *object, bool at_once);
bool object_wants_names(const struct object *object);

/* Closes the file of an object, which no process may have mapped. Its `elf` can no longer be read,
 * but keeps its identity and headers; the next mapping of the object opens the file again. Returns
 * false if no file was open. */
bool object_table_close(struct object_table *table, uint32_t number);

#endif
