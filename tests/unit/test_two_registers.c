/* SPDX-License-Identifier: MIT */
/* One step of a walk (bpf/walk.h) on a processor of two registers that does not exist: the step's
 * source depends on none that does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define STACKD_ARCH_HEADER "../tests/unit/two_registers.h"

#include "walk.h"

#define STACK 0x10000ull
#define WORDS 64

static __u64 words[WORDS];

static int walk_read(struct walk *w, __u64 address, __u64 *ret_word)
{
	(void)w;
	if (address < STACK || address - STACK >= sizeof(words) || address % 8)
		return 1;
	*ret_word = words[(address - STACK) / 8];
	return 0;
}

static void put(__u64 address, __u64 word)
{
	words[(address - STACK) / 8] = word;
}

static struct walk at(__u64 pc, __u64 sp, __u64 fp)
{
	struct walk w = {.pc = pc, .valid = 3, .is_exact = 1};

	w.r[STACKD_REG_SP] = sp;
	w.r[STACKD_REG_FP] = fp;
	return w;
}

static int clear(void **state)
{
	(void)state;
	memset(words, 0, sizeof(words));
	return 0;
}

/* From the stack pointer, with a frame that has saved the frame pointer. */
static void by_stack_pointer(void **state)
{
	const struct stackd_rule rule = {.cfa = STACKD_CFA_REG,
					 .reg = STACKD_REG_SP,
					 .cfa_offset = 48,
					 .ra_offset = ARCH_RETURN_SLOT,
					 .saved = {-24}};
	struct walk w = at(1, STACK, 5);

	(void)state;
	put(STACK + 32, 0x1234);
	put(STACK + 24, 0x77);
	assert_int_equal(walk_step(&w, &rule), WALK_GO_ON);
	assert_int_equal(w.pc, 0x1234);
	assert_int_equal(w.r[STACKD_REG_SP], STACK + 48);
	assert_int_equal(w.r[STACKD_REG_FP], 0x77);
	assert_int_equal(w.origin[STACKD_REG_FP].slot, STACK + 24);
	assert_int_equal(w.slot, STACK + 32);
	assert_false(w.is_exact);
}

/* From the frame pointer; a CFA that is not above the stack pointer ends the walk. */
static void by_frame_pointer(void **state)
{
	const struct stackd_rule rule = {.cfa = STACKD_CFA_REG,
					 .reg = STACKD_REG_FP,
					 .cfa_offset = 16,
					 .ra_offset = ARCH_RETURN_SLOT};
	struct walk w = at(1, STACK, STACK + 64);

	(void)state;
	put(STACK + 64, 0x4321);
	assert_int_equal(walk_step(&w, &rule), WALK_GO_ON);
	assert_int_equal(w.pc, 0x4321);
	w = at(1, STACK + 96, STACK + 64);
	assert_int_equal(walk_step(&w, &rule), STACKD_END_NO_PROGRESS);
	w = at(1, STACK, STACK + sizeof(words));
	assert_int_equal(walk_step(&w, &rule), STACKD_END_UNREADABLE);
}

/* A signal frame gives all registers, in the processor's order. */
static void by_signal_frame(void **state)
{
	const struct stackd_rule rule = {
		.cfa = STACKD_CFA_SIGNAL, .reg = STACKD_REG_SP, .cfa_offset = ARCH_SIGCONTEXT};
	const __u64 context = STACK + 64 + ARCH_SIGCONTEXT;
	struct walk w = at(1, STACK + 64, 5);

	(void)state;
	put(context, STACK + 400);
	put(context + 8, 0x88);
	put(context + 16, 0x4321);
	assert_int_equal(walk_step(&w, &rule), WALK_GO_ON);
	assert_int_equal(w.pc, 0x4321);
	assert_int_equal(w.r[STACKD_REG_SP], STACK + 400);
	assert_int_equal(w.r[STACKD_REG_FP], 0x88);
	assert_int_equal(w.deref, context);
	assert_true(w.is_exact);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(by_stack_pointer, clear),
		cmocka_unit_test_setup(by_frame_pointer, clear),
		cmocka_unit_test_setup(by_signal_frame, clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
