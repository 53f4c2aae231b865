/* SPDX-License-Identifier: MIT */
/*
 * A program that pretends to be Perl 5.36, with structures that lead nowhere: perl_faked KIND...
 *
 * It has the symbols by which an interpreter is found, a Perl_runops_standard() as a compiler makes
 * it, functions that call it as Perl's do, and structures at the right offsets. Three activations
 * of it call spin() (faked.h).
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "faked.h"

const char PL_revision = 5, PL_version = 36, PL_subversion = 0;
const uint16_t PL_interp_size = 3768;

struct name {
	uint32_t hash;
	int32_t length;
	char data[320];
};

struct value {
	void *body;
	uint32_t count, type;
};

struct op {
	struct op *next;
	uint64_t rest[3];
	uint32_t type, line;
	uint64_t more;
	const char *file;
};

struct function {
	uint64_t rest[4];
	struct value *stash;
	struct op *start;
	uint64_t root;
	struct value *glob;
	uint64_t more[4];
};

struct glob {
	uint64_t rest[4];
	struct name *name;
	struct value *stash;
};

struct stash {
	uint64_t rest[4];
	struct name *name;
	uint64_t more[3];
};

struct context {
	uint32_t type, saved;
	uint64_t rest;
	struct op *oldcop;
	uint64_t more[3];
	struct op *retop;
	uint64_t others[2];
	struct value *function;
	uint64_t last[3];
};

struct stack {
	uint64_t values;
	struct context *contexts;
	struct stack *before;
	uint64_t next;
	int32_t index, most;
	uint32_t pad, type;
};

struct state {
	uint64_t first;
	struct op *op;
	uint64_t a[3];
	uint64_t *saves;
	uint64_t b[20];
	struct op *cop;
	uint64_t c;
	struct stack *contexts;
	uint64_t d[66];
	void *handlers;
	void (*call)(struct state *);
	uint64_t e[189];
	void (*loop)(struct state *);
	uint64_t f[184];
};

_Static_assert(sizeof(struct context) == 104 && sizeof(struct state) == 3768, "as Perl's");
_Static_assert(offsetof(struct state, cop) == 26 * 8 &&
		       offsetof(struct state, contexts) == 28 * 8 &&
		       offsetof(struct state, handlers) == 760 &&
		       offsetof(struct state, call) == 768 && offsetof(struct state, loop) == 2288,
	       "as Perl's");

/* Keeps the state in a register, and calls what the state has as its `call`. */
void Perl_runops_standard(struct state *state);
__asm__(".text\n.globl Perl_runops_standard\n.type Perl_runops_standard,@function\n"
	"Perl_runops_standard:\n.cfi_startproc\n push %rbx\n.cfi_def_cfa_offset 16\n"
	".cfi_offset 3,-16\n mov %rdi,%rbx\n call *768(%rbx)\n xor %eax,%eax\n pop %rbx\n"
	".cfi_def_cfa_offset 8\n ret\n.cfi_endproc\n"
	".size Perl_runops_standard,.-Perl_runops_standard\n");

#define FUNCTIONS 5
#define MANY	  60000
#define SUB	  9
#define BLOCK	  2

static struct name names[2] = {{.length = 4, .data = "work"}, {.length = 4, .data = "main"}};
static char file[16] = "/fake.pl";
static struct op statements[FUNCTIONS + 1], operation = {.type = 180};
static struct stash stash_body = {.name = &names[1]};
static struct value stash = {&stash_body, 1, 12};
static struct glob glob_body = {.name = &names[0], .stash = &stash};
static struct value glob = {&glob_body, 1, 9};
static struct function bodies[FUNCTIONS];
static struct value functions[FUNCTIONS];
static struct context contexts[FUNCTIONS], many[MANY];
static struct stack stack = {.contexts = contexts, .index = FUNCTIONS - 1}, stacks[3000];
static struct state state, other_state;
static uint64_t saves[4];
static volatile int is_done;

static void *scribble(void *unused)
{
	uint64_t *words = (uint64_t *)contexts;

	for (uint64_t seed = 1; !is_done;
	     seed = seed * 6364136223846793005u + 1442695040888963407u) {
		words[13 * 3 + (seed >> 40) % 26] =
			seed % 3 ? seed : (uint64_t)&functions[seed % FUNCTIONS];
		stack.index = (int32_t)((seed >> 33) % 8);
	}
	return unused;
}

/* Memory that is in no file. */
static void *beyond(void)
{
	return mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, memfd_create("empty", 0), 0);
}

/* Many contexts that are passed, as loops are. */
static void make_many(void)
{
	for (size_t i = 0; i < MANY; i++)
		many[i].type = BLOCK;
	stack.contexts = many;
	stack.index = MANY - 1;
}

static void make_ring(void)
{
	for (size_t i = 0; i < 3000; i++)
		stacks[i] = (struct stack){0, many, &stacks[(i + 1) % 3000], .index = -1};
	stack.before = stacks;
}

/* Faults of names, and of what leads to them. */
static void make_nameless(void)
{
	if (is("unmapped"))
		functions[4].body = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (is("beyond"))
		contexts[4].function = beyond();
	if (is("type"))
		functions[4].type = 15;
	if (is("glob"))
		bodies[4].glob = (struct value *)names;
	if (is("name"))
		glob_body.name = (struct name *)16;
	if (is("package"))
		stash.body = (void *)-4096;
	if (is("huge"))
		names[0].length = INT32_MAX;
	if (is("minus"))
		names[0].length = names[1].length = -1;
	if (is("escape"))
		memcpy(names[0].data, "\033[2J\n", 5), names[0].length = 5;
	if (is("escape_file"))
		memcpy(file, "\033[2J\n\xff", 7);
	if (is("file"))
		statements[5].file = (char *)1;
	if (is("line"))
		statements[5].line = UINT32_MAX;
	if (is("statement"))
		state.cop = (struct op *)8;
	if (is("start"))
		bodies[4].start = (struct op *)-1;
}

/* Faults of contexts, and of what leads to them. */
static void make_astray(void)
{
	pthread_t thread;

	if (is("loop"))
		stack.before = &stack;
	if (is("ring"))
		make_ring();
	if (is("many"))
		make_many();
	if (is("high"))
		stack.index = INT32_MAX;
	if (is("low"))
		stack.index = INT32_MIN;
	if (is("kernel"))
		stack.contexts = (struct context *)-4096;
	if (is("stack"))
		state.contexts = (struct stack *)0x1234567812345678;
	if (is("one_more"))
		contexts[1].retop = &operation, contexts[2].retop = contexts[0].retop = NULL;
	if (is("one_less"))
		contexts[3].retop = &operation;
	if (is("kinds"))
		contexts[4].type = 0xffffffff;
	if (is("saves"))
		contexts[3].saved = UINT32_MAX, state.saves = (uint64_t *)-1;
	if (is("operation"))
		state.op = (struct op *)-1;
	if (is("scribble"))
		pthread_create(&thread, NULL, scribble, NULL);
}

__attribute__((noinline)) void Perl_call_sv(struct state *of)
{
	of->loop(of);
	__asm__ volatile("");
}

__attribute__((noinline)) void perl_run(struct state *of)
{
	of->loop(of);
	__asm__ volatile("");
}

static void innermost(struct state *of)
{
	(void)of;
	make_nameless();
	make_astray();
	spin();
}

static void second(struct state *of)
{
	of->call = innermost;
	if (is("elsewhere"))
		other_state = *of, of = &other_state;
	Perl_call_sv(of);
}

static void first(struct state *of)
{
	of->call = second;
	Perl_call_sv(of);
}

/* Three activations, each of two functions, of which the first is called by C code; that of the
 * outermost is the program. */
__attribute__((noinline)) static int serve(void)
{
	for (uint32_t i = 0; i <= FUNCTIONS; i++)
		statements[i] = (struct op){.type = 195, .line = 10 + i, .file = file};
	for (size_t i = 0; i < FUNCTIONS; i++) {
		bodies[i] =
			(struct function){.stash = &stash, .start = &statements[0], .glob = &glob};
		functions[i] = (struct value){&bodies[i], 1, 13};
		contexts[i] = (struct context){.type = SUB,
					       .saved = 2,
					       .oldcop = &statements[i],
					       .retop = i % 2 ? NULL : &operation,
					       .function = &functions[i]};
	}
	state = (struct state){.op = &operation,
			       .saves = saves,
			       .cop = &statements[FUNCTIONS],
			       .contexts = &stack,
			       .call = first,
			       .loop = Perl_runops_standard};
	perl_run(&state);
	is_done = 1;
	return 0;
}
