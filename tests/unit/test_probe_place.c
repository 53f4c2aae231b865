/* SPDX-License-Identifier: MIT */
/* Instructions that the kernel takes for others when they have a probe
 * (arch/probe_place.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "arch/probe_place.h"

static const struct {
	const char *text;
	uint8_t code[8];
	size_t len;
	bool is_misread;
} cases[] = {
	{"vxorps %xmm0,%xmm0,%xmm0: push", {0xc5, 0xf8, 0x57, 0xc0}, 4, true},
	{"vpbroadcastb %esi,%ymm17: jp", {0x62, 0xe2, 0x7d, 0x28, 0x7a, 0xce}, 6, true},
	{"vpor %xmm8,%xmm0,%xmm0: jmp", {0xc4, 0xc1, 0x79, 0xeb, 0xc0}, 5, true},
	{"vpsubsb %xmm1,%xmm0,%xmm0: call", {0xc5, 0xf9, 0xe8, 0xc1}, 4, true},
	{"kmovq (%rdi),%k1: nop", {0xc4, 0xe1, 0xf8, 0x90, 0x0f}, 5, true},
	{"vcmpps $0,%xmm1,%xmm0,%xmm0: ret", {0xc5, 0xf8, 0xc2, 0xc1, 0x00}, 5, true},
	{"vprotb $1,%xmm0,%xmm0 (XOP)", {0x8f, 0xe8, 0x78, 0xc0, 0xc0, 0x01}, 6, false},
	{"vmovaps %xmm1,%xmm0", {0xc5, 0xf8, 0x28, 0xc1}, 4, false},
	{"vzeroupper", {0xc5, 0xf8, 0x77}, 3, true}, /* ja: refused, too */
	{"cut off", {0xc5, 0xf8}, 2, true},
	{"pop (%rax)", {0x8f, 0x00}, 2, false},
	{"push %rbp", {0x55}, 1, false},
	{"jp", {0x7a, 0x10}, 2, false},
	{"ret", {0xc3}, 1, false},
	{"rep ret", {0xf3, 0xc3}, 2, false},
	{"endbr64", {0xf3, 0x0f, 0x1e, 0xfa}, 4, false},
	{"xorps %xmm0,%xmm0", {0x0f, 0x57, 0xc0}, 3, false},
	{"call", {0xe8, 0, 0, 0, 0}, 5, false},
	{"nothing", {0}, 0, false},
};

static void test_misread(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		if (probe_place_is_misread(cases[i].code, cases[i].len) != cases[i].is_misread)
			fail_msg("%s", cases[i].text);
	}
}

static void test_long_nop(void **state)
{
	static const uint8_t nop[] = {0x0f, 0x1f, 0x44, 0, 0, 0xc3};
	static const uint8_t other[] = {0x0f, 0x1f, 0x40, 0, 0xc3, 0xc3};

	(void)state;
	assert_true(probe_place_is_long_nop(nop, sizeof(nop)));
	assert_true(probe_place_is_long_nop(nop, 5));
	assert_false(probe_place_is_long_nop(nop, 4));
	assert_false(probe_place_is_long_nop(other, sizeof(other)));
}

/* A displacement that looks like an opcode is none. */
static void test_condition(void **state)
{
	static const struct {
		uint8_t code[8];
		uint8_t length;
		int condition;
	} branches[] = {
		{{0x74, 0x10}, 2, 4},			    /* je */
		{{0x2e, 0x7f, 0x10}, 3, 15},		    /* jg, with a hint */
		{{0x40, 0x75, 0x10}, 3, 5},		    /* jne, with an idle REX */
		{{0x0f, 0x82, 0x70, 0, 0, 0}, 6, 2},	    /* jb */
		{{0xf2, 0x0f, 0x8e, 0x70, 0, 0, 0}, 7, 14}, /* bnd jle */
		{{0xe3, 0x75}, 2, -1},			    /* jrcxz */
		{{0x67, 0xe3, 0x0f}, 3, -1},		    /* jecxz */
		{{0xe2, 0x7f}, 2, -1},			    /* loop */
		{{0xe0, 0x0f}, 2, -1},			    /* loopne */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(branches) / sizeof(*branches); i++) {
		const struct insn insn = {.length = branches[i].length};

		assert_int_equal(probe_place_condition(branches[i].code, &insn),
				 branches[i].condition);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_misread),
					   cmocka_unit_test(test_long_nop),
					   cmocka_unit_test(test_condition)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
