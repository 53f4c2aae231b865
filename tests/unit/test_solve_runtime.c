/* SPDX-License-Identifier: MIT */
/* Rules of tests/unit/linked_runtime.S: code of conventions that are not C's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those above. */
#include <cmocka.h>

#include "analysis/frame_state.h"
#include "linked_library.h"

#define SAVED_RBX 1 /* its index in STACKD_SAVED_REGS */

static int setup(void **state)
{
	return library_open(state, "linked_runtime.so", "has_roots");
}

/* No function begins behind a call because a table says that the call returns there. */
static void test_return_table(void **state)
{
	check(state, "has_roots_in", 32);
	check(state, "function_behind_in", 16);
}

static void test_handlers(void **state)
{
	check(state, "tries_in", 64);
	check(state, "handles_in", 48);
	check(state, "handles_too_in", 64);
}

static void test_raise(void **state)
{
	assert_int_equal(at(state, "behind_raises")->cfa, STACKD_CFA_NONE);
	check(state, "does_not_raise", 32);
	check(state, "shared_end", 32);
}

static int slot_of_rbx(void **state, const char *label)
{
	check(state, label, 32);
	return at(state, label)->saved[SAVED_RBX];
}

static void test_arguments(void **state)
{
	assert_int_equal(slot_of_rbx(state, "spills_in"), 0);
	assert_int_equal(slot_of_rbx(state, "spills_and_jumps_in"), 0);
	assert_int_equal(at(state, "spills_and_leaves_in")->cfa, STACKD_CFA_NONE);
	assert_int_equal(slot_of_rbx(state, "preserves_in"), -24);
}

static void test_lost(void **state)
{
	check(state, "chooses_in", 16);
	check(state, "is_lost_later", 16);
	assert_int_equal(at(state, "is_lost")->cfa, STACKD_CFA_NONE);
}

static void test_labels(void **state)
{
	check(state, "last_label", 48);
}

#define R14 14

static const struct insn loads_rsp = {.op = INSN_LOAD, .dst = INSN_SP, .src = R14};
static const struct insn stores_rsp = {.op = INSN_STORE, .dst = R14, .src = INSN_SP};
static const struct insn copies_rsp = {.op = INSN_COPY, .dst = 0, .src = INSN_SP};
static const struct insn copies_to_rsp = {.op = INSN_COPY, .dst = INSN_SP, .src = R14};
static const struct insn pops = {.op = INSN_POP, .dst = 11, .src = INSN_NO_REG};

/* Whether a function has left for good behind two instructions. */
static bool has_left(const struct insn *first, const struct insn *second)
{
	struct frame_state s;

	frame_state_init(&s);
	frame_state_apply(&s, first);
	frame_state_apply(&s, second);
	return frame_state_has_left(&s);
}

/* Who loads the stack pointer returns if it can find the one that it had. */
static void test_has_left(void **state)
{
	struct frame_state a, b;

	(void)state;
	assert_true(has_left(&loads_rsp, &pops));
	assert_false(has_left(&stores_rsp, &loads_rsp));
	assert_false(has_left(&copies_rsp, &loads_rsp));
	assert_false(has_left(&loads_rsp, &copies_to_rsp));
	frame_state_init(&a);
	frame_state_apply(&a, &loads_rsp);
	frame_state_init(&b);
	assert_true(frame_state_join(&a, &b));
	assert_false(frame_state_has_left(&a));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_return_table), cmocka_unit_test(test_handlers),
		cmocka_unit_test(test_raise),	     cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_lost),	     cmocka_unit_test(test_labels),
		cmocka_unit_test(test_has_left),
	};

	return cmocka_run_group_tests(tests, setup, library_close);
}
