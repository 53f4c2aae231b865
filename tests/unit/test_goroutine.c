/* SPDX-License-Identifier: MIT */
/*
 * The kernel half's steps from a Go thread's system stack to its goroutine's (runtime_go.bpf.h),
 * in made memory: where they arrive, and that nothing is believed that does not fit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bpf_shim.h"

#include "../../bpf/stackd.bpf.c"

#define HEAP   UINT64_C(0xc000000000)
#define SYSTEM UINT64_C(0x7ffd00000000)
#define BYTES  UINT64_C(0x10000)

/* As Go 1.19 has them. */
#define G_M	 0x30
#define G_SCHED	 0x38
#define M_CURG	 0xc0
#define M_G0	 0
#define TLS	 (HEAP + 0x100)
#define G0	 (HEAP + 0x1000)
#define CURG	 (HEAP + 0x2000)
#define M	 (HEAP + 0x3000)
#define LOW	 (HEAP + 0x8000) /* the goroutine's stack */
#define HIGH	 (HEAP + 0xa000)
#define SP	 (HEAP + 0x9000)
#define RSP	 (SYSTEM + 0x8000)
#define PC	 0x45ada9
#define SCHED_PC 0x459f60

static const struct stackd_rule by_systemstack = {
	.cfa = STACKD_CFA_GOROUTINE,
	.reg = STACKD_REG_SP,
	.cfa_offset = -8,
	.cfa_add = 16,
	.ra_offset = -8,
	.saved = {G_M, M_CURG, G_SCHED},
};

static const struct stackd_rule by_morestack = {
	.cfa = STACKD_CFA_GOROUTINE,
	.reg = STACKD_REG_SP,
	.cfa_offset = -8,
	.saved = {G_M, M_CURG, G_SCHED},
};

static const struct stackd_rule by_asmcgocall = {
	.cfa = STACKD_CFA_DEPTH,
	.reg = STACKD_REG_SP,
	.cfa_offset = 0x30,
	.cfa_add = 8,
	.ra_offset = -8,
	.saved = {8, 0x28},
};

static const struct stackd_rule by_cgocallback = {
	.cfa = STACKD_CFA_CALLBACK,
	.reg = STACKD_REG_SP,
	.cfa_offset = -8,
	.cfa_add = 0x28,
	.ra_offset = -8,
	.saved = {G_M, M_G0, G_SCHED, 0},
};

static struct task_struct task;
static struct scratch *s;

static int step(const struct stackd_rule *rule)
{
	s->switching = *rule;
	return step_to_other_stack(s);
}

static int set_up(void **state)
{
	(void)state;
	shim_add_region(HEAP, BYTES);
	shim_add_region(SYSTEM, BYTES);
	shim_write_word(TLS - 8, G0);
	shim_write_word(G0 + G_M, M);
	shim_write_word(M + M_CURG, CURG);
	shim_write_word(CURG, LOW);
	shim_write_word(CURG + 8, HIGH);
	shim_write_word(CURG + G_M, M);
	shim_write_word(CURG + G_SCHED, SP);
	shim_write_word(CURG + G_SCHED + 8, SCHED_PC);
	shim_write_word(SP + 8, PC);
	shim_write_word(RSP + 0x30, CURG);
	shim_write_word(RSP + 0x28, HIGH - SP);
	shim_write_word(SP, PC + 1);
	task = (struct task_struct){.thread.fsbase = TLS};
	shim_task = &task;
	s = calloc(1, sizeof(*s));
	assert_non_null(s);
	s->walk.valid = 0xffff;
	s->walk.r[STACKD_REG_SP] = RSP;
	s->walk.is_exact = 1;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	shim_free_regions();
	free(s);
	return 0;
}

static void check_arrived(int end, uint64_t rsp, uint64_t pc)
{
	assert_int_equal(end, WALK_GO_ON);
	assert_int_equal(s->walk.r[STACKD_REG_SP], rsp);
	assert_int_equal(s->walk.pc, pc);
	assert_int_equal(s->walk.slot, rsp - 8);
	assert_int_equal(s->walk.valid, 1 << STACKD_REG_SP);
	assert_int_equal(s->walk.frame, 1);
	assert_int_equal(s->walk.is_exact, 0);
	assert_int_equal(s->walk.is_once, 1);
}

static void test_systemstack(void **state)
{
	(void)state;
	check_arrived(step(&by_systemstack), SP + 16, PC);
}

static void test_morestack(void **state)
{
	(void)state;
	check_arrived(step(&by_morestack), SP, SCHED_PC);
}

static void test_asmcgocall(void **state)
{
	(void)state;
	check_arrived(step(&by_asmcgocall), SP + 8, PC + 1);
}

/* Each of the words on the way, and where they may not lead. */
static void test_what_does_not_fit(void **state)
{
	static const struct {
		uint64_t at, word;
	} wrong[] = {
		{TLS - 8, 0},
		{TLS - 8, HEAP - 8},
		{G0 + G_M, 0},
		{G0 + G_M, M + 0x100},
		{M + M_CURG, HEAP - 8},
		{CURG + G_M, M + 8},
		{CURG + G_SCHED, LOW - 8},
		{CURG + G_SCHED, HIGH},
		{CURG + G_SCHED, RSP},
		{CURG, HIGH},
		{CURG + 8, LOW},
		{CURG, SP + 8},
		{CURG + 8, SYSTEM + 0x10000},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		tear_down(NULL);
		set_up(NULL);
		shim_write_word(wrong[i].at, wrong[i].word);
		assert_int_equal(step(&by_systemstack), STACKD_END_STACK_SWITCH);
		assert_int_equal(s->walk.r[STACKD_REG_SP], RSP);
	}
}

static void test_depth_that_does_not_fit(void **state)
{
	static const struct {
		uint64_t at, word;
	} wrong[] = {
		{RSP + 0x30, 0}, {RSP + 0x30, HEAP - 8},
		{RSP + 0x28, 0}, {RSP + 0x28, HIGH - LOW + 8},
		{CURG, SP + 8},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		tear_down(NULL);
		set_up(NULL);
		shim_write_word(wrong[i].at, wrong[i].word);
		assert_int_equal(step(&by_asmcgocall), STACKD_END_STACK_SWITCH);
	}
}

#define CALLED	    (HEAP + 0x9100)   /* on the goroutine's stack */
#define LEFT	    (SYSTEM + 0x9000) /* where the system stack was left; and before */
#define LEFT_BEFORE (SYSTEM + 0xa000)
#define IN_C	    (SYSTEM + 0x100) /* behind a call */

static void set_up_callbacks(void)
{
	tear_down(NULL);
	set_up(NULL);
	shim_write_word(M + M_G0, G0);
	shim_write_word(G0, SYSTEM + 0x1000);
	shim_write_word(G0 + 8, SYSTEM + 0xf000);
	shim_write_word(G0 + G_SCHED, LEFT);
	shim_write_word(LEFT, LEFT_BEFORE);
	shim_write_word(LEFT_BEFORE, LEFT_BEFORE);
	shim_write_word(LEFT + 0x20, IN_C);
	shim_write_word(LEFT_BEFORE + 0x20, IN_C);
	shim_write_word(IN_C - 8, UINT64_C(0xe8) << 24);
	s->walk.r[STACKD_REG_SP] = CALLED;
}

/* Each callback keeps where the one before it left the stack; the outermost kept its own place. */
static void test_callbacks(void **state)
{
	(void)state;
	set_up_callbacks();
	check_arrived(step(&by_cgocallback), LEFT + 0x28, IN_C);
	s->walk.r[STACKD_REG_SP] = CALLED + 0x100;
	assert_int_equal(step(&by_cgocallback), WALK_GO_ON);
	assert_int_equal(s->walk.r[STACKD_REG_SP], LEFT_BEFORE + 0x28);
	s->walk.r[STACKD_REG_SP] = CALLED + 0x200;
	assert_int_equal(step(&by_cgocallback), STACKD_END_STACK_SWITCH);
}

static void test_callback_that_does_not_fit(void **state)
{
	static const struct {
		uint64_t at, word;
	} wrong[] = {
		{TLS - 8, 0},		{G0 + G_M, HEAP - 8},	  {M + M_G0, 0},
		{G0 + G_SCHED, CALLED}, {G0, LEFT + 8},		  {G0 + 8, LEFT},
		{LEFT + 0x20, 0},	{LEFT + 0x20, IN_C + 16}, {IN_C - 8, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		set_up_callbacks();
		shim_write_word(wrong[i].at, wrong[i].word);
		assert_int_equal(step(&by_cgocallback), STACKD_END_STACK_SWITCH);
	}
	set_up_callbacks();
	s->walk.r[STACKD_REG_SP] = LEFT - 0x100;
	assert_int_equal(step(&by_cgocallback), STACKD_END_STACK_SWITCH);
}

/* A return address that was popped into a register. */
static void test_vfork(void **state)
{
	const struct stackd_rule rule = {.cfa = STACKD_CFA_GOROUTINE, .reg = 12, .cfa_add = 2};

	(void)state;
	s->walk.r[12] = PC;
	check_arrived(step(&rule), RSP, PC);
}

/* The way to the goroutine is one for the thread, not for each frame. */
static void test_only_once(void **state)
{
	(void)state;
	check_arrived(step(&by_systemstack), SP + 16, PC);
	s->walk.r[STACKD_REG_SP] = RSP;
	assert_int_equal(step(&by_systemstack), STACKD_END_STACK_SWITCH);
}

/* What morestack calls may have given the goroutine up: it is the path's root then, as mcall is.
 * systemstack's has not. */
static void test_given_up(void **state)
{
	(void)state;
	s->walk.is_scheduler = 1;
	assert_int_equal(step(&by_morestack), STACKD_END_ENTRY);
	assert_int_equal(step(&by_systemstack), STACKD_END_STACK_SWITCH);
	s->walk.is_scheduler = 0;
	shim_write_word(M + M_CURG, 0);
	assert_int_equal(step(&by_morestack), STACKD_END_ENTRY);
	assert_int_equal(step(&by_systemstack), STACKD_END_STACK_SWITCH);
	assert_int_equal(s->walk.is_once, 1);
}

/* gogo jumps to where a register points to, or to what it holds; lean walks know no such one. */
static void test_gogo(void **state)
{
	struct stackd_rule rule = {.cfa = STACKD_CFA_GOROUTINE, .reg = 3, .cfa_offset = 8};

	(void)state;
	s->walk.r[3] = CURG + G_SCHED;
	s->walk.r[STACKD_REG_SP] = SP;
	assert_int_equal(step(&rule), WALK_GO_ON);
	assert_int_equal(s->walk.pc, SCHED_PC);
	assert_int_equal(s->walk.is_exact, 1);
	assert_int_equal(s->walk.r[STACKD_REG_SP], SP);
	s->walk.valid = 0xffff;
	s->walk.r[3] = PC;
	rule.cfa_add = 1;
	assert_int_equal(step(&rule), WALK_GO_ON);
	assert_int_equal(s->walk.pc, PC);
	s->walk.is_lean = 1;
	assert_int_equal(step(&rule), WALK_AGAIN);
	s->walk.is_lean = 0;
	assert_int_equal(step(&rule), STACKD_END_STACK_SWITCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_systemstack, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_morestack, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_asmcgocall, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_vfork, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_callbacks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_callback_that_does_not_fit, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_does_not_fit, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_depth_that_does_not_fit, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_only_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_given_up, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_gogo, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
