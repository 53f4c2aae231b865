/* SPDX-License-Identifier: MIT */
/* Code that is entered by jumps, as GHC's is, told from functions that end in jumps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those above. */
#include <cmocka.h>

#include "analysed_code.h"

/* Eighty functions that end in jumps, four that return, and eight more. */
__asm__(".text\n.p2align 4\n"
	".macro jumps\n.type jumps_\\@, @function\n.p2align 4\n"
	"jumps_\\@: mov (%rbp), %rax\njmp *%rax\n.endm\n"
	".macro returns\n.type returns_\\@, @function\n.p2align 4\n"
	"returns_\\@: mov (%rdi), %eax\nret\n.endm\n"
	".globl jumps_few, jumps_many, jumps_mixed, jumps_end\n"
	".hidden jumps_few, jumps_many, jumps_mixed, jumps_end\n"
	"jumps_few: .rept 20\njumps\n.endr\n.p2align 4\n"
	"jumps_many: .rept 80\njumps\n.endr\n.rept 4\nreturns\n.endr\n.p2align 4\n"
	"jumps_mixed: .rept 8\nreturns\n.endr\n.p2align 4\n"
	"jumps_end: ud2\n");

extern const char __executable_start[];
extern const char jumps_few[], jumps_many[], jumps_mixed[], jumps_end[];

static bool is_jumped_into(const char *start, const char *end)
{
	struct analysis_range range = {.start = (uint64_t)(start - __executable_start),
				       .end = (uint64_t)(end - __executable_start),
				       .is_first = true};
	struct analysis_stats stats;

	rules_free(rules_of("/proc/self/exe", range, &stats));
	assert_true(stats.instructions > 8);
	return stats.is_jumped_into;
}

static void test_code_of_jumps(void **state)
{
	(void)state;
	assert_true(is_jumped_into(jumps_many, jumps_mixed));
}

/* Twelve returns beside a hundred jumps: functions that end in tail calls. */
static void test_tail_calls(void **state)
{
	(void)state;
	assert_false(is_jumped_into(jumps_many, jumps_end));
}

/* Twenty functions say nothing about a file. */
static void test_little_code(void **state)
{
	(void)state;
	assert_false(is_jumped_into(jumps_few, jumps_many));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_code_of_jumps),
		cmocka_unit_test(test_tail_calls),
		cmocka_unit_test(test_little_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
