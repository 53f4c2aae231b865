/* SPDX-License-Identifier: MIT */
/* Call frame sections, assembled here, compiled into recipes: every instruction, every shape of
 * expression, both section formats, and how FDEs come together in a table. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "cfi_asm.h"

#define AT(n)	   (CFI_ASM_OFFSET + (n))
#define ADVANCE(n) (DW_CFA_advance_loc | (n))
#define RBP	   0 /* index in saved[] */
#define RBX	   1
#define R12	   2

static const struct stackd_rule *rule_at(const struct recipe_table *t, uint64_t n)
{
	return recipe_lookup(t, AT(n));
}

static uint64_t refused(const struct recipe_table *t, enum recipe_refusal why)
{
	return recipe_table_stats(t)->refused[why];
}

static void assert_nothing_refused(const struct recipe_table *t)
{
	for (int i = 0; i < RECIPE_REFUSED_COUNT; i++) {
		if (refused(t, i))
			fail_msg("refused: %s", recipe_refusal_name(i));
	}
}

static void assert_cfa(const struct recipe_table *t, uint64_t n, int reg, int offset)
{
	const struct stackd_rule *rule = rule_at(t, n);

	assert_int_equal(rule->cfa, STACKD_CFA_REG);
	assert_int_equal(rule->reg, reg);
	assert_int_equal(rule->cfa_offset, offset);
	assert_int_equal(rule->ra_offset, -8);
}

static void assert_kind(const struct recipe_table *t, uint64_t n, enum stackd_cfa kind)
{
	assert_int_equal(rule_at(t, n)->cfa, kind);
}

/* One FDE of 64 bytes at 0 with these instructions, in .eh_frame. */
static struct recipe_table *compile_fde(const uint8_t *code, size_t len)
{
	struct cfi_asm a = {.is_eh_frame = true};
	struct recipe_table *t;

	cfi_asm_usual_cie(&a);
	cfi_asm_fde(&a, 0, 64, code, len);
	assert_int_equal(cfi_asm_compile(&a, &t), 0);
	buf_free(&a.b);
	return t;
}

/* --- instructions -------------------------------------------------------------------------- */

/* push rbp; mov rbp, rsp; ...; leave; ret */
static void test_frame_pointer_function(void **state)
{
	struct recipe_table *t = compile_fde(CODE(
		ADVANCE(1), DW_CFA_def_cfa_offset, 16, DW_CFA_offset | 6, 2, ADVANCE(3),
		DW_CFA_def_cfa_register, 6, ADVANCE(30), DW_CFA_restore | 6, DW_CFA_def_cfa, 7, 8));

	(void)state;
	assert_cfa(t, 0, 7, 8);
	assert_int_equal(rule_at(t, 0)->saved[RBP], 0);
	assert_cfa(t, 1, 7, 16);
	assert_int_equal(rule_at(t, 1)->saved[RBP], -16);
	assert_cfa(t, 3, 7, 16);
	assert_cfa(t, 4, 6, 16);
	assert_cfa(t, 33, 6, 16);
	assert_int_equal(rule_at(t, 33)->saved[RBP], -16);
	assert_cfa(t, 34, 7, 8);
	assert_int_equal(rule_at(t, 34)->saved[RBP], 0);
	assert_cfa(t, 63, 7, 8);
	assert_kind(t, 64, STACKD_CFA_NONE);
	assert_kind(t, UINT64_MAX - CFI_ASM_OFFSET, STACKD_CFA_NONE);
	assert_int_equal(recipe_lookup(t, AT(0) - 1)->cfa, STACKD_CFA_NONE);
	assert_int_equal(recipe_table_stats(t)->cfi_rows, 4);
	assert_nothing_refused(t);
	recipe_table_free(t);
}

/* Every kind of advance; each new state has another CFA. */
static void test_advances(void **state)
{
	struct recipe_table *t = compile_fde(
		CODE(DW_CFA_def_cfa_offset, 16, DW_CFA_advance_loc1, 5, DW_CFA_def_cfa_offset, 24,
		     DW_CFA_advance_loc2, 5, 0, DW_CFA_def_cfa_offset, 32, DW_CFA_advance_loc4, 5,
		     0, 0, 0, DW_CFA_def_cfa_offset, 40, DW_CFA_MIPS_advance_loc8, 5, 0, 0, 0, 0, 0,
		     0, 0, DW_CFA_def_cfa_offset, 48, ADVANCE(0), DW_CFA_GNU_args_size, 8,
		     DW_CFA_def_cfa_offset, 56));

	(void)state;
	assert_cfa(t, 4, 7, 16);
	assert_cfa(t, 5, 7, 24);
	assert_cfa(t, 10, 7, 32);
	assert_cfa(t, 15, 7, 40);
	assert_cfa(t, 20, 7, 56); /* an advance by 0 makes no row */
	assert_nothing_refused(t);
	recipe_table_free(t);
}

static void test_advance_beyond_the_end(void **state)
{
	struct recipe_table *t = compile_fde(
		CODE(ADVANCE(8), DW_CFA_def_cfa_offset, 16, DW_CFA_MIPS_advance_loc8, 0xff, 0xff,
		     0xff, 0xff, 0xff, 0xff, 0xff, 0xff, DW_CFA_def_cfa_offset, 24));

	(void)state;
	assert_cfa(t, 63, 7, 16);
	assert_kind(t, 64, STACKD_CFA_NONE);
	assert_nothing_refused(t);
	recipe_table_free(t);
}

static void test_set_loc(void **state)
{
	struct cfi_asm a = {0};
	struct recipe_table *t;
	uint64_t to = htole64(CFI_ASM_CODE + 40), back = htole64(CFI_ASM_CODE + 39);
	uint8_t code[22] = {DW_CFA_set_loc, [9] = DW_CFA_def_cfa_offset, 16,
			    ADVANCE(5), [12] = DW_CFA_set_loc};

	(void)state;
	memcpy(code + 1, &to, 8);
	memcpy(code + 13, &back, 8);
	cfi_asm_usual_cie(&a);
	cfi_asm_fde(&a, 0, 64, code, 21);
	assert_int_equal(cfi_asm_compile(&a, &t), 0);
	assert_cfa(t, 39, 7, 8);
	assert_cfa(t, 40, 7, 16);
	assert_kind(t, 45, STACKD_CFA_DAEMON); /* it went back */
	assert_int_equal(refused(t, RECIPE_REFUSED_INSTRUCTION), 1);
	recipe_table_free(t);
	buf_free(&a.b);
}

static void test_saved_registers(void **state)
{
	/* The six that are kept, one that is not, a vector register, and restoring. */
	struct recipe_table *t = compile_fde(
		CODE(DW_CFA_offset | 6, 2, DW_CFA_offset | 3, 3, DW_CFA_offset_extended, 12, 4,
		     DW_CFA_offset_extended_sf, 13, 5, DW_CFA_GNU_negative_offset_extended, 14, 6,
		     DW_CFA_offset | 15, 7, DW_CFA_offset | 5, 8, DW_CFA_offset_extended, 40, 9,
		     ADVANCE(8), DW_CFA_restore_extended, 12, DW_CFA_same_value, 3,
		     DW_CFA_restore | 5, DW_CFA_restore_extended, 40));
	static const int16_t saved[] = {-16, -24, -32, -40, 48, -56};

	(void)state;
	for (int i = 0; i < STACKD_SAVED_COUNT; i++)
		assert_int_equal(rule_at(t, 0)->saved[i], saved[i]);
	assert_int_equal(rule_at(t, 8)->saved[RBP], -16);
	assert_int_equal(rule_at(t, 8)->saved[RBX], 0);
	assert_int_equal(rule_at(t, 8)->saved[R12], 0);
	assert_nothing_refused(t);
	recipe_table_free(t);
}

static void test_cfa_instructions(void **state)
{
	struct recipe_table *t = compile_fde(
		CODE(DW_CFA_def_cfa_sf, 10, 0x7e, ADVANCE(8), DW_CFA_def_cfa_offset_sf, 0x7d,
		     ADVANCE(8), DW_CFA_def_cfa, 6, 0x90, 0x01, ADVANCE(8), DW_CFA_def_cfa_register,
		     17, ADVANCE(8), DW_CFA_def_cfa_register, 3));

	(void)state;
	assert_cfa(t, 0, 10, 16);
	assert_cfa(t, 8, 10, 24);
	assert_cfa(t, 16, 6, 144);
	assert_kind(t, 24, STACKD_CFA_DAEMON);
	assert_cfa(t, 32, 3, 144);
	assert_int_equal(refused(t, RECIPE_REFUSED_CFA_REGISTER), 1);
	recipe_table_free(t);
}

/* A remembered state has the CFA as well as the registers. */
static void test_remember_and_restore(void **state)
{
	struct recipe_table *t = compile_fde(CODE(
		DW_CFA_def_cfa_offset, 16, DW_CFA_offset | 6, 2, DW_CFA_remember_state, ADVANCE(8),
		DW_CFA_def_cfa_offset, 8, DW_CFA_restore | 6, DW_CFA_remember_state, ADVANCE(8),
		DW_CFA_def_cfa, 10, 0, ADVANCE(8), DW_CFA_restore_state, ADVANCE(8),
		DW_CFA_restore_state, ADVANCE(8), DW_CFA_restore_state));

	(void)state;
	assert_cfa(t, 8, 7, 8);
	assert_cfa(t, 16, 10, 0);
	assert_cfa(t, 24, 7, 8);
	assert_int_equal(rule_at(t, 24)->saved[RBP], 0);
	assert_cfa(t, 32, 7, 16);
	assert_int_equal(rule_at(t, 32)->saved[RBP], -16);
	assert_kind(t, 40, STACKD_CFA_DAEMON); /* nothing is remembered any more */
	assert_int_equal(refused(t, RECIPE_REFUSED_INSTRUCTION), 1);
	recipe_table_free(t);
}

static void test_remember_is_bounded(void **state)
{
	uint8_t code[4096];
	struct recipe_table *t;

	(void)state;
	memset(code, DW_CFA_remember_state, sizeof(code));
	code[0] = ADVANCE(8);
	t = compile_fde(code, sizeof(code));
	assert_cfa(t, 7, 7, 8);
	assert_kind(t, 8, STACKD_CFA_DAEMON);
	assert_kind(t, 63, STACKD_CFA_DAEMON);
	assert_int_equal(refused(t, RECIPE_REFUSED_STATE_DEPTH), 1);
	recipe_table_free(t);
}

/* --- what no rule can say ------------------------------------------------------------------ */

static void assert_refused(enum recipe_refusal why, const uint8_t *code, size_t len)
{
	struct recipe_table *t = compile_fde(code, len);

	if (refused(t, why) != 1)
		fail_msg("not refused: %s", recipe_refusal_name(why));
	assert_kind(t, 0, STACKD_CFA_DAEMON);
	recipe_table_free(t);
}

static void test_refused_rules(void **state)
{
	(void)state;
	assert_refused(RECIPE_REFUSED_RA_RULE, CODE(DW_CFA_register, 16, 5));
	assert_refused(RECIPE_REFUSED_RA_RULE, CODE(DW_CFA_same_value, 16));
	assert_refused(RECIPE_REFUSED_RA_RULE, CODE(DW_CFA_val_offset, 16, 1));
	assert_refused(RECIPE_REFUSED_SAVED_RULE, CODE(DW_CFA_register, 6, 5));
	assert_refused(RECIPE_REFUSED_SAVED_RULE, CODE(DW_CFA_undefined, 3));
	assert_refused(RECIPE_REFUSED_SAVED_RULE, CODE(DW_CFA_val_offset, 6, 2));
	assert_refused(RECIPE_REFUSED_SAVED_RULE, CODE(DW_CFA_val_offset_sf, 6, 2));
	assert_refused(RECIPE_REFUSED_SAVED_RULE, CODE(DW_CFA_offset | 6, 0));
	assert_refused(RECIPE_REFUSED_SAVED_RULE,
		       CODE(DW_CFA_val_expression, 6, 2, DW_OP_breg7, 8));
	assert_refused(RECIPE_REFUSED_SAVED_EXPRESSION,
		       CODE(DW_CFA_expression, 6, 3, DW_OP_breg7, 8, DW_OP_deref));
	assert_refused(RECIPE_REFUSED_RSP_RULE, CODE(DW_CFA_offset | 7, 2));
	assert_refused(RECIPE_REFUSED_RSP_RULE, CODE(DW_CFA_val_offset, 7, 1));
	assert_refused(RECIPE_REFUSED_RANGE, CODE(DW_CFA_offset | 6, 0x80, 0x80, 0x02));
	assert_refused(RECIPE_REFUSED_RANGE, CODE(DW_CFA_offset | 16, 0x80, 0x80, 0x02));
	assert_refused(RECIPE_REFUSED_RANGE,
		       CODE(DW_CFA_def_cfa_offset, 0x80, 0x80, 0x80, 0x80, 0x10));
	assert_refused(RECIPE_REFUSED_RANGE, CODE(DW_CFA_offset | 6, 0xff, 0xff, 0xff, 0xff, 0xff,
						  0xff, 0xff, 0xff, 0xff, 0x01));
	assert_refused(RECIPE_REFUSED_CFA_REGISTER, CODE(DW_CFA_def_cfa, 16, 8));
	assert_refused(RECIPE_REFUSED_CFA_REGISTER, CODE(DW_CFA_def_cfa, 0x80, 0x80, 0x01, 8));
	assert_refused(RECIPE_REFUSED_OPCODE, CODE(DW_CFA_GNU_window_save));
	assert_refused(RECIPE_REFUSED_OPCODE, CODE(0x3f));
	assert_refused(RECIPE_REFUSED_INSTRUCTION, CODE(DW_CFA_expression, 6, 0x70));
	assert_refused(RECIPE_REFUSED_INSTRUCTION, CODE(DW_CFA_def_cfa, 0x80, 0x80, 0x80, 0x80,
							0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01));
}

static void test_rsp_as_cfa(void **state)
{
	struct recipe_table *t = compile_fde(CODE(DW_CFA_val_offset, 7, 0));

	(void)state;
	assert_cfa(t, 0, 7, 8);
	recipe_table_free(t);
}

static void test_undefined_return_address_is_the_end(void **state)
{
	struct recipe_table *t =
		compile_fde(CODE(DW_CFA_undefined, 16, ADVANCE(4), DW_CFA_restore | 16));

	(void)state;
	assert_kind(t, 3, STACKD_CFA_END);
	assert_cfa(t, 4, 7, 8);
	assert_nothing_refused(t);
	recipe_table_free(t);
}

/* --- expressions --------------------------------------------------------------------------- */

static void test_plt(void **state)
{
	struct recipe_table *t = compile_fde(
		CODE(DW_CFA_def_cfa_offset, 16, ADVANCE(6), DW_CFA_def_cfa_offset, 24, ADVANCE(10),
		     DW_CFA_def_cfa_expression, 11, DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15,
		     DW_OP_and, DW_OP_lit11, DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus));

	(void)state;
	assert_cfa(t, 6, 7, 24);
	assert_kind(t, 16, STACKD_CFA_PLT);
	assert_int_equal(rule_at(t, 16)->reg, 7);
	assert_int_equal(rule_at(t, 16)->cfa_offset, 8);
	assert_int_equal(rule_at(t, 16)->cfa_add, 11);
	assert_int_equal(rule_at(t, 16)->ra_offset, -8);
	assert_nothing_refused(t);
	recipe_table_free(t);
}

static void test_almost_plt(void **state)
{
	(void)state;
	assert_refused(RECIPE_REFUSED_CFA_EXPRESSION,
		       CODE(DW_CFA_def_cfa_expression, 11, DW_OP_breg7, 8, DW_OP_breg16, 0,
			    DW_OP_lit15, DW_OP_and, DW_OP_lit16, DW_OP_ge, DW_OP_lit3, DW_OP_shl,
			    DW_OP_plus));
	assert_refused(RECIPE_REFUSED_CFA_EXPRESSION,
		       CODE(DW_CFA_def_cfa_expression, 11, DW_OP_breg7, 8, DW_OP_breg16, 0,
			    DW_OP_lit15, DW_OP_and, DW_OP_lit11, DW_OP_ge, DW_OP_lit3, DW_OP_shl,
			    DW_OP_minus));
	assert_refused(RECIPE_REFUSED_CFA_EXPRESSION,
		       CODE(DW_CFA_def_cfa_expression, 3, DW_OP_breg7, 8, DW_OP_dup));
	assert_refused(RECIPE_REFUSED_CFA_EXPRESSION, CODE(DW_CFA_def_cfa_expression, 0));
	assert_refused(RECIPE_REFUSED_CFA_EXPRESSION,
		       CODE(DW_CFA_def_cfa_expression, 3, DW_OP_breg17, 8, DW_OP_deref));
}

static void test_deref(void **state)
{
	struct recipe_table *t = compile_fde(
		CODE(DW_CFA_def_cfa_expression, 3, DW_OP_breg6, 0x78, DW_OP_deref, ADVANCE(8),
		     DW_CFA_def_cfa_expression, 6, DW_OP_breg7, 0x98, 0x01, DW_OP_deref,
		     DW_OP_plus_uconst, 8, ADVANCE(8), DW_CFA_def_cfa_expression, 3, DW_OP_bregx,
		     10, 8, ADVANCE(8), DW_CFA_def_cfa, 7, 8));

	(void)state;
	assert_kind(t, 0, STACKD_CFA_DEREF);
	assert_int_equal(rule_at(t, 0)->reg, 6);
	assert_int_equal(rule_at(t, 0)->cfa_offset, -8);
	assert_int_equal(rule_at(t, 0)->cfa_add, 0);
	assert_kind(t, 8, STACKD_CFA_DEREF);
	assert_int_equal(rule_at(t, 8)->reg, 7);
	assert_int_equal(rule_at(t, 8)->cfa_offset, 152);
	assert_int_equal(rule_at(t, 8)->cfa_add, 8);
	assert_cfa(t, 16, 10, 8);
	assert_cfa(t, 24, 7, 8);
	assert_nothing_refused(t);
	recipe_table_free(t);
}

/* DW_CFA_def_cfa_register after an expression keeps the last offset, as in gcc's unwinder, whether
 * or not the expression fits a fixed rule. */
static void test_register_after_expression(void **state)
{
	struct recipe_table *t = compile_fde(
		CODE(DW_CFA_def_cfa_offset, 56, DW_CFA_def_cfa_expression, 3, DW_OP_breg6, 0x78,
		     DW_OP_deref, ADVANCE(8), DW_CFA_def_cfa_register, 7, ADVANCE(8),
		     DW_CFA_def_cfa_expression, 1, DW_OP_lit0, DW_CFA_def_cfa_offset, 48,
		     ADVANCE(8), DW_CFA_def_cfa_register, 6));

	(void)state;
	assert_kind(t, 0, STACKD_CFA_DEREF);
	assert_cfa(t, 8, 7, 56);
	assert_kind(t, 16, STACKD_CFA_DAEMON);
	assert_cfa(t, 24, 6, 48);
	recipe_table_free(t);
}

/* gcc's code for main() with a realigned stack: the CFA is in r10 first, then in memory below rbp.
 */
static void test_realigned(void **state)
{
	struct recipe_table *t = compile_fde(
		CODE(ADVANCE(5), DW_CFA_def_cfa, 10, 0, ADVANCE(8), DW_CFA_expression, 6, 2,
		     DW_OP_breg6, 0, ADVANCE(8), DW_CFA_def_cfa_expression, 3, DW_OP_breg6, 0x78,
		     DW_OP_deref, DW_CFA_expression, 3, 2, DW_OP_breg6, 0x70, ADVANCE(8),
		     DW_CFA_expression, 3, 2, DW_OP_breg7, 0x70));
	const struct stackd_rule *rule;

	(void)state;
	assert_cfa(t, 5, 10, 0);
	assert_int_equal(rule_at(t, 5)->saved_via_reg, 0);
	rule = rule_at(t, 13);
	assert_cfa(t, 13, 10, 0);
	assert_int_equal(rule->saved_via_reg, 1 << RBP);
	assert_int_equal(rule->saved_reg, 6);
	assert_int_equal(rule->saved[RBP], 0);
	rule = rule_at(t, 21);
	assert_int_equal(rule->cfa, STACKD_CFA_DEREF);
	assert_int_equal(rule->saved_via_reg, 1 << RBP | 1 << RBX);
	assert_int_equal(rule->saved[RBX], -16);
	assert_kind(t, 29, STACKD_CFA_DAEMON);
	assert_int_equal(refused(t, RECIPE_REFUSED_SAVED_BASES), 1);
	recipe_table_free(t);
}

/* A slot at a distance from the CFA's own register has a fixed distance from the CFA. */
static void test_slot_by_cfa_register(void **state)
{
	struct recipe_table *t =
		compile_fde(CODE(DW_CFA_def_cfa, 6, 16, DW_CFA_expression, 6, 3, DW_OP_drop,
				 DW_OP_breg6, 0, DW_CFA_expression, 16, 2, DW_OP_breg6, 8));

	(void)state;
	assert_cfa(t, 0, 6, 16);
	assert_int_equal(rule_at(t, 0)->saved[RBP], -16);
	assert_int_equal(rule_at(t, 0)->saved_via_reg, 0);
	assert_nothing_refused(t);
	recipe_table_free(t);
}

/* --- signal frames ------------------------------------------------------------------------- */

static void put_slot(struct buf *b, uint8_t reg, int offset)
{
	struct cfi_asm operand = {0};

	cfi_asm_sleb(&operand, offset);
	buf_put_u8(b, DW_CFA_expression);
	buf_put_u8(b, reg);
	buf_put_varint(b, operand.b.len + 1);
	buf_put_u8(b, DW_OP_breg7);
	buf_put(b, operand.b.data, operand.b.len);
	buf_free(&operand.b);
}

/* The C library's description of its signal trampoline; `rbx` is the offset of rbx in it. */
static struct recipe_table *compile_signal(const char *augmentation, int rbx)
{
	static const uint8_t regs[] = {8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, 16};
	struct cfi_asm a = {.is_eh_frame = true};
	struct buf code = {0};
	struct recipe_table *t;

	buf_put(&code, CODE(DW_CFA_def_cfa_expression, 4, DW_OP_breg7, 0xa0, 0x01, DW_OP_deref));
	for (size_t i = 0; i < sizeof(regs); i++)
		put_slot(&code, regs[i], regs[i] == 3 ? rbx : 40 + 8 * (int)i);
	cfi_asm_cie(&a, augmentation, CFI_ASM_USUAL);
	cfi_asm_fde(&a, 0, 16, code.data, code.len);
	assert_int_equal(cfi_asm_compile(&a, &t), 0);
	buf_free(&code);
	buf_free(&a.b);
	return t;
}

static void test_signal_frame(void **state)
{
	struct recipe_table *t = compile_signal("zRS", 128);

	(void)state;
	assert_kind(t, 0, STACKD_CFA_SIGNAL);
	assert_int_equal(rule_at(t, 0)->reg, 7);
	assert_int_equal(rule_at(t, 0)->cfa_offset, 40);
	assert_nothing_refused(t);
	recipe_table_free(t);
}

static void test_other_signal_frames(void **state)
{
	struct recipe_table *t = compile_signal("zRS", 120);

	(void)state;
	assert_kind(t, 0, STACKD_CFA_DAEMON);
	assert_int_equal(refused(t, RECIPE_REFUSED_SIGNAL_FRAME), 1);
	recipe_table_free(t);
	t = compile_signal("zR", 128); /* not marked as one */
	assert_kind(t, 0, STACKD_CFA_DAEMON);
	recipe_table_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frame_pointer_function),
		cmocka_unit_test(test_advances),
		cmocka_unit_test(test_advance_beyond_the_end),
		cmocka_unit_test(test_set_loc),
		cmocka_unit_test(test_saved_registers),
		cmocka_unit_test(test_cfa_instructions),
		cmocka_unit_test(test_remember_and_restore),
		cmocka_unit_test(test_remember_is_bounded),
		cmocka_unit_test(test_refused_rules),
		cmocka_unit_test(test_rsp_as_cfa),
		cmocka_unit_test(test_undefined_return_address_is_the_end),
		cmocka_unit_test(test_plt),
		cmocka_unit_test(test_almost_plt),
		cmocka_unit_test(test_deref),
		cmocka_unit_test(test_register_after_expression),
		cmocka_unit_test(test_realigned),
		cmocka_unit_test(test_slot_by_cfa_register),
		cmocka_unit_test(test_signal_frame),
		cmocka_unit_test(test_other_signal_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
