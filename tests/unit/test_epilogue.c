/* SPDX-License-Identifier: MIT */
/* Epilogues that call frame information leaves out (unwind/epilogue.h), in the code of this
 * program; and those that it does not, also in a library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <gnu/lib-names.h>
#include <link.h>
#include <stdio.h>
#include <unistd.h>

#include "arch/insn.h"
#include "unwind/cfi_repair.h"
#include "unwind/recipe.h"
#include "unwind/walk_rule.h"

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
	"add $48, %rsp\npop %rbx\npush %rax\npushes_64: nop\nret\n" END "part: " FRAME
	"nop\nadd $16, %rsp\npop %rbx\npart_64: nop\nret\n" END
	"framed: .cfi_startproc\npush %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\n"
	"mov %rsp, %rbp\n.cfi_def_cfa_register %rbp\npush %rbx\nframed_16: pop %rbx\nleave\n"
	"framed_8: ret\n" END
	"popped: .cfi_startproc\npush %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\n"
	"mov %rsp, %rbp\n.cfi_def_cfa_register %rbp\nsub $32, %rsp\nadd $32, %rsp\npop %rbp\n"
	"popped_8: ret\n" END "said: " FRAME
	"add $48, %rsp\n.cfi_def_cfa_offset 16\nsaid_16: pop %rbx\n"
	".cfi_def_cfa_offset 8\nsaid_8: ret\n" END
	/* The frame of a call's arguments is as large as what is left of the function's own. */
	"args: .cfi_startproc\npush %rbx\n.cfi_def_cfa_offset 16\n.cfi_offset %rbx, -16\n"
	"1: push $8\n.cfi_def_cfa_offset 24\npush $7\n.cfi_def_cfa_offset 32\ncall plain\n"
	"pop %rax\n.cfi_def_cfa_offset 24\nargs_24: pop %rdx\n.cfi_def_cfa_offset 16\n"
	"args_16: nop\nargs_jump: jmp 1b\n" END
	/* Rows that differ in what no walk needs: the size of arguments. */
	"rows: " FRAME "nop\n.cfi_escape 0x2e, 0x10\nadd $48, %rsp\n.cfi_escape 0x2e, 0x00\n"
	"rows_16: pop %rbx\n.cfi_escape 0x2e, 0x10\nrows_8: ret\n" END ".popsection\n");

extern const char plain_16[], plain_8[], plain_64[], loop_16[], loop_8[], large_64[], tail_8[],
	pushes_64[], part_64[], framed_16[], framed_8[], popped_8[], said_16[], said_8[], args_24[],
	args_16[], args_jump[], rows_16[], rows_8[];
extern const char __executable_start[];

static const struct {
	const char *at;
	uint8_t reg;
	int32_t distance;
} places[] = {
	{plain_16, STACKD_REG_SP, 16},	{plain_8, STACKD_REG_SP, 8},
	{plain_64, STACKD_REG_SP, 64},	{loop_16, STACKD_REG_SP, 16},
	{loop_8, STACKD_REG_SP, 8},	{large_64, STACKD_REG_SP, 64},
	{tail_8, STACKD_REG_SP, 8},	{pushes_64, STACKD_REG_SP, 64},
	{part_64, STACKD_REG_SP, 64},	{framed_16, STACKD_REG_FP, 16},
	{framed_8, STACKD_REG_SP, 8},	{popped_8, STACKD_REG_SP, 8},
	{said_16, STACKD_REG_SP, 16},	{said_8, STACKD_REG_SP, 8},
	{args_24, STACKD_REG_SP, 24},	{args_16, STACKD_REG_SP, 16},
	{args_jump, STACKD_REG_SP, 16}, {rows_16, STACKD_REG_SP, 16},
	{rows_8, STACKD_REG_SP, 8},
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

/* The walk in user space has the same rules at single places, whether all of the call frame
 * information is known or the entry of the place alone. */
static void place_has_rule(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * sizeof(places) / sizeof(places[0]); i++) {
		uint64_t offset = offset_of(places[i / 2].at);
		uint64_t vaddr = (uint64_t)(places[i / 2].at - __executable_start);
		struct cfi_index *index;
		struct walk_rule rule;

		print_message("%zu\n", i / 2);
		assert_int_equal(i % 2 ? cfi_index_new_at(file, vaddr, &index)
				       : cfi_index_new(file, &index),
				 0);
		assert_int_equal(walk_rule_compile(index, vaddr, &rule), 0);
		assert_int_equal(cfi_repair_improve(file, index, vaddr, offset, &rule), 0);
		assert_int_equal(rule.fast.cfa, STACKD_CFA_REG);
		assert_int_equal(rule.fast.reg, places[i / 2].reg);
		assert_int_equal(rule.fast.cfa_offset, places[i / 2].distance);
		walk_rule_free(&rule);
		cfi_index_free(index);
	}
}

static bool is_same(const struct stackd_rule *a, const struct stackd_rule *b)
{
	return a->cfa == b->cfa && a->reg == b->reg && a->cfa_offset == b->cfa_offset &&
	       a->ra_offset == b->ra_offset;
}

/* Compares the rules at all instructions of one entry but returns, where the kernel half looks at
 * the code. Returns how many there are. */
static size_t compare_entry(const struct elf_file *elf, const struct recipe_table *table,
			    const struct cfi_index *index, uint64_t start, uint64_t end)
{
	static uint8_t code[65536];
	struct insn_decoder decoder;
	struct insn insn;
	uint64_t offset;
	size_t compared = 0;
	int64_t len;

	if (end - start > sizeof(code) || !elf_file_vaddr_to_offset(elf, start, &offset))
		return 0;
	len = elf_file_read(elf, offset, code, end - start);
	insn_decoder_init(&decoder);
	for (size_t at = 0; len > 0 && at < (size_t)len; at += insn.length) {
		struct walk_rule rule;

		if (!insn_decode(&decoder, code + at, (size_t)len - at, at, &insn))
			break;
		assert_int_equal(walk_rule_compile(index, start + at, &rule), 0);
		assert_int_equal(cfi_repair_improve(elf, index, start + at, offset + at, &rule), 0);
		if (!rule.slow && insn.flow != INSN_RETURN) {
			compared++;
			if (!is_same(&rule.fast, recipe_lookup(table, offset + at)))
				fail_msg("the rules at 0x%llx differ",
					 (unsigned long long)(start + at));
		}
		walk_rule_free(&rule);
	}
	return compared;
}

/* Both have the same rules in all of a library in which functions call with arguments on the stack.
 */
static void library_has_same_rules(void **state)
{
	void *library = dlopen(LIBM_SO, RTLD_LAZY);
	struct recipe_table *table;
	struct cfi_index *index;
	struct elf_file *elf;
	struct link_map *map;
	size_t compared = 0;
	uint64_t start, end;
	int fd;

	(void)state;
	assert_non_null(library);
	assert_int_equal(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
	fd = open(map->l_name, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(elf_file_open(fd, &elf), 0);
	close(fd);
	assert_int_equal(recipe_compile(elf, &table), 0);
	assert_int_equal(cfi_index_new(elf, &index), 0);
	for (size_t i = 0; i < cfi_index_count(index); i++) {
		cfi_index_range(index, i, &start, &end);
		compared += compare_entry(elf, table, index, start, end);
	}
	print_message("%zu instructions of %s\n", compared, map->l_name);
	assert_true(compared > 1000);
	cfi_index_free(index);
	recipe_table_free(table);
	elf_file_free(elf);
	dlclose(library);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_has_rules),
		cmocka_unit_test(place_has_rule),
		cmocka_unit_test(library_has_same_rules),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
