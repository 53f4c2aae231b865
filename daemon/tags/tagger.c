/* SPDX-License-Identifier: MIT */
/* Recognizes processes that keep tags; see tagger.h. */
#include "daemon/recorder/tagger.h"

#define HASH_NONFATAL_OOM 1
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <uthash.h>

#include "base/hash.h"
#include "base/mount_kind.h"
#include "base/vec.h"
#include "daemon/tags/ask_tags.h"
#include "daemon/tags/tagger_code.h"
#include "proc/proc_fs.h"

#define MAX_PROGRAMS 1000000u

/* The result of tag_files_info() for an object's file, which is called once. */
struct part {
	bool is_known;
	struct tag_file_info info;
};

struct program {
	uint64_t identity;
	uint32_t number;
	UT_hash_handle hh;
};

/* A process that has mapped code which keeps a tag. */
struct keeper {
	pid_t pid;
	uint64_t identity; /* identity of its program, with all instrumented files that it has
			    * mapped so far */
	uint64_t word;	   /* address of libstacktag's word; 0: the library is not mapped */
	int64_t offset;	   /* value of the word: distance of the tag from the thread pointer; 0: not
			    * filled yet */
	UT_hash_handle hh;
};

struct tagger {
	struct tagger_maps maps;
	struct tag_files *files;
	VEC(struct part) parts; /* index: number of the object */
	struct keeper *processes;
	struct program *programs;
	uint32_t found, waiting; /* number of processes whose tag was found so far; number of
				  * processes whose word libstacktag has not filled yet */
};

/* Makes a tagger, which takes over `files`, also on failure. */
static int make(const struct tagger_maps *maps, struct tag_files *files, struct tagger **ret_tagger)
{
	struct tagger *t = calloc(1, sizeof(*t));

	if (!t) {
		tag_files_free(files);
		return -ENOMEM;
	}
	t->maps = *maps;
	if (!t->maps.memory.proc)
		t->maps.memory.proc = "/proc";
	t->files = files;
	*ret_tagger = t;
	return 0;
}

int tagger_new(const struct tagger_maps *maps, const struct ask_files *files,
	       struct tagger **ret_tagger)
{
	struct tag_files *tag_files;
	int err = ask_tags_new(files, &tag_files);

	return err ? err : make(maps, tag_files, ret_tagger);
}

int tagger_new_here(const struct tagger_maps *maps, struct tagger **ret_tagger)
{
	struct tag_files *tag_files;
	int err = tag_files_here_new(&tag_files);

	return err ? err : make(maps, tag_files, ret_tagger);
}

void tagger_free(struct tagger *t)
{
	struct keeper *process, *next;
	struct program *program, *next_program;

	if (!t)
		return;
	HASH_ITER (hh, t->processes, process, next) {
		HASH_DEL(t->processes, process);
		free(process);
	}
	HASH_ITER (hh, t->programs, program, next_program) {
		HASH_DEL(t->programs, program);
		free(program);
	}
	free(t->parts.items);
	tag_files_free(t->files);
	free(t);
}

uint32_t tagger_processes(const struct tagger *t)
{
	return t->found;
}

bool tagger_is_idle(const struct tagger *t)
{
	return !t->found && !t->waiting;
}

/* --- objects ---------------------------------------------------------------------------------- */

/* Returns an object's entry, and asks about its file the first time; NULL without memory. */
static struct part *part_of(struct tagger *t, const struct object *object)
{
	size_t need = (size_t)object->number + 1;
	struct part *part;

	if (t->parts.count < need && VEC_RESERVE(&t->parts, need - t->parts.count))
		return NULL;
	while (t->parts.count < need)
		t->parts.items[t->parts.count++] = (struct part){0};
	part = &t->parts.items[object->number];
	if (part->is_known || object->kind != OBJECT_ELF || !object->elf)
		return part;
	part->is_known = true;
	tag_files_info(t->files, object, &part->info);
	return part;
}

bool tagger_has_functions(struct tagger *t, const struct object *object)
{
	const struct part *part = object ? part_of(t, object) : NULL;

	return part && part->info.has_functions;
}

bool tagger_find(struct tagger *t, const struct object *object, uint64_t vaddr,
		 struct tagged_code *ret_code)
{
	const struct part *part = object ? part_of(t, object) : NULL;

	return part && part->info.has_functions &&
	       tag_files_find(t->files, object, vaddr, ret_code);
}

bool tagger_is_window(struct tagger *t, const struct object *object, uint64_t vaddr)
{
	const struct part *part = part_of(t, object);

	return part && part->info.has_functions && tag_files_is_window(t->files, object, vaddr);
}

bool tagger_is_runtime(struct tagger *t, const struct object *object, uint64_t offset)
{
	const struct part *part = object ? part_of(t, object) : NULL;
	uint64_t vaddr;

	if (!part || !part->info.has_note || !part->info.has_functions)
		return part && part->info.has_note;
	if (!elf_file_offset_to_vaddr(object->elf, offset, &vaddr))
		return false;
	return tag_files_is_runtime(t->files, object, vaddr);
}

/* --- programs --------------------------------------------------------------------------------- */

/* Identifies the executable that a process runs. */
static uint64_t identity_of_exe(pid_t pid)
{
	struct stat is;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	if (mount_stat_path(path, &is)) /* a program may serve the file's file system */
		return hash_mix64((uint64_t)pid);
	return hash_mix64(hash_mix64(hash_mix64(is.st_dev) + is.st_ino) +
			  (uint64_t)is.st_ctim.tv_sec * 1000000000u + (uint64_t)is.st_ctim.tv_nsec);
}

/* Returns the number of a program; 0: there are too many. */
static uint32_t number_of(struct tagger *t, uint64_t identity)
{
	struct program *program;

	HASH_FIND(hh, t->programs, &identity, sizeof(identity), program);
	if (program)
		return program->number;
	if (HASH_COUNT(t->programs) >= MAX_PROGRAMS)
		return 0;
	program = calloc(1, sizeof(*program));
	if (!program)
		return 0;
	program->identity = identity;
	program->number = HASH_COUNT(t->programs) + 1;
	HASH_ADD(hh, t->programs, identity, sizeof(identity), program);
	return program->number;
}

/* --- processes -------------------------------------------------------------------------------- */

static struct keeper *process_of(struct tagger *t, pid_t pid)
{
	struct keeper *process;

	HASH_FIND_INT(t->processes, &pid, process);
	return process;
}

static struct keeper *add_process(struct tagger *t, pid_t pid)
{
	struct keeper *process = calloc(1, sizeof(*process));

	if (!process)
		return NULL;
	process->pid = pid;
	HASH_ADD_INT(t->processes, pid, process);
	return process;
}

/* Enters a process into the kernel half's map. If the map is full, samples of the process are
 * walked. */
static void publish(struct tagger *t, const struct keeper *process)
{
	__u32 pid = (__u32)process->pid;
	struct stackd_tagged row = {
		.offset = process->offset,
		.program = number_of(t, process->identity),
	};
	struct stackd_tagged old;
	bool is_there = !bpf_map_lookup_elem(t->maps.tagged_fd, &pid, &old);

	if (!row.program)
		return;
	if (!bpf_map_update_elem(t->maps.tagged_fd, &pid, &row, BPF_ANY) && !is_there)
		++*t->maps.n_tagged;
}

struct word {
	const struct memory_source *from;
	pid_t pid;
	uint64_t address;
	int64_t value;
};

/* Reads the word through a thread, if it is in a page that the process has written to. 1: done; 0:
 * the thread has ended, so that its memory cannot be read, or libstacktag has not filled the
 * word. */
static int read_word_by(void *arg, pid_t tid)
{
	struct word *word = arg;

	if (resident_memory_read_own_some(word->from, tid, word->address, &word->value,
					  sizeof(word->value)) != sizeof(word->value))
		word->value = 0;
	return word->value != 0;
}

/* Reads the word of a process; 0: it is not filled yet. */
static int64_t read_word(const struct tagger *t, const struct keeper *process)
{
	struct word word = {.from = &t->maps.memory, .pid = process->pid, .address = process->word};

	if (!read_word_by(&word, word.pid))
		proc_fs_each_task("/proc", word.pid, read_word_by, &word);
	return word.value;
}

/* Reads the word of a process; if libstacktag has filled it, enters the process into the kernel
 * half's map. */
static void ask(struct tagger *t, struct keeper *process)
{
	process->offset = read_word(t, process);
	if (!process->offset)
		return;
	t->waiting--;
	t->found++;
	publish(t, process);
}

/* Takes a new mapping of an object's code, whose file offset `offset` is at `address`. */
static int on_map(struct tagger *t, pid_t pid, const struct object *object, uint64_t address,
		  uint64_t offset)
{
	struct part *part = part_of(t, object);
	struct keeper *process = process_of(t, pid);
	uint64_t vaddr;

	if (!part)
		return -ENOMEM;
	if (!part->info.has_note && !part->info.has_functions)
		return 0;
	if (!process)
		process = add_process(t, pid);
	if (!process)
		return -ENOMEM;
	if (!process->identity)
		process->identity = identity_of_exe(pid);
	process->identity = hash_mix64(process->identity + object->file_id);
	if (part->info.has_note && !process->word &&
	    elf_file_offset_to_vaddr(object->elf, offset, &vaddr)) {
		process->word = part->info.word - vaddr + address;
		t->waiting++;
	}
	if (process->offset)
		publish(t, process);
	else if (process->word)
		ask(t, process);
	return 0;
}

static void on_end(struct tagger *t, pid_t pid)
{
	struct keeper *process = process_of(t, pid);
	__u32 key = (__u32)pid;

	if (!process)
		return;
	if (process->word && !process->offset)
		t->waiting--;
	if (process->offset && !bpf_map_delete_elem(t->maps.tagged_fd, &key))
		--*t->maps.n_tagged;
	HASH_DEL(t->processes, process);
	free(process);
}

struct others {
	pid_t pid, tid;
	bool found;
};

static int look_at_task(void *arg, pid_t tid)
{
	struct others *others = arg;
	struct proc_fs_stat stat;

	/* The first thread stays in the list as a zombie until the last thread has ended. */
	if (tid == others->tid ||
	    (tid == others->pid && (proc_fs_stat("/proc", tid, &stat) || stat.state == 'Z')))
		return 0;
	others->found = true;
	return 0;
}

/* Takes the end of a thread. The process has ended if that was its last thread. */
static void on_exit_event(struct tagger *t, pid_t pid, pid_t tid)
{
	struct others others = {.pid = pid, .tid = tid};

	if (!process_of(t, pid))
		return;
	proc_fs_each_task("/proc", pid, look_at_task, &others);
	if (!others.found)
		on_end(t, pid);
}

static int on_fork(struct tagger *t, pid_t parent, pid_t child)
{
	const struct keeper *from = process_of(t, parent);
	struct keeper *process;

	if (!from || parent == child)
		return 0;
	on_end(t, child); /* an earlier process with the same id */
	process = add_process(t, child);
	if (!process)
		return -ENOMEM;
	process->identity = from->identity;
	process->word = from->word;
	process->offset = from->offset;
	if (process->offset) {
		t->found++;
		publish(t, process);
	} else if (process->word) {
		t->waiting++;
	}
	return 0;
}

int tagger_on_event(struct tagger *t, const struct sideband_event *event,
		    const struct object *object)
{
	if (event->kind == SIDEBAND_FORK)
		return on_fork(t, event->parent_pid, event->pid);
	if (event->kind == SIDEBAND_MMAP && object)
		return on_map(t, event->pid, object, event->mapping.start, event->mapping.offset);
	if (event->kind == SIDEBAND_COMM && event->is_exec)
		on_end(t, event->pid);
	if (event->kind == SIDEBAND_EXIT)
		on_exit_event(t, event->pid, event->tid);
	return 0;
}

/* The argument of a walk over a process's mappings. */
struct look {
	struct tagger *tagger;
	struct process_table *processes;
	pid_t pid;
};

static int look_at_map(void *arg, const struct proc_fs_map *map)
{
	const struct look *look = arg;
	const struct mapping *m;

	if (!map->executable)
		return 0;
	m = process_table_mapping(look->processes, look->pid, map->start);
	return m ? on_map(look->tagger, look->pid, m->object, m->start, m->offset) : 0;
}

int tagger_load(struct tagger *t, struct process_table *processes, pid_t pid)
{
	struct look look = {.tagger = t, .processes = processes, .pid = pid};

	on_end(t, pid);
	return proc_fs_each_map("/proc", pid, look_at_map, &look) == -ENOMEM ? -ENOMEM : 0;
}

void tagger_poll(struct tagger *t)
{
	struct keeper *process, *next;

	if (!t->waiting)
		return;
	HASH_ITER (hh, t->processes, process, next) {
		if (process->word && !process->offset)
			ask(t, process);
	}
}
