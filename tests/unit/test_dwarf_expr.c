/* SPDX-License-Identifier: MIT */
/* The evaluator of DWARF expressions, operation by operation, and the decoder before it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cfi/dwarf_expr.h"
#include "cfi/dwarf_expr_decode.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Memory from 0x1000 to 0x1010: bytes 0x80, 0x81, ... */
static bool read_memory(void *arg, uint64_t address, size_t bytes, uint64_t *ret_value)
{
	uint8_t memory[16];
	uint64_t value = 0;

	(void)arg;
	for (size_t i = 0; i < sizeof(memory); i++)
		memory[i] = (uint8_t)(0x80 + i);
	if (address - 0x1000 > sizeof(memory) - bytes)
		return false;
	memcpy(&value, memory + (address - 0x1000), bytes);
	*ret_value = value;
	return true;
}

static int eval(const struct dwarf_expr_op *ops, size_t count, bool has_cfa,
		struct dwarf_expr_result *result)
{
	uint64_t registers[STACKD_REG_COUNT];
	struct dwarf_expr_context context = {
		.registers = registers,
		.known = 0x1ffff & ~(1u << 5), /* all but rdi */
		.has_cfa = has_cfa,
		.cfa = 0x7000,
		.read = read_memory,
	};

	for (uint64_t i = 0; i < STACKD_REG_COUNT; i++)
		registers[i] = 0x1000 + i;
	return dwarf_expr_eval(ops, count, &context, result);
}

#define OP(name, ...)                                                                              \
	(struct dwarf_expr_op)                                                                     \
	{                                                                                          \
		.atom = DW_OP_##name, __VA_ARGS__                                                  \
	}
#define CONST(v) OP(const8u, .number = (uint64_t)(v))

static void assert_gives(uint64_t expected, const struct dwarf_expr_op *ops, size_t count)
{
	struct dwarf_expr_result result = {.kind = DWARF_EXPR_REGISTER, .value = 0xdead};

	assert_int_equal(eval(ops, count, true, &result), 0);
	assert_int_equal(result.kind, DWARF_EXPR_ADDRESS);
	assert_int_equal(result.value, expected);
}

static void assert_fails(int error, const struct dwarf_expr_op *ops, size_t count)
{
	struct dwarf_expr_result result = {.value = 0xdead};

	assert_int_equal(eval(ops, count, false, &result), error);
	assert_int_equal(result.value, 0xdead);
}

#define GIVES(expected, ...)                                                                       \
	do {                                                                                       \
		const struct dwarf_expr_op ops_[] = {__VA_ARGS__};                                 \
		assert_gives((uint64_t)(expected), ops_, COUNT(ops_));                             \
	} while (0)
#define FAILS(error, ...)                                                                          \
	do {                                                                                       \
		const struct dwarf_expr_op ops_[] = {__VA_ARGS__};                                 \
		assert_fails(error, ops_, COUNT(ops_));                                            \
	} while (0)

static void test_pushes(void **state)
{
	(void)state;
	GIVES(0, OP(lit0));
	GIVES(31, OP(lit31));
	GIVES(0x1007 + 8, OP(breg7, .number = 8));
	GIVES(0x1006 - 16, OP(breg6, .number = (uint64_t)-16));
	GIVES(0x1010, OP(breg16));
	GIVES(0x100c + 5, OP(bregx, .number = 12, .number2 = 5));
	GIVES(200, OP(const1u, .number = 200));
	GIVES(-5, OP(const1s, .number = (uint64_t)-5));
	GIVES(UINT64_MAX, OP(const8u, .number = UINT64_MAX));
	GIVES(77, OP(constu, .number = 77));
	GIVES(-77, OP(consts, .number = (uint64_t)-77));
	GIVES(0x7000, OP(call_frame_cfa));
	GIVES(3, OP(lit3), OP(nop));
	FAILS(-EINVAL, OP(call_frame_cfa));
	FAILS(-ENODATA, OP(breg5));
	FAILS(-ENODATA, OP(breg17));
	FAILS(-ENODATA, OP(bregx, .number = UINT64_MAX));
}

static void test_memory(void **state)
{
	(void)state;
	GIVES(0x8786858483828180, CONST(0x1000), OP(deref));
	GIVES(0x8f, CONST(0x100f), OP(deref_size, .number = 1));
	GIVES(0x8382, CONST(0x1002), OP(deref_size, .number = 2));
	GIVES(0x87868584, CONST(0x1004), OP(deref_size, .number = 4));
	FAILS(-EFAULT, CONST(0x1009), OP(deref));
	FAILS(-EFAULT, CONST(0xfff), OP(deref));
	FAILS(-EFAULT, CONST(-1), OP(deref));
	FAILS(-EINVAL, CONST(0x1000), OP(deref_size, .number = 3));
	FAILS(-EINVAL, CONST(0x1000), OP(deref_size, .number = 9));
	FAILS(-EINVAL, OP(deref));
}

static void test_arithmetic(void **state)
{
	(void)state;
	GIVES(12, OP(lit2), OP(plus_uconst, .number = 10));
	GIVES(5, CONST(-5), OP(abs));
	GIVES(-5, OP(lit5), OP(neg));
	GIVES(~UINT64_C(5), OP(lit5), (struct dwarf_expr_op){.atom = DW_OP_not});
	GIVES(4, OP(lit6), OP(lit12), OP(and));
	GIVES(14, OP(lit6), OP(lit12), OP(or));
	GIVES(10, OP(lit6), OP(lit12), OP(xor));
	GIVES(9, OP(lit4), OP(lit5), OP(plus));
	GIVES(-1, OP(lit4), OP(lit5), OP(minus));
	GIVES(20, OP(lit4), OP(lit5), OP(mul));
	GIVES(-3, CONST(-7), OP(lit2), OP(div));
	GIVES(1, OP(lit7), OP(lit3), OP(mod));
	GIVES(INT64_MIN, CONST(INT64_MIN), CONST(-1), OP(div));
	GIVES(40, OP(lit5), OP(lit3), OP(shl));
	GIVES(0, OP(lit5), CONST(64), OP(shl));
	GIVES(UINT64_MAX >> 4, CONST(-1), OP(lit4), OP(shr));
	GIVES(0, CONST(-1), CONST(200), OP(shr));
	GIVES(-1, CONST(-16), OP(lit4), OP(shra));
	GIVES(-1, CONST(-16), CONST(64), OP(shra));
	FAILS(-EINVAL, OP(lit1), OP(lit0), OP(div));
	FAILS(-EINVAL, OP(lit1), OP(lit0), OP(mod));
	FAILS(-EINVAL, OP(lit1), OP(plus));
	FAILS(-EINVAL, OP(div));
	FAILS(-EINVAL, OP(neg));
	FAILS(-EINVAL, OP(plus_uconst, .number = 1));
}

static void test_comparisons(void **state)
{
	static const struct {
		uint8_t atom;
		int less, same, more; /* for -1 and 1, 1 and 1, 1 and -1 */
	} cases[] = {
		{DW_OP_eq, 0, 1, 0}, {DW_OP_ne, 1, 0, 1}, {DW_OP_lt, 1, 0, 0},
		{DW_OP_le, 1, 1, 0}, {DW_OP_gt, 0, 0, 1}, {DW_OP_ge, 0, 1, 1},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct dwarf_expr_op compare = {.atom = cases[i].atom};

		GIVES(cases[i].less, CONST(-1), OP(lit1), compare);
		GIVES(cases[i].same, OP(lit1), OP(lit1), compare);
		GIVES(cases[i].more, OP(lit1), CONST(-1), compare);
		FAILS(-EINVAL, OP(lit1), compare);
	}
}

/* Combines the stack into one number: a, b, c (top) become a + 10b + 100c. */
#define SHOW3 OP(lit10), OP(mul), OP(plus), OP(lit10), OP(mul), OP(plus)

static void test_shuffles(void **state)
{
	(void)state;
	GIVES(321, OP(lit1), OP(lit2), OP(lit3), SHOW3);
	GIVES(221, OP(lit1), OP(lit2), OP(dup), SHOW3);
	GIVES(121, OP(lit1), OP(lit2), OP(over), SHOW3);
	GIVES(121, OP(lit1), OP(lit2), OP(pick, .number = 1), SHOW3);
	GIVES(231, OP(lit1), OP(lit3), OP(lit2), SHOW3);
	GIVES(231, OP(lit1), OP(lit2), OP(lit3), OP(swap), SHOW3);
	/* rot: the top becomes the third, so 1 2 3 becomes 3 1 2 */
	GIVES(213, OP(lit1), OP(lit2), OP(lit3), OP(rot), SHOW3);
	GIVES(2, OP(lit2), OP(lit3), OP(drop));
	FAILS(-EINVAL, OP(dup));
	FAILS(-EINVAL, OP(drop));
	FAILS(-EINVAL, OP(lit1), OP(over));
	FAILS(-EINVAL, OP(lit1), OP(swap));
	FAILS(-EINVAL, OP(swap));
	FAILS(-EINVAL, OP(lit1), OP(lit2), OP(rot));
	FAILS(-EINVAL, OP(lit1), OP(pick, .number = 1));
	FAILS(-EINVAL, OP(lit1), OP(pick, .number = UINT64_MAX));
}

/* Bytes: 0 lit, 1 bra +1 (to 5), 4 lit2, 5 lit3. */
static void assert_branch(unsigned condition, uint64_t expected)
{
	const struct dwarf_expr_op ops[] = {
		OP(lit7, .offset = 0),
		{.atom = (uint8_t)(DW_OP_lit0 + condition), .offset = 1},
		OP(bra, .number = 1, .offset = 2),
		OP(lit2, .offset = 5),
		OP(lit3, .offset = 6),
		OP(plus, .offset = 7),
	};

	assert_gives(expected, ops, COUNT(ops));
}

static void test_branches(void **state)
{
	struct dwarf_expr_op nops[DWARF_EXPR_MAX_STEPS + 1];

	(void)state;
	assert_branch(1, 7 + 3);
	assert_branch(0, 2 + 3);
	GIVES(5, OP(lit5, .offset = 0), OP(skip, .number = 1, .offset = 1), OP(lit6, .offset = 4),
	      OP(nop, .offset = 5));
	/* to the end, and into the middle of an operation */
	GIVES(5, OP(lit5, .offset = 0), OP(skip, .number = 1, .offset = 1), OP(lit6, .offset = 4));
	FAILS(-EINVAL, OP(lit5, .offset = 0), OP(skip, .number = (uint64_t)-2, .offset = 1),
	      OP(lit6, .offset = 4));
	FAILS(-EINVAL, OP(lit5, .offset = 0), OP(skip, .number = (uint64_t)-200, .offset = 1));
	FAILS(-EINVAL, OP(bra, .number = 0));
	/* the CFA that is pushed first has the offset -1, and is no target */
	FAILS(-EINVAL, OP(lit1, .offset = (uint64_t)-1),
	      OP(skip, .number = (uint64_t)-4, .offset = 0));
	FAILS(-ELOOP, OP(lit1, .offset = 0), OP(skip, .number = (uint64_t)-3, .offset = 1));
	for (size_t i = 0; i < COUNT(nops); i++)
		nops[i] = i ? OP(nop, .offset = i) : OP(lit1);
	assert_gives(1, nops, COUNT(nops) - 1);
	assert_fails(-ELOOP, nops, COUNT(nops));
}

static void test_kinds(void **state)
{
	const struct dwarf_expr_op value[] = {OP(call_frame_cfa), OP(plus_uconst, .number = 8),
					      OP(stack_value)};
	const struct dwarf_expr_op reg[] = {OP(reg5)};
	const struct dwarf_expr_op regx[] = {OP(call_frame_cfa, .offset = (uint64_t)-1),
					     OP(regx, .number = 9)};
	struct dwarf_expr_result result;

	(void)state;
	assert_int_equal(eval(value, COUNT(value), true, &result), 0);
	assert_int_equal(result.kind, DWARF_EXPR_VALUE);
	assert_int_equal(result.value, 0x7008);
	assert_int_equal(eval(reg, COUNT(reg), false, &result), 0);
	assert_int_equal(result.kind, DWARF_EXPR_REGISTER);
	assert_int_equal(result.value, 5);
	assert_int_equal(eval(regx, COUNT(regx), true, &result), 0);
	assert_int_equal(result.kind, DWARF_EXPR_REGISTER);
	assert_int_equal(result.value, 9);
	FAILS(-EINVAL, OP(lit1), OP(stack_value), OP(lit2));
	FAILS(-EINVAL, OP(lit1), OP(reg5));
	FAILS(-EINVAL, OP(stack_value));
}

static void test_refusals(void **state)
{
	static const uint8_t atoms[] = {DW_OP_addr,
					DW_OP_fbreg,
					DW_OP_piece,
					DW_OP_call2,
					DW_OP_call_ref,
					DW_OP_xderef,
					DW_OP_bit_piece,
					DW_OP_form_tls_address,
					DW_OP_implicit_value,
					DW_OP_push_object_address,
					DW_OP_entry_value,
					DW_OP_lo_user,
					0x00,
					0xff};
	struct dwarf_expr_op full[DWARF_EXPR_MAX_DEPTH + 1];

	(void)state;
	for (size_t i = 0; i < COUNT(atoms); i++)
		FAILS(-EINVAL, OP(lit1), OP(lit1), {.atom = atoms[i], .number = 1});
	for (size_t i = 0; i < COUNT(full); i++)
		full[i] = OP(lit9);
	assert_gives(9, full, COUNT(full) - 1);
	assert_fails(-EINVAL, full, COUNT(full));
	assert_fails(-EINVAL, full, 0);
}

/* x86-64's .plt: breg7+8, breg16, lit15, and, lit11, ge, lit3, shl, plus. */
static void test_plt_expression(void **state)
{
	for (unsigned low = 0; low < 16; low++) {
		GIVES(0x1007 + 8 + (low >= 11 ? 8 : 0), OP(breg7, .number = 8),
		      OP(breg16, .number = low), OP(lit15), OP(and), OP(lit11), OP(ge), OP(lit3),
		      OP(shl), OP(plus));
	}
	(void)state;
}

/* --- decoding ------------------------------------------------------------------------------ */

/* Decodes the block from offset 3 of a heap copy, so that a sanitizer reports reads beyond it. */
static int decode(const uint8_t *block, size_t len, enum dwarf_expr_use use,
		  struct dwarf_expr_op *ops, size_t *ret_count)
{
	uint8_t *copy = malloc(len + 3);
	struct cfi_section section = {.data = copy, .size = len + 3};
	int err;

	memcpy(copy + 3, block, len);
	err = dwarf_expr_decode(&section, 3, use, ops, ret_count);
	free(copy);
	return err;
}

/* A block as it stands in the section: its length, then the operations of `decoded`. */
static const uint8_t block[] = {28,
				DW_OP_const1s,
				0xff,
				DW_OP_const2u,
				0xfe,
				0xff,
				DW_OP_const2s,
				0xfe,
				0xff,
				DW_OP_const4s,
				0xfd,
				0xff,
				0xff,
				0xff,
				DW_OP_constu,
				0x80,
				0x01,
				DW_OP_bregx,
				0x07,
				0x78,
				DW_OP_breg6,
				0x70,
				DW_OP_skip,
				0xfd,
				0xff,
				DW_OP_lit5,
				DW_OP_plus_uconst,
				0xff,
				0x01};

static const struct dwarf_expr_op decoded[] = {
	{DW_OP_call_frame_cfa, 0, 0, UINT64_MAX},
	{DW_OP_const1s, (uint64_t)-1, 0, 0},
	{DW_OP_const2u, 0xfffe, 0, 2},
	{DW_OP_const2s, (uint64_t)-2, 0, 5},
	{DW_OP_const4s, (uint64_t)-3, 0, 8},
	{DW_OP_constu, 128, 0, 13},
	{DW_OP_bregx, 7, (uint64_t)-8, 16},
	{DW_OP_breg6, (uint64_t)-16, 0, 19},
	{DW_OP_skip, (uint64_t)-3, 0, 21},
	{DW_OP_lit5, 0, 0, 24},
	{DW_OP_plus_uconst, 255, 0, 25},
	{DW_OP_stack_value, 0, 0, 28},
};

static void test_decoding(void **state)
{
	struct dwarf_expr_op ops[DWARF_EXPR_MAX_OPS];
	size_t n, all = COUNT(decoded);

	(void)state;
	for (int use = DWARF_EXPR_OF_CFA; use <= DWARF_EXPR_OF_VALUE; use++) {
		size_t skipped = use == DWARF_EXPR_OF_CFA, cut = use != DWARF_EXPR_OF_VALUE;

		memset(ops, 0, sizeof(ops));
		assert_int_equal(decode(block, sizeof(block), use, ops, &n), 0);
		assert_int_equal(n, all - skipped - cut);
		for (size_t i = 0; i < n; i++) {
			assert_int_equal(ops[i].atom, decoded[i + skipped].atom);
			assert_true(ops[i].number == decoded[i + skipped].number);
			assert_true(ops[i].number2 == decoded[i + skipped].number2);
			assert_true(ops[i].offset == decoded[i + skipped].offset);
		}
	}
}

#define BAD(...)                                                                                   \
	assert_int_equal(decode((const uint8_t[]){__VA_ARGS__},                                    \
				sizeof((const uint8_t[]){__VA_ARGS__}), DWARF_EXPR_OF_VALUE, ops,  \
				&n),                                                               \
			 -EINVAL)

static void test_bad_blocks(void **state)
{
	struct dwarf_expr_op ops[DWARF_EXPR_MAX_OPS];
	uint8_t full[DWARF_EXPR_MAX_BYTES + 3];
	size_t n;

	(void)state;
	BAD(0);
	BAD(0x80);
	BAD(2, DW_OP_lit0);
	BAD(1, DW_OP_breg7);
	BAD(2, DW_OP_const2u, 1);
	BAD(2, DW_OP_bregx, 7);
	BAD(9, DW_OP_addr, 1, 2, 3, 4, 5, 6, 7, 8);
	BAD(3, DW_OP_implicit_value, 1, 0);
	BAD(2, DW_OP_GNU_push_tls_address, 0);
	BAD(2, DW_OP_lit0, 0);
	memset(full, DW_OP_nop, sizeof(full));
	full[0] = (DWARF_EXPR_MAX_BYTES & 0x7f) | 0x80;
	full[1] = DWARF_EXPR_MAX_BYTES >> 7;
	assert_int_equal(decode(full, sizeof(full), DWARF_EXPR_OF_VALUE, ops, &n), 0);
	assert_int_equal(n, DWARF_EXPR_MAX_OPS);
	full[0]++;
	assert_int_equal(decode(full, sizeof(full), DWARF_EXPR_OF_VALUE, ops, &n), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pushes),	       cmocka_unit_test(test_memory),
		cmocka_unit_test(test_arithmetic),     cmocka_unit_test(test_comparisons),
		cmocka_unit_test(test_shuffles),       cmocka_unit_test(test_branches),
		cmocka_unit_test(test_kinds),	       cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_plt_expression), cmocka_unit_test(test_decoding),
		cmocka_unit_test(test_bad_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
