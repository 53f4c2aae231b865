/* SPDX-License-Identifier: MIT */
/* The expression evaluator, operation by operation, and the recogniser of call instructions. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/call_site.h"
#include "cfi/dwarf_expr.h"

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

static int eval(const Dwarf_Op *ops, size_t count, bool has_cfa, struct dwarf_expr_result *result)
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
	(Dwarf_Op)                                                                                 \
	{                                                                                          \
		.atom = DW_OP_##name, __VA_ARGS__                                                  \
	}
#define CONST(v) OP(const8u, .number = (uint64_t)(v))

static void assert_gives(uint64_t expected, const Dwarf_Op *ops, size_t count)
{
	struct dwarf_expr_result result = {.kind = DWARF_EXPR_REGISTER, .value = 0xdead};

	assert_int_equal(eval(ops, count, true, &result), 0);
	assert_int_equal(result.kind, DWARF_EXPR_ADDRESS);
	assert_int_equal(result.value, expected);
}

static void assert_fails(int error, const Dwarf_Op *ops, size_t count)
{
	struct dwarf_expr_result result = {.value = 0xdead};

	assert_int_equal(eval(ops, count, false, &result), error);
	assert_int_equal(result.value, 0xdead);
}

#define GIVES(expected, ...)                                                                       \
	do {                                                                                       \
		const Dwarf_Op ops_[] = {__VA_ARGS__};                                             \
		assert_gives((uint64_t)(expected), ops_, COUNT(ops_));                             \
	} while (0)
#define FAILS(error, ...)                                                                          \
	do {                                                                                       \
		const Dwarf_Op ops_[] = {__VA_ARGS__};                                             \
		assert_fails(error, ops_, COUNT(ops_));                                            \
	} while (0)

static void test_pushes(void **state)
{
	(void)state;
	GIVES(0, OP(lit0));
	GIVES(31, OP(lit31));
	GIVES(0x1007 + 8, OP(breg7, .number = 8));
	GIVES(0x1006 - 16, OP(breg6, .number = (Dwarf_Word)-16));
	GIVES(0x1010, OP(breg16));
	GIVES(0x100c + 5, OP(bregx, .number = 12, .number2 = 5));
	GIVES(200, OP(const1u, .number = 200));
	GIVES(-5, OP(const1s, .number = (Dwarf_Word)-5));
	GIVES(UINT64_MAX, OP(const8u, .number = UINT64_MAX));
	GIVES(77, OP(constu, .number = 77));
	GIVES(-77, OP(consts, .number = (Dwarf_Word)-77));
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
	GIVES(~UINT64_C(5), OP(lit5), OP(not ));
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
		Dwarf_Op compare = {.atom = cases[i].atom};

		GIVES(cases[i].less, CONST(-1), OP(lit1), compare);
		GIVES(cases[i].same, OP(lit1), OP(lit1), compare);
		GIVES(cases[i].more, OP(lit1), CONST(-1), compare);
		FAILS(-EINVAL, OP(lit1), compare);
	}
}

/* Makes the whole stack visible: a, b, c (top) become a + 10b + 100c. */
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
	const Dwarf_Op ops[] = {
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
	Dwarf_Op nops[DWARF_EXPR_MAX_STEPS + 1];

	(void)state;
	assert_branch(1, 7 + 3);
	assert_branch(0, 2 + 3);
	GIVES(5, OP(lit5, .offset = 0), OP(skip, .number = 1, .offset = 1), OP(lit6, .offset = 4),
	      OP(nop, .offset = 5));
	/* to the end, and into the middle of an operation */
	GIVES(5, OP(lit5, .offset = 0), OP(skip, .number = 1, .offset = 1), OP(lit6, .offset = 4));
	FAILS(-EINVAL, OP(lit5, .offset = 0), OP(skip, .number = (Dwarf_Word)-2, .offset = 1),
	      OP(lit6, .offset = 4));
	FAILS(-EINVAL, OP(lit5, .offset = 0), OP(skip, .number = (Dwarf_Word)-200, .offset = 1));
	FAILS(-EINVAL, OP(bra, .number = 0));
	/* libdw's CFA has the offset -1, and is no target */
	FAILS(-EINVAL, OP(lit1, .offset = (Dwarf_Word)-1),
	      OP(skip, .number = (Dwarf_Word)-4, .offset = 0));
	FAILS(-ELOOP, OP(lit1, .offset = 0), OP(skip, .number = (Dwarf_Word)-3, .offset = 1));
	for (size_t i = 0; i < COUNT(nops); i++)
		nops[i] = i ? OP(nop, .offset = i) : OP(lit1);
	assert_gives(1, nops, COUNT(nops) - 1);
	assert_fails(-ELOOP, nops, COUNT(nops));
}

static void test_kinds(void **state)
{
	const Dwarf_Op value[] = {OP(call_frame_cfa), OP(plus_uconst, .number = 8),
				  OP(stack_value)};
	const Dwarf_Op reg[] = {OP(reg5)};
	const Dwarf_Op regx[] = {OP(call_frame_cfa, .offset = (Dwarf_Word)-1),
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
	Dwarf_Op full[DWARF_EXPR_MAX_DEPTH + 1];

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

/* --- call instructions --------------------------------------------------------------------- */

struct call_case {
	const char *bytes;
	size_t len;
	bool is_call;
};

#define CALL(bytes)                                                                                \
	{                                                                                          \
		bytes, sizeof(bytes) - 1, true                                                     \
	}
#define NONE(bytes)                                                                                \
	{                                                                                          \
		bytes, sizeof(bytes) - 1, false                                                    \
	}

static void test_call_sites(void **state)
{
	static const struct call_case cases[] = {
		CALL("\xe8\x11\x22\x33\x44"), /* call rel32 */
		CALL("\x90\x90\xe8\xff\xff\xff\xff"),
		CALL("\x67\xe8\x11\x22\x33\x44"),	  /* with a prefix */
		CALL("\xff\xd0"),			  /* call *%rax */
		CALL("\x41\xff\xd3"),			  /* call *%r11 */
		CALL("\x3e\xff\xd0"),			  /* notrack call *%rax */
		CALL("\xff\x10"),			  /* call *(%rax) */
		CALL("\xff\x15\x11\x22\x33\x44"),	  /* call *x(%rip) */
		CALL("\xff\x14\x24"),			  /* call *(%rsp) */
		CALL("\x41\xff\x14\xc4"),		  /* call *(%r12,%rax,8) */
		CALL("\xff\x14\xc5\x11\x22\x33\x44"),	  /* call *x(,%rax,8) */
		CALL("\xff\x50\x18"),			  /* call *0x18(%rax) */
		CALL("\xff\x54\x24\x08"),		  /* call *8(%rsp) */
		CALL("\xff\x90\x11\x22\x33\x44"),	  /* call *x(%rax) */
		CALL("\xff\x94\x24\x11\x22\x33\x44"),	  /* call *x(%rsp) */
		CALL("\x64\xff\x14\x25\x11\x22\x33\x44"), /* call *%fs:x */
		NONE("\x90\x90\x90\x90\x90\x90\x90"),
		NONE("\xe9\x11\x22\x33\x44"),	  /* jmp rel32 */
		NONE("\xff\xe0"),		  /* jmp *%rax */
		NONE("\xff\x25\x11\x22\x33\x44"), /* jmp *x(%rip) */
		NONE("\xff\x18"),		  /* lcall *(%rax) */
		NONE("\xff\xd0\x90"),		  /* a call, but not the last */
		NONE("\xe8\x11\x22\x33\x44\x90"),
		NONE("\xe8\x11\x22\x33"), /* cut */
		NONE("\xff\x15\x11\x22\x33"),
		NONE("\xff\x14"),
		NONE("\xff\x50"),
		NONE("\xff\x54\x24"),
		NONE("\x9a\x11\x22\x33\x44\x55\x66"), /* lcall, invalid in 64-bit code */
		NONE("\xd0"),
		NONE(""),
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		/* in memory of its own, so that the sanitizer sees a read before it */
		uint8_t *copy = malloc(cases[i].len + 1);

		memcpy(copy, cases[i].bytes, cases[i].len);
		if (call_site_ends(copy, cases[i].len) != cases[i].is_call)
			fail_msg("case %zu", i);
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pushes),	       cmocka_unit_test(test_memory),
		cmocka_unit_test(test_arithmetic),     cmocka_unit_test(test_comparisons),
		cmocka_unit_test(test_shuffles),       cmocka_unit_test(test_branches),
		cmocka_unit_test(test_kinds),	       cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_plt_expression), cmocka_unit_test(test_call_sites),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
