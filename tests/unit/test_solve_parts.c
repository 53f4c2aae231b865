/* SPDX-License-Identifier: MIT */
/* Rules of tests/unit/linked_parts.S: parts of functions that are not easily told from functions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those above. */
#include <cmocka.h>

#include "linked_library.h"

static int setup(void **state)
{
	return library_open(state, "linked_parts.so", "interprets");
}

static void test_interpreter(void **state)
{
	check(state, "last_part", 64);
	check(state, "shared_by_parts", 64);
}

static void test_table_of_functions(void **state)
{
	assert_int_equal(at(state, "hands_over")->cfa, STACKD_CFA_NONE);
	check(state, "handed_0_in", 16);
	check(state, "handed_1_at", 8);
	check(state, "handed_1_in", 32);
}

static void test_switches(void **state)
{
	check(state, "has_switch", 8);
	check(state, "case_behind", 32);
	check(state, "beyond_bound", 16);
}

/* Nothing is known of the function by its name, and of another by none: their calls tell. */
static void test_ends_elsewhere(void **state)
{
	check(state, "ends_inside_in", 48);
	check(state, "has_other_in", 64);
}

static void test_slot(void **state)
{
	check(state, "calls_by_slot_in", 48);
	check(state, "has_slot_in", 64);
}

static void test_behind_calls(void **state)
{
	check(state, "stop", 32);
	check(state, "behind_unknown", 16);
	assert_int_equal(at(state, "behind_last")->cfa, STACKD_CFA_NONE);
	check(state, "following", 8);
	check(state, "behind_setjmp", 32);
}

static void test_unaligned(void **state)
{
	check(state, "unaligned_in", 24);
}

/* The cold part is that of the function whose flow comes there. */
static void test_ghost(void **state)
{
	const struct stackd_rule *rule = at(state, "has_ghost_in");

	assert_int_equal(rule->cfa, STACKD_CFA_REG);
	assert_int_equal(rule->reg, STACKD_REG_FP);
	check(state, "ghost_cold", 48);
	check(state, "owns_cold_in", 48);
}

/* The CFA is told by the prologue's slot, and the epilogue by what that holds. */
static void test_spilled(void **state)
{
	const struct stackd_rule *rule = at(state, "spilled");

	assert_int_equal(rule->cfa, STACKD_CFA_DEREF);
	assert_int_equal(rule->reg, STACKD_REG_FP);
	assert_int_equal(rule->cfa_offset, -8);
	assert_int_equal(rule->cfa_add, 0);
	check(state, "spills_out", 16);
}

static void test_shared(void **state)
{
	check(state, "traps_1_in", 48);
	check(state, "traps_2_in", 80);
	check(state, "shares_1", 8);
	check(state, "shares_2_in", 48);
	check(state, "shared_frame", 48);
	check(state, "leads_to_lost_in", 32);
}

static void test_right_behind_calls(void **state)
{
	check(state, "behind_abort", 8);
	check(state, "behind_abort_in", 32);
	check(state, "behind_never", 8);
	check(state, "behind_never_in", 32);
	assert_int_equal(at(state, "part_behind_abort")->cfa, STACKD_CFA_NONE);
}

static void test_tail_call_of_tail_call(void **state)
{
	check(state, "only_jumps", 8);
	check(state, "ends_in_jumps", 8);
	check(state, "ends_in_jumps_in", 16);
}

static void test_part_behind_return(void **state)
{
	check(state, "checks_first", 8);
	check(state, "checks_first_in", 16);
	check(state, "check_fails", 16);
}

/* Other registers than the two pointers are not known there, but slots are. */
static void test_landings(void **state)
{
	const struct stackd_rule *rule = at(state, "landing_by_pointer");

	check(state, "landing", 96);
	check(state, "landing_in", 96);
	assert_int_equal(at(state, "landing_in")->saved[0], -24);
	assert_int_equal(at(state, "landing_in")->saved[1], -16);
	assert_int_equal(rule->cfa, STACKD_CFA_REG);
	assert_int_equal(rule->reg, STACKD_REG_FP);
	assert_int_equal(rule->cfa_offset, 16);
	assert_int_equal(at(state, "no_landing")->cfa, STACKD_CFA_NONE);
}

/* Functions of contexts have not the frame of the code that makes them, which is of 80 bytes. One
 * shows where it begins by the register that it saves there. Nothing shows the beginning of the
 * other, so it has no rule. */
static void test_contexts(void **state)
{
	assert_int_equal(at(state, "entered_by_context")->cfa, STACKD_CFA_NONE);
	check(state, "saves_in_context", 16);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_interpreter),
		cmocka_unit_test(test_table_of_functions),
		cmocka_unit_test(test_switches),
		cmocka_unit_test(test_ends_elsewhere),
		cmocka_unit_test(test_slot),
		cmocka_unit_test(test_behind_calls),
		cmocka_unit_test(test_spilled),
		cmocka_unit_test(test_unaligned),
		cmocka_unit_test(test_ghost),
		cmocka_unit_test(test_shared),
		cmocka_unit_test(test_landings),
		cmocka_unit_test(test_contexts),
		cmocka_unit_test(test_right_behind_calls),
		cmocka_unit_test(test_tail_call_of_tail_call),
		cmocka_unit_test(test_part_behind_return),
	};

	return cmocka_run_group_tests(tests, setup, library_close);
}
