/* SPDX-License-Identifier: MIT */
/* Detours (unwind/detour.h) in the code of this program, of which the call frame information is
 * right or wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "unwind/detour.h"
#include "unwind/recipe.h"

#define FRAME ".cfi_startproc\nsub $24, %rsp\n.cfi_def_cfa_offset 32\n"
#define TRY   "push %r11\n.cfi_def_cfa_offset 40\npush 16(%r14)\n.cfi_def_cfa_offset 48\n"
#define UNTRY "pop 16(%r14)\n.cfi_def_cfa_offset 40\nadd $8, %rsp\n.cfi_def_cfa_offset 32\n"
#define FREE  "add $24, %rsp\n.cfi_def_cfa_offset 8\nret\n.cfi_def_cfa_offset 32\n"
#define ALLOC "sub $24, %r15\ncmp (%r14), %r15\n"
#define FAR   ".skip 200, 0x90\n" /* the jumps have 32 bits */
#define CALL  "call gc\n"
#define END   ".cfi_endproc\n.balign 16, 0xcc\n"

/* In a name, "at" is the call, and "to" the jump back. Nothing runs. */
__asm__(".pushsection .text\n.balign 16, 0xcc\n"
	"gc: .cfi_startproc\nret\n" END
	/* As OCaml's compiler has it: in the body of a handler, and outside of it. */
	"body: " FRAME "1: " ALLOC "jb plain_at\n2: nop\n" TRY ALLOC
	"jb body_at\n3: nop\n" UNTRY FREE "plain_at: " CALL "plain_to: jmp 2b\nbody_at: " CALL
	"body_to: jmp 3b\n" END "far: " FRAME TRY ALLOC "jb far_at\n1: nop\n" FAR UNTRY FREE
	"far_at: " CALL "far_to: jmp 1b\n" END
	/* The handler: a call there does not return, and what is behind it has another frame. */
	"raises: " FRAME TRY ALLOC "jb raises_at\n1: nop\ncall gc\nnop\n.cfi_def_cfa_offset 32\n"
	"2: nop\n" FREE "raises_at: " CALL "raises_to: jmp 1b\njmp 2b\n" END
	/* A branch to a jump: no branch is right before the place to which the detour goes back. */
	"loop: " FRAME TRY "1: nop\ncmp (%r14), %r15\nja 1b\njmp loop_at\n" UNTRY FREE
	"loop_at: " CALL "loop_to: jmp 1b\n" END
	/* The information is right at the detour, and wrong where it goes: all rules stay. */
	"stale: .cfi_startproc\nsub $24, %rsp\n.cfi_def_cfa_offset 32\njmp 1f\n"
	".cfi_def_cfa_offset 64\n1: " ALLOC "jb stale_at\n2: nop\nadd $24, %rsp\n"
	".cfi_def_cfa_offset 8\nret\n.cfi_def_cfa_offset 32\nstale_at: " CALL
	"stale_to: jmp 2b\n" END
	/* Two branches with different depths lead to it. */
	"mixed: " FRAME ALLOC "jb mixed_at\n" TRY ALLOC "jb mixed_at\n1: nop\n" UNTRY FREE
	"mixed_at: " CALL "mixed_to: jmp 1b\n" END
	/* The stack pointer is lost. */
	"lost: " FRAME TRY "mov %rbx, %rsp\n" ALLOC "jb lost_at\n1: nop\n" UNTRY FREE
	"lost_at: " CALL "lost_to: jmp 1b\n" END
	/* Other code of the function contradicts the detour. */
	"odd: " FRAME TRY ALLOC "jb odd_at\n1: nop\n" UNTRY FREE "nop\njmp 1b\n"
	"odd_at: " CALL "odd_to: jmp 1b\n" END
	/* Nothing is wrong: the jump is behind code that has changed the depth. */
	"said: " FRAME TRY ALLOC "jb 2f\n1: nop\n" UNTRY FREE "2: push %rax\n"
	".cfi_def_cfa_offset 56\nsaid_at: " CALL "pop %rax\n.cfi_def_cfa_offset 48\n"
	"said_to: jmp 1b\n" END ".popsection\n");

extern const char plain_at[], plain_to[], body_at[], body_to[], far_at[], far_to[], raises_at[],
	raises_to[], loop_at[], loop_to[], stale_at[], stale_to[], mixed_at[], mixed_to[],
	lost_at[], lost_to[], odd_at[], odd_to[], said_at[], said_to[];
extern const char __executable_start[];

static const struct {
	const char *at, *to;
	int32_t distance, behind; /* at the call, and at the jump */
} places[] = {
	{plain_at, plain_to, 32, 32},	{body_at, body_to, 48, 48}, {far_at, far_to, 48, 48},
	{raises_at, raises_to, 48, 48}, {loop_at, loop_to, 48, 48}, {stale_at, stale_to, 32, 32},
	{mixed_at, mixed_to, 32, 32},	{lost_at, lost_to, 32, 32}, {odd_at, odd_to, 32, 32},
	{said_at, said_to, 56, 48},
};
#define PLACES (sizeof(places) / sizeof(places[0]))

static struct elf_file *file;

static int set_up(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)state;
	return fd < 0 ? -1 : elf_file_open(fd, &file);
}

static int tear_down(void **state)
{
	(void)state;
	elf_file_free(file);
	return 0;
}

static uint64_t vaddr_of(const char *code)
{
	return (uint64_t)(code - __executable_start);
}

static void assert_distance(const struct stackd_rule *rule, int32_t distance)
{
	assert_int_equal(rule->cfa, STACKD_CFA_REG);
	assert_int_equal(rule->reg, STACKD_REG_SP);
	assert_int_equal(rule->cfa_offset, distance);
	assert_int_equal(rule->ra_offset, -8);
}

static void assert_table(const struct recipe_table *table, uint64_t vaddr, int32_t distance)
{
	uint64_t offset = 0;

	assert_true(elf_file_vaddr_to_offset(file, vaddr, &offset));
	assert_distance(recipe_lookup(table, offset), distance);
}

/* The kernel half's table has the right rules in all of each detour. */
static void table_has_rules(void **state)
{
	struct recipe_table *table;

	(void)state;
	assert_int_equal(recipe_compile(file, &table), 0);
	for (size_t i = 0; i < PLACES; i++) {
		print_message("%zu\n", i);
		for (uint64_t at = 0; at < 5; at++)
			assert_table(table, vaddr_of(places[i].at) + at, places[i].distance);
		assert_table(table, vaddr_of(places[i].to), places[i].behind);
		assert_table(table, vaddr_of(places[i].to) + 1, places[i].behind);
	}
	recipe_table_free(table);
}

static void assert_single(const struct cfi_index *index, uint64_t vaddr, bool is_return,
			  int32_t distance)
{
	struct walk_rule rule;

	assert_int_equal(walk_rule_compile(index, vaddr, &rule), 0);
	rule.is_called = true;
	assert_int_equal(detour_improve(file, index, vaddr, is_return, &rule), 0);
	assert_distance(&rule.fast, distance);
	assert_true(rule.is_called);
	assert_int_equal(rule.provenance, PROVENANCE_CFI);
	walk_rule_free(&rule);
}

/* The walk in user space has the same rules, whether all of the call frame information is known or
 * the entry of the place alone: at the call, at the jump, and at the call's return address. */
static void place_has_rule(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * PLACES; i++) {
		uint64_t at = vaddr_of(places[i / 2].at), to = vaddr_of(places[i / 2].to);
		struct cfi_index *index;

		print_message("%zu\n", i / 2);
		assert_int_equal(i % 2 ? cfi_index_new_at(file, at, &index)
				       : cfi_index_new(file, &index),
				 0);
		assert_single(index, at, false, places[i / 2].distance);
		assert_single(index, to, false, places[i / 2].behind);
		assert_single(index, at + 4, true, places[i / 2].distance);
		cfi_index_free(index);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_has_rules),
		cmocka_unit_test(place_has_rule),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
