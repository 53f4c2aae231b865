/* SPDX-License-Identifier: MIT */
/*
 * A program that pretends to be CPython 3.12, with structures that lead nowhere: python_faked
 * KIND...
 *
 * It has the symbols by which an interpreter is found, and structures at the right offsets. Three
 * activations of it call spin() (faked.h).
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "faked.h"

const unsigned long Py_Version = 0x030c01f0;

struct text {
	uint64_t head[2], length, hash;
	uint32_t state, pad;
	char data[64];
};

struct code {
	uint8_t before[68];
	uint32_t first_line;
	uint8_t more[20];
	uint32_t version;
	uint8_t even_more[16];
	struct text *file, *qualified_no, *name;
	uint64_t *lines;
	uint8_t rest[192 - 144], instructions[64];
};

struct frame {
	struct code *code;
	struct frame *previous;
	uint64_t others[5];
	uint8_t *instruction;
	uint8_t pad[6], owner, end[25];
};

struct cframe {
	struct frame *frame;
	struct cframe *previous;
};

struct thread {
	uint64_t head;
	struct thread *next;
	uint64_t others[5];
	struct cframe *cframe;
	uint64_t more[9], id, rest[32];
};

struct interpreter {
	struct interpreter *next;
	uint64_t others[8];
	struct thread *threads;
	uint64_t rest[64];
};

struct {
	uint64_t others[5];
	struct interpreter *interpreters;
	uint64_t rest[64];
} _PyRuntime;

static struct interpreter interpreter;
static struct thread thread;
static struct cframe first;
static struct text file = {.length = 8, .hash = 1, .state = 4 | 32 | 64, .data = "/fake.py"};
static struct text name = {.length = 4, .hash = 2, .state = 4 | 32 | 64, .data = "fake"};
static uint64_t lines[8] = {1, 0, 4, ~0ull, 0x00d0d0d0};
static struct code code = {
	.first_line = 7, .version = 5, .file = &file, .name = &name, .lines = lines};
static struct frame frames[3000], entries[3];

/* Returns an address in pages that the kernel has mapped from its own memory, as it maps a
 * device's. */
static void *in_kernel_pages(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	void *found = NULL;

	while (maps && !found && fgets(line, sizeof(line), maps)) {
		if (strstr(line, "[vvar]"))
			sscanf(line, "%p", &found);
	}
	if (maps)
		fclose(maps);
	return found;
}

/* Makes the fault, in the innermost activation. */
static void make_fault(struct cframe *cframe)
{
	void *nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (is("loop"))
		cframe->frame->previous = cframe->frame;
	else if (is("ring"))
		for (int i = 0; i < 3000; i++)
			frames[i] = (struct frame){
				&code, &frames[(i + 1) % 3000], {0}, code.instructions, {0}, 0,
				{0}};
	else if (is("null"))
		cframe->frame = (struct frame *)16;
	else if (is("kernel"))
		cframe->frame = (struct frame *)0xffff888000000000;
	else if (is("device"))
		cframe->frame = in_kernel_pages();
	else if (is("unmapped"))
		cframe->frame = nowhere;
	else if (is("huge"))
		name.length = (2ull << 30) + 1;
	else if (is("lines"))
		lines[2] = ~0ull >> 4;
	else if (is("escape"))
		memcpy(name.data, "\033]0;x\007\n", name.length = 7);
	else if (is("kinds"))
		name.state = ~0u;
	else if (is("cframes"))
		cframe->previous = cframe;
	else if (is("code"))
		code.file = nowhere;
	else if (is("object"))
		cframe->frame->code = nowhere;
	else if (is("threads"))
		thread.id = 1, thread.next = &thread;
	else if (is("list"))
		interpreter.threads = NULL, interpreter.next = &interpreter;
	else if (is("garbage"))
		memset(&_PyRuntime, 0xfe, sizeof(_PyRuntime));
}

/* Changes all words that lead to frames, all the time. */
static void *scribble(void *cframe)
{
	for (uint32_t seed = 1;; seed = seed * 1664525 + 1013904223) {
		struct frame *frame = &frames[seed >> 20 & 3];

		((struct cframe *)cframe)->frame = frame;
		frame->previous = seed & 64 ? &entries[seed >> 18 & 3] : &frames[seed >> 16 & 3];
		frame->owner = seed & 128 ? 3 : 0;
		frame->code = seed & 256 ? &code : (struct code *)&frames[1];
	}
	return NULL;
}

__attribute__((noinline)) void _PyEval_EvalFrameDefault(struct thread *state, int depth)
{
	volatile struct cframe cframe = {&frames[depth], state->cframe};
	pthread_t other;

	frames[depth] =
		(struct frame){&code, &entries[depth], {0}, code.instructions + 2, {0}, 0, {0}};
	entries[depth].owner = 3;
	entries[depth].previous = cframe.previous->frame;
	state->cframe = (struct cframe *)&cframe;
	if (depth) {
		_PyEval_EvalFrameDefault(state, depth - 1);
	} else {
		make_fault((struct cframe *)&cframe);
		if (is("scribble"))
			pthread_create(&other, NULL, scribble, (struct cframe *)&cframe);
		spin();
	}
	state->cframe = cframe.previous;
}

__attribute__((noinline)) static int serve(void)
{
	thread.id = pthread_self();
	thread.cframe = &first;
	interpreter.threads = &thread;
	_PyRuntime.interpreters = &interpreter;
	_PyEval_EvalFrameDefault(&thread, 2);
	return 0;
}
