/* SPDX-License-Identifier: MIT */
/*
 * Replays the stacks of a recording: replay FILE SECONDS. The file has a line for each sample,
 * in the order of time: a number for each frame, root first. For a millisecond each, this program
 * is where they were: it returns from what is no longer there and calls what is new, so successive
 * stacks share what they shared then. Meanwhile it reads a megabyte of memory, as programs do.
 *
 * Each number has a function of its own, with a frame pointer (so that the kernel's own walk can be
 * measured on it too), saved registers and a frame of some size. All of them ask next() what to do:
 * it answers with the function to be called next, or with NULL to return.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FUNCTIONS 16384
#define STRIDE	  64 /* bytes of code */
#define MAX_DEPTH 1000
#define MEMORY	  (1u << 20)
#define STEP_NS	  1000000

typedef void (*function)(void);

extern char functions[]; /* STRIDE bytes each */
function next(void);

/* In assembly, since there are many of them. */
__asm__("	.text\n"
	"	.balign 64\n"
	"functions:\n"
	"	.set i, 0\n"
	"	.rept 16384\n"
	"	.balign 64\n"
	"	.cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset %rbp, -16\n"
	"	mov %rsp, %rbp\n"
	"	.cfi_def_cfa_register %rbp\n"
	"	push %r12\n"
	"	.cfi_offset %r12, -24\n"
	"	push %rbx\n"
	"	.cfi_offset %rbx, -32\n"
	"	sub $(16 * (i % 12)), %rsp\n"
	"0:	call next\n"
	"	test %rax, %rax\n"
	"	jz 1f\n"
	"	call *%rax\n"
	"	jmp 0b\n"
	"1:	lea -16(%rbp), %rsp\n"
	"	pop %rbx\n"
	"	pop %r12\n"
	"	pop %rbp\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"	.set i, i + 1\n"
	"	.endr\n");

struct stack {
	uint16_t *frames;
	size_t depth;
};

static struct stack *stacks;
static size_t n_stacks, at_stack;

static uint16_t path[MAX_DEPTH]; /* where the program is */
static size_t depth;
static uint8_t memory[MEMORY];

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static __attribute__((noipa)) unsigned dwell(void)
{
	static size_t at;
	uint64_t end = now_ns() + STEP_NS;
	unsigned sum = 0;

	do {
		for (int i = 0; i < 512; i++) {
			sum += memory[at];
			at = (at * 5 + 4099 * 64) & (MEMORY - 1);
		}
	} while (now_ns() < end);
	return sum;
}

/* True if `path`, where the program is, is a prefix of the next stack. */
static int is_on_the_way(const struct stack *stack)
{
	return depth <= stack->depth && !memcmp(path, stack->frames, depth * sizeof(*path));
}

__attribute__((noipa, used)) function next(void)
{
	const struct stack *stack = &stacks[at_stack];

	while (is_on_the_way(stack) && depth == stack->depth) {
		dwell();
		at_stack = (at_stack + 1) % n_stacks;
		stack = &stacks[at_stack];
	}
	if (!is_on_the_way(stack)) {
		depth--;
		return NULL;
	}
	path[depth] = stack->frames[depth];
	return (function)(uintptr_t)(functions + (size_t)path[depth++] * STRIDE);
}

static void *or_die(void *p)
{
	if (!p) {
		perror("replay");
		exit(1);
	}
	return p;
}

static void read_stack(char *line)
{
	uint16_t frames[MAX_DEPTH];
	struct stack *stack;
	size_t n = 0;

	for (char *end; n < MAX_DEPTH; line = end) {
		unsigned long number = strtoul(line, &end, 10);

		if (end == line)
			break;
		frames[n++] = (uint16_t)(number % FUNCTIONS);
	}
	if (!n)
		return;
	stacks = or_die(reallocarray(stacks, n_stacks + 1, sizeof(*stacks)));
	stack = &stacks[n_stacks++];
	stack->depth = n;
	stack->frames = or_die(malloc(n * sizeof(*frames)));
	memcpy(stack->frames, frames, n * sizeof(*frames));
}

int main(int argc, char **argv)
{
	char *line = NULL;
	size_t room = 0;
	FILE *in;

	if (argc != 3) {
		fprintf(stderr, "usage: replay FILE SECONDS\n");
		return 2;
	}
	in = or_die(fopen(argv[1], "r"));
	while (getline(&line, &room, in) > 0)
		read_stack(line);
	fclose(in);
	free(line);
	if (!n_stacks) {
		fprintf(stderr, "replay: no stacks in %s\n", argv[1]);
		return 1;
	}
	alarm((unsigned)atoi(argv[2]));
	for (;;) {
		function f = next();

		if (f)
			f();
		else
			depth = 0;
	}
}
