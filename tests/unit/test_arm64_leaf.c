/* SPDX-License-Identifier: MIT */
/*
 * The frame at an interrupted instruction of arm64 (arch/arm64/leaf_frame.h), and the C runtime's
 * start code there (arch/arm64/start_code.c): instruction words by hand, on any processor.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define STACKD_ARCH_HEADER "../arch/arm64/registers.h"

#include "stackd_abi.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#include "../../arch/arm64/leaf_frame.h"
#include "../../arch/arm64/start_code.c"

#define NOP	      0xd503201fu
#define RET	      0xd65f03c0u
#define RETAA	      0xd65f0bffu
#define AUTIASP	      0xd50323bfu
#define BTI_C	      0xd503245fu
#define MOV_SP_FP     0x910003bfu /* mov sp, x29 */
#define MOV_FP_SP     0x910003fdu /* mov x29, sp */
#define ADD_SP_32     0x910083ffu /* add sp, sp, #32 */
#define SUB_SP_32     0xd10083ffu /* sub sp, sp, #32 */
#define ADD_SP_4096   0x914007ffu /* add sp, sp, #1, lsl #12 */
#define POP_FRAME_48  0xa8c37bfdu /* ldp x29, x30, [sp], #48 */
#define LOAD_19_20    0xa94153f3u /* ldp x19, x20, [sp, #16] */
#define LOAD_FRAME_16 0xa9417bfdu /* ldp x29, x30, [sp, #16] */
#define POP_LINK      0xf84107feu /* ldr x30, [sp], #16 */
#define LOAD_LINK_8   0xf94007feu /* ldr x30, [sp, #8] */
#define POP_D8_D9     0x6cc127e8u /* ldp d8, d9, [sp], #16 */
#define PUSH_48	      0xa9bd7bfdu /* stp x29, x30, [sp, #-48]! */
#define STORE_19_20   0xa90153f3u /* stp x19, x20, [sp, #16] */
#define PUSH_D8_D9    0x6dbf27e8u /* stp d8, d9, [sp, #-16]! */
#define MOV_X0_1      0xd2800020u /* mov x0, #1 */
#define BL	      0x9400002au
#define STUB_PAGE     0xb0000bd0u /* adrp x16, ... */
#define STUB_LOAD     0xf9400611u /* ldr x17, [x16, #8] */
#define STUB_ADD      0x91002210u /* add x16, x16, #8 */
#define STUB_JUMP     0xd61f0220u /* br x17 */

#define SIZE(array) (sizeof(array) / sizeof(*(array)))

/* The rule of a function without a frame, whose return address is in x30; and none. */
static const struct stackd_rule in_link = {.cfa = STACKD_CFA_REG, .reg = STACKD_REG_SP};
static const struct stackd_rule none = {.cfa = STACKD_CFA_NONE};

/* Mends a rule at words[at] of a function; returns whether it was replaced, in *ret. Beyond the
 * function there is nothing. */
static bool mend(const uint32_t *words, size_t n, size_t at, const struct stackd_rule *rule,
		 struct stackd_rule *ret)
{
	__u32 around[LEAF_FRAME_WORDS] = {0};

	for (size_t i = 0; i < n; i++)
		if (i + LEAF_FRAME_BEFORE >= at && i + LEAF_FRAME_BEFORE - at < LEAF_FRAME_WORDS)
			around[i + LEAF_FRAME_BEFORE - at] = words[i];
	*ret = *rule;
	return leaf_frame_mend(around, ret);
}

static void expect(const uint32_t *words, size_t n, size_t at, const struct stackd_rule *rule,
		   const struct stackd_rule *expected)
{
	struct stackd_rule found;

	assert_true(mend(words, n, at, rule, &found));
	assert_memory_equal(&found, expected, sizeof(found));
}

/* A rule that is proven by the stack: the CFA's register and distance, x30's and x29's slots. */
static struct stackd_rule rule_of(int reg, int cfa, int link, int fp)
{
	struct stackd_rule rule;

	memset(&rule, 0, sizeof(rule));
	rule.cfa = STACKD_CFA_REG;
	rule.reg = (__u8)reg;
	rule.cfa_offset = cfa;
	rule.ra_offset = (__s16)link;
	rule.saved[0] = (__s16)fp;
	return rule;
}

#define EXPECT(words, at, rule, ...)                                                               \
	do {                                                                                       \
		const struct stackd_rule expected_ = rule_of(__VA_ARGS__);                         \
		expect(words, SIZE(words), at, rule, &expected_);                                  \
	} while (0)

static void expect_same(const uint32_t *words, size_t n, size_t at, const struct stackd_rule *rule)
{
	struct stackd_rule found;

	assert_false(mend(words, n, at, rule, &found));
	assert_memory_equal(&found, rule, sizeof(found));
}

/* A function's end, at each of its instructions, whatever call frame information says. */
static void end_of_function(void **state)
{
	static const uint32_t words[] = {MOV_X0_1,  LOAD_19_20, POP_FRAME_48,
					 ADD_SP_32, AUTIASP,	RET};

	(void)state;
	EXPECT(words, 1, &in_link, STACKD_REG_SP, 80, 8 - 80, -80);
	EXPECT(words, 2, &none, STACKD_REG_SP, 80, 8 - 80, -80);
	EXPECT(words, 3, &in_link, STACKD_REG_SP, 32, 0, 0);
	EXPECT(words, 4, &in_link, STACKD_REG_SP, 0, 0, 0);
	EXPECT(words, 5, &in_link, STACKD_REG_SP, 0, 0, 0);
	expect_same(words, SIZE(words), 0, &in_link); /* another instruction precedes */
}

/* The frame is released by the frame pointer; x30 alone is saved; slots are above the pair. */
static void other_ends(void **state)
{
	static const uint32_t by_fp[] = {MOV_SP_FP, LOAD_19_20, POP_FRAME_48, RETAA};
	static const uint32_t alone[] = {POP_D8_D9, POP_LINK, RET};
	static const uint32_t above[] = {LOAD_FRAME_16, ADD_SP_4096, RET};
	static const uint32_t loaded[] = {LOAD_LINK_8, ADD_SP_32, RET};
	static const uint32_t late[] = {POP_FRAME, MOV_SP_FP, RET};

	(void)state;
	EXPECT(by_fp, 0, &in_link, STACKD_REG_FP, 48, 8 - 48, -48);
	EXPECT(by_fp, 1, &in_link, STACKD_REG_SP, 48, 8 - 48, -48);
	EXPECT(alone, 0, &in_link, STACKD_REG_SP, 32, -16, 0);
	EXPECT(alone, 1, &in_link, STACKD_REG_SP, 16, -16, 0);
	EXPECT(above, 0, &in_link, STACKD_REG_SP, 4096, 24 - 4096, 16 - 4096);
	EXPECT(loaded, 0, &in_link, STACKD_REG_SP, 32, 8 - 32, 0);
	/* x29 is the caller's by then. */
	expect_same(late, SIZE(late), 0, &in_link);
}

/* A register that was loaded from above the stack pointer that the function leaves is no slot of
 * its frame; and rules of other kinds stay. */
static void no_end(void **state)
{
	static const uint32_t beyond[] = {LOAD_FRAME_16, RET};
	static const uint32_t endless[] = {POP_FRAME, POP_FRAME, POP_FRAME, POP_FRAME, POP_FRAME,
					   POP_FRAME, POP_FRAME, POP_FRAME, POP_FRAME, POP_FRAME,
					   POP_FRAME, POP_FRAME, RET};
	static const uint32_t plain[] = {POP_FRAME, RET};
	const struct stackd_rule end = {.cfa = STACKD_CFA_END}, signal = {.cfa = STACKD_CFA_SIGNAL};

	(void)state;
	expect_same(beyond, SIZE(beyond), 0, &in_link);
	expect_same(endless, SIZE(endless), 0, &none);
	expect_same(plain, SIZE(plain), 0, &end);
	expect_same(plain, SIZE(plain), 0, &signal);
}

/* Behind instructions that have lowered the stack pointer, which call frame information leaves out;
 * where it has them, its rule stays. */
static void start_of_function(void **state)
{
	static const uint32_t words[] = {RET,	      BTI_C,	 PUSH_D8_D9, PUSH_48, MOV_FP_SP,
					 STORE_19_20, SUB_SP_32, MOV_X0_1,   MOV_X0_1};
	const struct stackd_rule known = rule_of(STACKD_REG_SP, 64, 8 - 48, -48);

	(void)state;
	expect_same(words, SIZE(words), 1, &in_link);
	expect_same(words, SIZE(words), 2, &in_link);
	EXPECT(words, 3, &in_link, STACKD_REG_SP, 16, 0, 0);
	EXPECT(words, 4, &in_link, STACKD_REG_SP, 64, 0, 0);
	EXPECT(words, 6, &in_link, STACKD_REG_SP, 64, 0, 0);
	EXPECT(words, 7, &in_link, STACKD_REG_SP, 96, 0, 0);
	expect_same(words, SIZE(words), 8, &in_link);
	expect_same(words, SIZE(words), 7, &known);
	expect_same(words, SIZE(words), 7, &none);
}

/* The linkage table: its first entry pushes 16 bytes, the others none. */
static void linkage_table(void **state)
{
	static const uint32_t words[] = {LEAF_PUSH, STUB_PAGE, STUB_LOAD, STUB_ADD,
					 STUB_JUMP, NOP,       NOP,	  NOP,
					 STUB_PAGE, STUB_LOAD, STUB_ADD,  STUB_JUMP};

	(void)state;
	EXPECT(words, 0, &none, STACKD_REG_SP, 0, 0, 0);
	for (size_t at = 1; at <= 4; at++)
		EXPECT(words, at, &none, STACKD_REG_SP, 16, 0, 0);
	for (size_t at = 8; at < SIZE(words); at++)
		EXPECT(words, at, &none, STACKD_REG_SP, 0, 0, 0);
	expect_same(words, SIZE(words), 5, &none);
}

/* The dynamic linker's function behind the first entry, and a program's _start. */
static void marked_entries(void **state)
{
	static const uint32_t resolve[] = {BTI_C, LEAF_RESOLVE},
			      start[] = {NOP, LEAF_NO_FP, LEAF_NO_LINK};
	static const uint32_t other[] = {NOP, LEAF_NO_FP, MOV_X0_1};
	struct stackd_rule end = {.cfa = STACKD_CFA_END, .reg = STACKD_REG_SP};

	(void)state;
	EXPECT(resolve, 0, &in_link, STACKD_REG_SP, 16, 0, 0);
	expect(start, SIZE(start), 0, &in_link, &end);
	expect_same(other, SIZE(other), 0, &in_link);
}

/* _init and _fini, in bytes of their code; the last byte of the call stands for its return address.
 */
static void init(void **state)
{
	static const uint32_t init[] = {NOP, 0xa9bf7bfd, MOV_FP_SP, BL, POP_FRAME, RET};
	static const uint32_t other[] = {NOP, 0xa9bf7bfd, MOV_FP_SP, MOV_X0_1, POP_FRAME, RET};
	static const uint32_t fini[] = {NOP, 0xa9bf7bfd, MOV_FP_SP, POP_FRAME, RET, NOP};
	const uint8_t *code = (const uint8_t *)init;

	(void)state;
	assert_int_equal(start_code_in_init(code, sizeof(init), 0), 0);
	assert_int_equal(start_code_in_init(code, sizeof(init), 4), 0);
	assert_int_equal(start_code_in_init(code, sizeof(init), 8), 16);
	assert_int_equal(start_code_in_init(code, sizeof(init), 12), 16);
	assert_int_equal(start_code_in_init(code, sizeof(init), 15), 16);
	assert_int_equal(start_code_in_init(code, sizeof(init), 16), -1);
	assert_int_equal(start_code_in_init(code, 12, 8), -1);
	assert_int_equal(start_code_in_init((const uint8_t *)fini, sizeof(fini), 4), 0);
	assert_int_equal(start_code_in_init((const uint8_t *)fini, sizeof(fini), 8), 16);
	assert_int_equal(start_code_in_init((const uint8_t *)fini, sizeof(fini), 16), -1);
	assert_int_equal(start_code_in_init((const uint8_t *)other, sizeof(other), 8), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(end_of_function),
		cmocka_unit_test(other_ends),
		cmocka_unit_test(no_end),
		cmocka_unit_test(start_of_function),
		cmocka_unit_test(linkage_table),
		cmocka_unit_test(marked_entries),
		cmocka_unit_test(init),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
