/* SPDX-License-Identifier: MIT */
/* Epilogues that call frame information leaves out (unwind/epilogue.h), in the code of this
 * program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "unwind/epilogue.h"
#include "unwind/recipe.h"

#define FRAME                                                                                      \
	".cfi_startproc\npush %rbx\n.cfi_def_cfa_offset 16\n.cfi_offset %rbx, -16\n"               \
	"sub $48, %rsp\n.cfi_def_cfa_offset 64\n"
#define END ".cfi_endproc\n.balign 16, 0xcc\n"

/* Labels are where the rule is asked for. Nothing runs. */
__asm__(".pushsection .text\n.balign 16, 0xcc\n"
	"plain: " FRAME "nop\nadd $48, %rsp\nplain_16: pop %rbx\nplain_8: ret\n"
	"plain_64: nop\njmp plain_64\n" END /* another part of the function */
	"loop: " FRAME "add $48, %rsp\n1: dec %ecx\nloop_16: jnz 1b\npop %rbx\nloop_8: ret\n" END
	"large: " FRAME "nop\nadd $304, %rsp\nlarge_64: pop %rbx\nret\n" END "tail: " FRAME
	"add $48, %rsp\npop %rbx\ntail_8: jmp plain\n" END "pushes: " FRAME
	"add $48, %rsp\npop %rbx\npush %rax\npushes_64: ret\n" END "part: " FRAME
	"nop\nadd $16, %rsp\npop %rbx\npart_64: ret\n" END
	"framed: .cfi_startproc\npush %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\n"
	"mov %rsp, %rbp\n.cfi_def_cfa_register %rbp\npush %rbx\nframed_16: pop %rbx\nleave\n"
	"framed_8: ret\n" END
	"popped: .cfi_startproc\npush %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\n"
	"mov %rsp, %rbp\n.cfi_def_cfa_register %rbp\nsub $32, %rsp\nadd $32, %rsp\npop %rbp\n"
	"popped_8: ret\n" END "said: " FRAME
	"add $48, %rsp\n.cfi_def_cfa_offset 16\nsaid_16: pop %rbx\n"
	".cfi_def_cfa_offset 8\nsaid_8: ret\n" END ".popsection\n");

extern const char plain[], plain_16[], plain_8[], plain_64[], loop[], loop_16[], loop_8[], large[],
	large_64[], tail[], tail_8[], pushes[], pushes_64[], part[], part_64[], framed[],
	framed_16[], framed_8[], popped[], popped_8[], said[], said_16[], said_8[];
extern const char __executable_start[];

static const struct {
	const char *function, *at;
	uint8_t reg;
	int32_t distance;
	bool is_mended;
} places[] = {
	{plain, plain_16, STACKD_REG_SP, 16, true},  {plain, plain_8, STACKD_REG_SP, 8, true},
	{plain, plain_64, STACKD_REG_SP, 64, false}, {loop, loop_16, STACKD_REG_SP, 16, true},
	{loop, loop_8, STACKD_REG_SP, 8, true},	     {large, large_64, STACKD_REG_SP, 64, false},
	{tail, tail_8, STACKD_REG_SP, 8, true},	     {pushes, pushes_64, STACKD_REG_SP, 64, false},
	{part, part_64, STACKD_REG_SP, 64, false},   {framed, framed_16, STACKD_REG_FP, 16, false},
	{framed, framed_8, STACKD_REG_SP, 8, true},  {popped, popped_8, STACKD_REG_SP, 8, true},
	{said, said_16, STACKD_REG_SP, 16, false},   {said, said_8, STACKD_REG_SP, 8, false},
};

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

static uint64_t offset_of(const char *code)
{
	uint64_t offset = 0;

	assert_true(elf_file_vaddr_to_offset(file, (uint64_t)(code - __executable_start), &offset));
	return offset;
}

/* A file's table has the rules of such epilogues, and all other rules as they were stated. */
static void table_has_rules(void **state)
{
	struct recipe_table *table;

	(void)state;
	assert_int_equal(recipe_compile(file, &table), 0);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const struct stackd_rule *rule = recipe_lookup(table, offset_of(places[i].at));

		print_message("%zu: %d + %d\n", i, rule->reg, rule->cfa_offset);
		assert_int_equal(rule->cfa, STACKD_CFA_REG);
		assert_int_equal(rule->reg, places[i].reg);
		assert_int_equal(rule->cfa_offset, places[i].distance);
	}
	recipe_table_free(table);
}

/* The same for a single place, whose stated rule is given. */
static void place_has_distance(void **state)
{
	struct recipe_table *stated;

	(void)state;
	assert_int_equal(recipe_compile_cfi(file, &stated), 0);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		uint64_t offset = offset_of(places[i].at);

		assert_int_equal(epilogue_cfa(file, offset_of(places[i].function), offset,
					      recipe_lookup(stated, offset)),
				 places[i].is_mended ? places[i].distance : -1);
	}
	recipe_table_free(stated);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_has_rules),
		cmocka_unit_test(place_has_distance),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
