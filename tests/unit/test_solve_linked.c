/* SPDX-License-Identifier: MIT */
/* Rules of tests/unit/linked_code.S: what only a linked library has, and shapes of compilers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those above. */
#include <cmocka.h>
#include "linked_library.h"

static int setup(void **state)
{
	return library_open(state, "linked_code.so", "never");
}

/* A function of the library itself does not return, whichever way it is called. */
static void test_interposed(void **state)
{
	assert_int_equal(at(state, "behind_never")->cfa, STACKD_CFA_NONE);
	assert_int_equal(at(state, "behind_jump")->cfa, STACKD_CFA_NONE);
}

static void test_eh_return(void **state)
{
	assert_int_equal(at(state, "behind_resumes")->cfa, STACKD_CFA_NONE);
}

/* The entry that leads behind the function is skipped, and no other. */
static void test_unreachable_case(void **state)
{
	check(state, "next", 8);
	check(state, "case_2", 16);
	check(state, "called_next", 8);
}

/* A table ends where the next one begins, unless its first entries are not used. */
static void test_table_end(void **state)
{
	check(state, "loop_case", 48);
	check(state, "follows_start", 112);
	check(state, "skips_case", 64);
	check(state, "follows_skips_start", 144);
}

/* Of a part that was taken for a function, and the function that jumps there, the function counts.
 */
static void test_parts(void **state)
{
	check(state, "has_cold_in", 48);
	check(state, "cold_part", 48);
	check(state, "shared_part", 64);
	assert_int_equal(at(state, "pointed_part")->cfa, STACKD_CFA_NONE);
}

static void test_cases(void **state)
{
	check(state, "on_one", 80);
	check(state, "on_two", 80);
}

static void test_probes(void **state)
{
	check(state, "probes_in", 0x8108);
	check(state, "is_probed_in", 0x2258);
}

static void test_behind_ends(void **state)
{
	check(state, "behind_stop", 8);
	check(state, "behind_slot", 8);
	check(state, "fails_in", 32);
}

static void test_tail_calls(void **state)
{
	check(state, "ends_in_third_in", 32);
	assert_int_equal(at(state, "dispatches")->cfa, STACKD_CFA_NONE);
	assert_int_equal(at(state, "dispatches_part")->cfa, STACKD_CFA_NONE);
	assert_int_equal(at(state, "copies")->cfa, STACKD_CFA_NONE);
	check(state, "known_by_jump_in", 24);
	assert_int_equal(at(state, "unknown")->cfa, STACKD_CFA_NONE);
}

/* What is entered in other ways than by a call. */
static void test_not_called(void **state)
{
	assert_int_equal(at(state, "interrupts_in")->cfa, STACKD_CFA_NONE);
	assert_int_equal(at(state, "resolves_in")->cfa, STACKD_CFA_NONE);
}

static void test_behind_call(void **state)
{
	check(state, "behind_call", 8);
}

/* Code that only the table of a call leads to, or an address that another function brings. */
static void test_led_to(void **state)
{
	check(state, "callee_0", 8);
	check(state, "callee_1", 8);
	check(state, "brought_1", 64);
	check(state, "brought_2", 64);
}

/* A bound is one of the number that chooses, and of no other. */
static void test_bounds(void **state)
{
	check(state, "last_of_many", 16);
	check(state, "not_bounded", 16);
	check(state, "bounded", 16);
	check(state, "behind_bounded", 8);
}

static void test_never_comes(void **state)
{
	check(state, "branches_on", 48);
	check(state, "is_behind_in", 16);
}

/* What begins like a function is one, and no part of the one that has its address. */
static void test_chosen(void **state)
{
	check(state, "chosen_in", 16);
}

/* A function that never returns makes the stack aligned for what it calls. */
static void test_straight(void **state)
{
	check(state, "straight_in", 16);
	assert_int_equal(at(state, "crooked_in")->cfa, STACKD_CFA_NONE);
}

static void test_padding_behind_calls(void **state)
{
	const struct stackd_rule *rule = at(state, "epilogue_in");

	assert_int_equal(rule->cfa, STACKD_CFA_REG);
	assert_int_equal(rule->reg, STACKD_REG_FP);
	check(state, "behind_full", 8);
	check(state, "behind_full_in", 16);
	check(state, "behind_zeroes", 8);
	check(state, "behind_zeroes_in", 16);
}

static void test_kept(void **state)
{
	assert_int_equal(STACKD_KEPT(at(state, "keeping_both")), STACKD_KEPT_TWO);
	assert_int_equal(STACKD_KEPT(at(state, "keeping_r11")), 11 + 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_interposed),
		cmocka_unit_test(test_eh_return),
		cmocka_unit_test(test_unreachable_case),
		cmocka_unit_test(test_table_end),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_never_comes),
		cmocka_unit_test(test_chosen),
		cmocka_unit_test(test_straight),
		cmocka_unit_test(test_padding_behind_calls),
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_probes),
		cmocka_unit_test(test_behind_ends),
		cmocka_unit_test(test_tail_calls),
		cmocka_unit_test(test_not_called),
		cmocka_unit_test(test_behind_call),
		cmocka_unit_test(test_led_to),
		cmocka_unit_test(test_kept),
	};

	return cmocka_run_group_tests(tests, setup, library_close);
}
