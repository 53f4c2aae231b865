/* SPDX-License-Identifier: MIT */
/*
 * A program that pretends to be PHP 8.2, with structures that lead nowhere: php_faked KIND...
 *
 * It has the symbols by which an interpreter is found, an execute_ex() as a compiler makes it, and
 * structures at the right offsets. Three activations of it call spin() (faked.h).
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "faked.h"

const char php_api[] = "API20220829,NTS";

struct text {
	uint32_t count, kind;
	uint64_t hash, length;
	char data[64];
};

struct op {
	uint64_t handler, operands[2];
	uint32_t line, opcode;
};

struct function {
	uint64_t kind;
	struct text *name;
	uint64_t scope, others[7], count;
	struct op *ops;
	uint64_t more[7];
	struct text *file;
	uint64_t first_line, rest[16];
};

struct frame {
	struct op *op;
	void (*call)(void);
	uint64_t value;
	struct function *function;
	uint64_t this, flags;
	struct frame *before;
	uint64_t rest[9];
};

struct {
	uint64_t before[61];
	struct frame *current;
	uint64_t rest[163];
} executor_globals;

#define TOP (1u << 17)

/* Saves two registers, takes its own, and calls what the frame has as its `call`. Behind the jump
 * is how a function is left for the frame before. */
void execute_ex(struct frame *frame);
__asm__(".text\n.globl execute_ex\n.type execute_ex,@function\nexecute_ex:\n"
	".cfi_startproc\n push %rbx\n.cfi_def_cfa_offset 16\n.cfi_offset 3,-16\n"
	" sub $0x50,%rsp\n.cfi_def_cfa_offset 96\n"
	" mov %r14,0x48(%rsp)\n mov %rdi,%r14\n mov %r15,0x40(%rsp)\n mov (%rdi),%r15\n"
	" mov 0x8(%r14),%rax\n call *%rax\n jmp 2f\n"
	"1: mov 0x30(%r14),%r14\n mov (%r14),%rax\n lea 0x20(%rax),%r15\n jmp *(%r15)\n"
	"2: mov 0x48(%rsp),%r14\n mov 0x40(%rsp),%r15\n add $0x50,%rsp\n.cfi_def_cfa_offset 16\n"
	" pop %rbx\n.cfi_def_cfa_offset 8\n ret\n.cfi_endproc\n.size execute_ex,.-execute_ex\n");

static struct text texts[2] = {{1, 6, 0, 4, "work"}, {1, 6, 0, 9, "/fake.php"}};
static struct op ops[4] = {{.line = 5}, {.line = 5}, {.line = 5}, {.line = 5}};
static struct function functions[6], internal = {.kind = 1};
static struct frame frames[6], others[3000];
static volatile int is_done;

static void *scribble(void *unused)
{
	uint64_t *words = (uint64_t *)frames;

	for (uint64_t seed = 1; !is_done; seed = seed * 6364136223846793005u + 1442695040888963407u)
		words[4 * 16 + (seed >> 40) % 32] = seed % 3 ? seed : (uint64_t)&frames[seed % 6];
	return unused;
}

/* The fault, in the innermost activation's frames, or in what leads to them. */
static void make_fault(void)
{
	struct frame *last = &frames[5];
	pthread_t thread;

	if (is("loop"))
		last->before = last;
	if (is("null"))
		last->before = NULL;
	if (is("unaligned"))
		last->before = (struct frame *)((char *)last->before + 1);
	if (is("kernel"))
		last->before = (struct frame *)-4096;
	if (is("unmapped"))
		last->function = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (is("kinds"))
		functions[5].kind = 7;
	if (is("name"))
		functions[5].name = (struct text *)16;
	if (is("no_text"))
		texts[0].kind = 5;
	if (is("huge"))
		texts[0].length = 1ull << 31;
	if (is("escape"))
		memcpy(texts[0].data, "\033[2J\n", 5), texts[0].length = 5;
	if (is("lines"))
		last->op = (struct op *)1, executor_globals.rest[48] = 3;
	if (is("class"))
		functions[5].scope = 8;
	if (is("current"))
		executor_globals.current = (struct frame *)0x1234567812345678;
	if (is("elsewhere"))
		executor_globals.current = &frames[0];
	if (is("internal")) {
		for (size_t i = 0; i < 3000; i++)
			others[i] = (struct frame){.function = &internal,
						   .before = &others[(i + 1) % 3000]};
		executor_globals.current = others;
	}
	if (is("ring")) {
		for (size_t i = 0; i < 3000; i++)
			others[i] = (struct frame){.op = ops,
						   .function = &functions[5],
						   .before = &others[(i + 1) % 3000]};
		last->before = others;
	}
	if (is("scribble"))
		pthread_create(&thread, NULL, scribble, NULL);
}

static void innermost(void)
{
	executor_globals.current = &frames[5];
	make_fault();
	spin();
}

static void second(void)
{
	execute_ex(&frames[5]);
}

static void first(void)
{
	execute_ex(&frames[3]);
}

/* Three activations, each of two functions, of which the first is called by C code. */
__attribute__((noinline)) static int serve(void)
{
	for (size_t i = 0; i < 6; i++) {
		functions[i] = (struct function){.kind = 2,
						 .name = &texts[0],
						 .count = 4,
						 .ops = ops,
						 .file = &texts[1],
						 .first_line = 2};
		frames[i] = (struct frame){.op = ops,
					   .function = &functions[i],
					   .flags = i % 2 ? 0 : TOP,
					   .before = i ? &frames[i - 1] : NULL};
	}
	frames[1].call = first;
	frames[3].call = second;
	frames[5].call = innermost;
	execute_ex(&frames[1]);
	is_done = 1;
	return 0;
}
