/* SPDX-License-Identifier: MIT */
/*
 * The test program walks itself: its mappings as objects, and snapshots of its threads
 * (registers and a copy of the stack), to be walked by lib/code/unwind.
 */
#ifndef WALK_SELF_H
#define WALK_SELF_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>
#include <unwind.h>

#include "elf/elf_file.h"
#include "unwind/dwarf_walk.h"

#define SELF_MAX_MAPPINGS 512
#define SELF_MAX_FRAMES	  4096

struct self_mapping {
	uint64_t start, end, offset;
	struct object *object;
};

/* The executable mappings of this process, by address. */
struct self_map {
	struct self_mapping mappings[SELF_MAX_MAPPINGS];
	size_t count;
	struct object objects[SELF_MAX_MAPPINGS];
	uint32_t n_objects;
};

static inline bool self_find(void *arg, uint64_t address, const struct object **ret_object,
			     uint64_t *ret_offset)
{
	const struct self_map *map = arg;
	size_t low = 0, high = map->count;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (map->mappings[mid].end <= address)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == map->count || address < map->mappings[low].start)
		return false;
	*ret_object = map->mappings[low].object;
	*ret_offset = address - map->mappings[low].start + map->mappings[low].offset;
	return true;
}

static inline void self_open(struct object *object, uint64_t start, uint64_t end)
{
	int fd;

	if (!strcmp(object->path, "[vdso]")) {
		object->kind = OBJECT_VDSO;
		object->error = elf_file_open_memory((void *)start, end - start, &object->elf);
		return;
	}
	fd = open(object->path, O_RDONLY | O_CLOEXEC);
	if (object->path[0] != '/' || fd < 0)
		object->kind = OBJECT_JIT;
	else
		object->error = elf_file_open(fd, &object->elf);
	if (fd >= 0)
		close(fd);
}

static inline struct object *self_object(struct self_map *map, const char *path, uint64_t start,
					 uint64_t end)
{
	struct object *object;

	for (uint32_t i = 0; *path && i < map->n_objects; i++) {
		if (!strcmp(map->objects[i].path, path))
			return &map->objects[i];
	}
	object = &map->objects[map->n_objects];
	*object = (struct object){.number = map->n_objects++, .path = strdup(path)};
	self_open(object, start, end);
	return object;
}

static inline struct self_map *self_map_new(void)
{
	struct self_map *map = calloc(1, sizeof(*map));
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[4096];

	while (map && maps && fgets(line, sizeof(line), maps)) {
		struct self_mapping m = {0};
		char mode[5], path[4096] = "";

		if (sscanf(line, "%lx-%lx %4s %lx %*s %*s %4095[^\n]", &m.start, &m.end, mode,
			   &m.offset, path) < 4 ||
		    mode[2] != 'x' || map->count == SELF_MAX_MAPPINGS || m.start >> 63)
			continue;
		m.object = self_object(map, path, m.start, m.end);
		if (m.object->kind == OBJECT_JIT)
			m.offset = m.start;
		map->mappings[map->count++] = m;
	}
	if (maps)
		fclose(maps);
	return map;
}

static inline void self_map_free(struct self_map *map)
{
	for (uint32_t i = 0; i < map->n_objects; i++) {
		elf_file_free(map->objects[i].elf);
		free(map->objects[i].path);
	}
	free(map);
}

/* --- snapshots ----------------------------------------------------------------------------- */

struct snapshot {
	struct stackd_regs regs;
	uint8_t *stack; /* owned */
	size_t stack_bytes;
	uint64_t expected[SELF_MAX_FRAMES]; /* libgcc's; the first is in take_snapshot_to() */
	int n_expected;
};

static inline uint64_t end_of_stack(void)
{
	pthread_attr_t attr;
	void *start;
	size_t size;

	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstack(&attr, &start, &size);
	pthread_attr_destroy(&attr);
	return (uint64_t)start + size;
}

/* libgcc's unwinder is what backtrace(3) uses; that one is intercepted by sanitizers. */
static inline _Unwind_Reason_Code self_on_frame(struct _Unwind_Context *context, void *arg)
{
	struct snapshot *s = arg;

	if (s->n_expected == SELF_MAX_FRAMES || !_Unwind_GetIP(context))
		return _URC_END_OF_STACK;
	s->expected[s->n_expected++] = _Unwind_GetIP(context);
	return _URC_NO_REASON;
}

/* Copies without instrumentation: stacks have red zones that the sanitizer forbids to read. */
static inline void copy_raw(void *to, uint64_t from, size_t len)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(len) : : "memory");
}

/* All registers as they are at the label 1, which is the program counter. */
static inline __attribute__((always_inline)) void take_registers(struct stackd_regs *regs)
{
	__asm__ volatile("movq %%rax, 0(%0)\n\t"
			 "movq %%rdx, 8(%0)\n\t"
			 "movq %%rcx, 16(%0)\n\t"
			 "movq %%rbx, 24(%0)\n\t"
			 "movq %%rsi, 32(%0)\n\t"
			 "movq %%rdi, 40(%0)\n\t"
			 "movq %%rbp, 48(%0)\n\t"
			 "movq %%rsp, 56(%0)\n\t"
			 "movq %%r8, 64(%0)\n\t"
			 "movq %%r9, 72(%0)\n\t"
			 "movq %%r10, 80(%0)\n\t"
			 "movq %%r11, 88(%0)\n\t"
			 "movq %%r12, 96(%0)\n\t"
			 "movq %%r13, 104(%0)\n\t"
			 "movq %%r14, 112(%0)\n\t"
			 "movq %%r15, 120(%0)\n\t"
			 "leaq 1f(%%rip), %%rax\n\t"
			 "movq %%rax, 128(%0)\n\t"
			 "1:"
			 :
			 : "D"(regs->r)
			 : "rax", "memory");
}

/* Copies registers and stack of the calling thread, up to `end` (0: the end of its stack). */
static __attribute__((noinline, unused)) void take_snapshot_to(struct snapshot *s, uint64_t end)
{
	uint64_t sp;

	if (!end)
		end = end_of_stack();
	s->n_expected = 0;
	_Unwind_Backtrace(self_on_frame, s);
	take_registers(&s->regs);
	sp = s->regs.r[STACKD_REG_SP];
	s->stack_bytes = end - sp;
	s->stack = malloc(s->stack_bytes);
	copy_raw(s->stack, sp, s->stack_bytes);
}

/* Keeps a call from becoming a jump, and a value from being known. */
static inline int opaque(int v)
{
	__asm__ volatile("" : "+r"(v) : : "memory");
	return v;
}

/* Takes a snapshot under `depth` calls of itself. */
static __attribute__((noinline, unused)) int recurse(struct snapshot *s, int depth)
{
	if (!depth) {
		take_snapshot_to(s, 0);
		return 0;
	}
	return opaque(recurse(s, depth - 1)) + 1;
}

static inline void snapshot_free(struct snapshot *s)
{
	free(s->stack);
	s->stack = NULL;
}

static inline struct walk_input snapshot_input(const struct snapshot *s, struct self_map *map)
{
	return (struct walk_input){
		.regs = s->regs,
		.stack = s->stack,
		.stack_bytes = s->stack_bytes,
		.find = self_find,
		.arg = map,
	};
}

#endif
