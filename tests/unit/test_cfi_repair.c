/* SPDX-License-Identifier: MIT */
/* Rules from the instructions of code that has no call frame information. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "unwind/cfi_repair.h"
#include "walk_self.h"

/* Code like frame_dummy of the compiler's runtime, and an epilogue. Never called. */
__asm__(".pushsection .text\n"
	".globl leaf_jump, leaf_before, leaf_dummy, leaf_stub, leaf_epilogue, leaf_sub\n"
	"leaf_before: .zero 16, 0x90\n"
	"leaf_dummy: endbr64\n"
	"	.byte 0xe9, 0, 0, 0, 0\n" /* jmp */
	"	.zero 16, 0x90\n"
	"leaf_stub: .byte 0xff, 0x25, 0, 0, 0, 0\n" /* jmp *0(%rip) */
	"	.byte 0xf2, 0xff, 0x25, 0, 0, 0, 0\n"
	"	.byte 0xff, 0xe0\n" /* jmp *%rax: of a table, in the middle of a function */
	"	.zero 16, 0x90\n"
	"leaf_epilogue: lea -8(%r10), %rsp\n"
	"	ret\n"
	"	.zero 64, 0x90\n"
	"leaf_sub: sub $8, %rsp\n" /* as _init does, and many others */
	"	.zero 64, 0x90\n"
	"mov %r11, (%rsp)\n" /* a jump to where r11 says */
	"leaf_jump: ret\n"
	".popsection\n");
extern const char leaf_jump[], leaf_before[], leaf_dummy[], leaf_stub[], leaf_epilogue[],
	leaf_sub[];
extern const char _init[], _fini[];

static struct self_map *map;

static int set_up(void **state)
{
	(void)state;
	map = self_map_new();
	return map ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	self_map_free(map);
	return 0;
}

static struct stackd_rule rule_at(const char *code)
{
	const struct object *object = NULL;
	struct walk_rule rule = {.fast = {.cfa = STACKD_CFA_NONE}};
	uint64_t offset = 0, vaddr;

	assert_true(self_find(map, (uint64_t)code, &object, &offset));
	assert_true(elf_file_offset_to_vaddr(object->elf, offset, &vaddr));
	assert_int_equal(cfi_repair_improve(object->elf, NULL, vaddr, offset, &rule), 0);
	return rule.fast;
}

static void assert_plain(const char *code)
{
	struct stackd_rule rule = rule_at(code);

	assert_int_equal(rule.cfa, STACKD_CFA_REG);
	assert_int_equal(rule.reg, STACKD_REG_SP);
	assert_int_equal(rule.cfa_offset, 8);
	assert_int_equal(rule.ra_offset, -8);
}

static void entered_function_has_rule(void **state)
{
	(void)state;
	assert_plain(leaf_dummy);
	assert_plain(leaf_dummy + 4);
	assert_int_equal(rule_at(leaf_dummy + 9).cfa, STACKD_CFA_NONE);
	assert_int_equal(rule_at(leaf_before + 12).cfa, STACKD_CFA_NONE);
}

static void stub_has_no_frame(void **state)
{
	(void)state;
	assert_plain(leaf_stub);
	assert_plain(leaf_stub + 6);
	assert_int_equal(rule_at(leaf_stub + 13).cfa, STACKD_CFA_NONE);
}

static void epilogue_has_rule(void **state)
{
	struct stackd_rule rule = rule_at(leaf_epilogue);

	(void)state;
	assert_int_equal(rule.cfa, STACKD_CFA_REG);
	assert_int_equal(rule.reg, 10);
	assert_int_equal(rule.cfa_offset, 0);
	assert_plain(leaf_epilogue + 4);
	assert_int_equal(rule_at(leaf_epilogue + 5).cfa, STACKD_CFA_NONE);
}

/* What the file names has the rule, and no other code that begins like it. */
static void init_is_named(void **state)
{
	static const char endbr64[] = "\xf3\x0f\x1e\xfa";
	const char *const functions[] = {_init, _fini};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const char *sub = functions[i];

		if (!memcmp(sub, endbr64, 4))
			sub += 4;
		assert_plain(functions[i]);
		assert_plain(sub);
		assert_int_equal(rule_at(sub + 4).cfa, STACKD_CFA_REG);
		assert_int_equal(rule_at(sub + 4).cfa_offset, 16);
	}
	assert_int_equal(rule_at(leaf_sub).cfa, STACKD_CFA_NONE);
	assert_int_equal(rule_at(leaf_sub + 4).cfa, STACKD_CFA_NONE);
}

/* What is on top of the stack is where a jump goes. */
static void test_jump_by_return(void **state)
{
	(void)state;
	assert_int_equal(rule_at(leaf_jump).cfa, STACKD_CFA_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_jump_by_return), cmocka_unit_test(entered_function_has_rule),
		cmocka_unit_test(stub_has_no_frame),   cmocka_unit_test(epilogue_has_rule),
		cmocka_unit_test(init_is_named),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
