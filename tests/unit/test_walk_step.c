/* SPDX-License-Identifier: MIT */
/* One step of a walk (bpf/walk.h): what cannot be read, what is unknown, and where a step ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "walk.h"

#define STACK UINT64_C(0x10000)
#define WORDS 128
#define SP    (STACK + 256) /* words below it can be read, too */
#define RBX   3
#define R12   12

static uint64_t words[WORDS];
static uint64_t holes[4]; /* addresses of words that cannot be read */

static int walk_read(struct walk *w, __u64 address, __u64 *ret_word)
{
	uint64_t at = address - STACK;

	(void)w;
	for (int i = 0; i < 4; i++) {
		if (holes[i] && holes[i] == address)
			return 1;
	}
	if (at > sizeof(words) - 8)
		return 1;
	memcpy(ret_word, (const char *)words + at, 8);
	return 0;
}

/* Each word tells where it is. */
static int fill(void **state)
{
	(void)state;
	memset(holes, 0, sizeof(holes));
	for (uint64_t i = 0; i < WORDS; i++)
		words[i] = 0x7700000000 + STACK + 8 * i;
	return 0;
}

static uint64_t word_at(uint64_t address)
{
	return words[(address - STACK) / 8];
}

static void put(uint64_t address, uint64_t word)
{
	words[(address - STACK) / 8] = word;
}

/* A frame that knows all registers; the value of each tells its number. */
static struct walk frame(bool is_exact)
{
	struct walk w = {.pc = 0x400000, .valid = (1u << WALK_REGS) - 1, .is_exact = is_exact};

	for (unsigned i = 0; i < WALK_REGS; i++)
		w.r[i] = 0x9900 + i;
	w.r[STACKD_REG_SP] = SP;
	return w;
}

/* CFA = SP + 64; the frame pointer is in the word below the return address, rbx and r12 below. */
static const struct stackd_rule usual = {
	.cfa = STACKD_CFA_REG,
	.reg = STACKD_REG_SP,
	.cfa_offset = 64,
	.ra_offset = -8,
	.saved = {-16, -24, -32},
};

static void assert_same(const struct walk *is, const struct walk *was)
{
	assert_memory_equal(is->r, was->r, sizeof(is->r));
	assert_memory_equal(is->origin, was->origin, sizeof(is->origin));
	assert_int_equal(is->pc, was->pc);
	assert_int_equal(is->slot, was->slot);
	assert_int_equal(is->valid, was->valid);
	assert_int_equal(is->is_exact, was->is_exact);
	assert_int_equal(is->frame, was->frame);
	assert_int_equal(is->is_scheduler, was->is_scheduler);
}

static void all_can_be_read(void **state)
{
	struct walk w = frame(true);

	(void)state;
	assert_int_equal(walk_step(&w, &usual), WALK_GO_ON);
	assert_int_equal(w.pc, word_at(SP + 56));
	assert_int_equal(w.slot, SP + 56);
	assert_int_equal(w.r[STACKD_REG_SP], SP + 64);
	assert_int_equal(w.r[STACKD_REG_FP], word_at(SP + 48));
	assert_int_equal(w.r[RBX], word_at(SP + 40));
	assert_int_equal(w.r[R12], word_at(SP + 32));
	assert_int_equal(w.origin[RBX].slot, SP + 40);
	assert_int_equal(w.valid, ARCH_PRESERVED_REGS);
}

/* A register whose slot cannot be read is unknown, and the others are not. */
static void unreadable_slot(void **state)
{
	struct walk w = frame(false);

	(void)state;
	holes[0] = SP + 40;
	assert_int_equal(walk_step(&w, &usual), WALK_GO_ON);
	assert_int_equal(w.pc, word_at(SP + 56));
	assert_int_equal(w.valid, ARCH_PRESERVED_REGS & ~(1u << RBX));
	assert_int_equal(w.r[R12], word_at(SP + 32));

	/* A frame that has saved it again knows it again. */
	holes[0] = 0;
	assert_int_equal(walk_step(&w, &usual), WALK_GO_ON);
	assert_int_equal(w.valid, ARCH_PRESERVED_REGS);
	assert_int_equal(w.r[RBX], word_at(SP + 64 + 40));
}

/* A rule that needs a register that was lost so ends the walk. */
static void lost_register_is_needed(void **state)
{
	const struct stackd_rule by_rbx = {
		.cfa = STACKD_CFA_REG, .reg = RBX, .cfa_offset = 16, .ra_offset = -8};
	struct walk w = frame(false), before;

	(void)state;
	holes[0] = SP + 40;
	assert_int_equal(walk_step(&w, &usual), WALK_GO_ON);
	before = w;
	assert_int_equal(walk_step(&w, &by_rbx), STACKD_END_BAD_RECIPE);
	assert_same(&w, &before);
}

/* In an epilogue the slot is below the stack pointer, and the register has its value back. In the
 * red zone it may be saved there as well, so the word counts where it can be read. */
static void popped_slot(void **state)
{
	const struct stackd_rule popped = {.cfa = STACKD_CFA_REG,
					   .reg = STACKD_REG_SP,
					   .cfa_offset = 8,
					   .ra_offset = -8,
					   .saved = {0, -16}};
	struct walk w = frame(true);

	(void)state;
	holes[0] = SP - 8;
	assert_int_equal(walk_step(&w, &popped), WALK_GO_ON);
	assert_int_equal(w.valid, ARCH_PRESERVED_REGS);
	assert_int_equal(w.r[RBX], 0x9900 + RBX);

	holes[0] = 0;
	w = frame(true);
	assert_int_equal(walk_step(&w, &popped), WALK_GO_ON);
	assert_int_equal(w.r[RBX], word_at(SP - 8));
}

/* A slot that counts from a register is lost where that one is unknown. */
static void unknown_base(void **state)
{
	const struct stackd_rule realigned = {.cfa = STACKD_CFA_REG,
					      .reg = STACKD_REG_SP,
					      .cfa_offset = 64,
					      .ra_offset = -8,
					      .saved = {0, -24},
					      .saved_reg = R12,
					      .saved_via_reg = 1};
	struct walk w = frame(false);

	(void)state;
	w.r[R12] = SP + 16;
	assert_int_equal(walk_step(&w, &realigned), WALK_GO_ON);
	assert_int_equal(w.r[STACKD_REG_FP], word_at(SP + 16));
	assert_int_equal(w.valid, ARCH_PRESERVED_REGS);

	w = frame(false);
	w.r[R12] = SP + 16;
	w.valid &= ~(1u << R12);
	assert_int_equal(walk_step(&w, &realigned), WALK_GO_ON);
	assert_int_equal(w.valid, ARCH_PRESERVED_REGS & ~(1u << R12 | 1u << STACKD_REG_FP));
	assert_int_equal(w.r[RBX], word_at(SP + 40));
}

/* A step that ends the walk leaves it as it was. */
static void failures_change_nothing(void **state)
{
	const struct stackd_rule deref = {.cfa = STACKD_CFA_DEREF,
					  .reg = STACKD_REG_SP,
					  .cfa_offset = 8,
					  .ra_offset = -8,
					  .saved = {-16}};
	struct stackd_rule rule = usual;
	struct walk w = frame(false), before = w;

	(void)state;
	holes[0] = SP + 56;
	rule.cfa = STACKD_CFA_SCHEDULER;
	assert_int_equal(walk_step(&w, &rule), STACKD_END_UNREADABLE);
	assert_same(&w, &before);
	holes[0] = SP + 8;
	assert_int_equal(walk_step(&w, &deref), STACKD_END_UNREADABLE);
	assert_same(&w, &before);
	holes[0] = 0;
	put(SP + 8, SP - 8);
	assert_int_equal(walk_step(&w, &deref), STACKD_END_NO_PROGRESS);
	assert_same(&w, &before);
	rule = usual;
	rule.reg = RBX;
	w.valid &= ~(1u << RBX);
	before = w;
	assert_int_equal(walk_step(&w, &rule), STACKD_END_BAD_RECIPE);
	assert_same(&w, &before);
}

/* A function that was interrupted can have popped its return address; one that waits has not. */
static void cfa_at_stack_pointer(void **state)
{
	const struct stackd_rule rule = {
		.cfa = STACKD_CFA_REG, .reg = STACKD_REG_SP, .ra_offset = -8};
	struct stackd_rule below = rule;
	struct walk w = frame(true);

	(void)state;
	assert_int_equal(walk_step(&w, &rule), WALK_GO_ON);
	assert_int_equal(w.pc, word_at(SP - 8));
	assert_int_equal(w.r[STACKD_REG_SP], SP);
	assert_false(w.is_exact);
	assert_int_equal(walk_step(&w, &rule), STACKD_END_NO_PROGRESS);
	w = frame(true);
	below.cfa_offset = -8;
	assert_int_equal(walk_step(&w, &below), STACKD_END_NO_PROGRESS);
	below.cfa = STACKD_CFA_OTHER;
	assert_int_equal(walk_step(&w, &below), WALK_GO_ON);
}

/* Whether a stack ends at a return address of 0, the walk decides, and not its step. */
static void return_address_of_zero(void **state)
{
	struct walk w = frame(false);

	(void)state;
	put(SP + 56, 0);
	assert_int_equal(walk_step(&w, &usual), WALK_GO_ON);
	assert_int_equal(w.pc, 0);
	assert_int_equal(w.slot, SP + 56);
}

/* Of a signal's frame, the program counter and the stack pointer are needed. */
static void signal_frame(void **state)
{
	const struct stackd_rule rule = {
		.cfa = STACKD_CFA_SIGNAL, .reg = STACKD_REG_SP, .cfa_offset = 40};
	const uint64_t context = SP + 40;
	struct walk w = frame(false), before = w;

	(void)state;
	put(context + 8 * ARCH_SIGCONTEXT_SP, SP + 300);
	holes[0] = context + 8 * WALK_REGS;
	assert_int_equal(walk_step(&w, &rule), STACKD_END_UNREADABLE);
	assert_same(&w, &before);
	holes[0] = context + 8 * ARCH_SIGCONTEXT_SP;
	assert_int_equal(walk_step(&w, &rule), STACKD_END_UNREADABLE);
	assert_same(&w, &before);
	for (unsigned i = 0; i < WALK_REGS; i++) {
		unsigned reg = ARCH_SIGCONTEXT_REG(i);

		if (i == ARCH_SIGCONTEXT_SP)
			continue;
		w = frame(false);
		holes[0] = context + 8 * i;
		assert_int_equal(walk_step(&w, &rule), WALK_GO_ON);
		assert_int_equal(w.valid, ((1u << WALK_REGS) - 1) & ~(1u << reg));
		assert_int_equal(w.pc, word_at(context + 8 * WALK_REGS));
		assert_int_equal(w.r[STACKD_REG_SP], SP + 300);
		assert_true(w.is_exact);
	}
}

/* A lean walk restores the frame pointer alone, and begins again where another one is needed. */
static void lean_walk(void **state)
{
	const struct stackd_rule by_rbx = {
		.cfa = STACKD_CFA_REG, .reg = RBX, .cfa_offset = 16, .ra_offset = -8};
	struct walk w = frame(true);

	(void)state;
	w.is_lean = 1;
	assert_int_equal(walk_step(&w, &usual), WALK_GO_ON);
	assert_int_equal(w.valid, WALK_LEAN_REGS);
	assert_int_equal(w.r[STACKD_REG_FP], word_at(SP + 48));
	assert_int_equal(w.r[RBX], 0x9900 + RBX);
	assert_int_equal(walk_step(&w, &by_rbx), WALK_AGAIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(all_can_be_read, fill),
		cmocka_unit_test_setup(unreadable_slot, fill),
		cmocka_unit_test_setup(lost_register_is_needed, fill),
		cmocka_unit_test_setup(popped_slot, fill),
		cmocka_unit_test_setup(unknown_base, fill),
		cmocka_unit_test_setup(failures_change_nothing, fill),
		cmocka_unit_test_setup(cfa_at_stack_pointer, fill),
		cmocka_unit_test_setup(return_address_of_zero, fill),
		cmocka_unit_test_setup(signal_frame, fill),
		cmocka_unit_test_setup(lean_walk, fill),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
