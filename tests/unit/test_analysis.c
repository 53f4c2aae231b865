/* SPDX-License-Identifier: MIT */
/* Frames of hand-assembled code: one instruction after the other, and the rule before each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those above. */
#include <cmocka.h>
#include <string.h>

#include "analysis/frame_state.h"
#include "analysis/worklist.h"

/* Applies the instructions of `code`. */
static struct frame_state after(const uint8_t *code, size_t size)
{
	struct frame_state s;
	struct insn_decoder decoder;
	struct insn i;

	insn_decoder_init(&decoder);
	frame_state_init(&s);
	for (size_t at = 0; at < size; at += i.length) {
		assert_true(insn_decode(&decoder, code + at, size - at, 0x1000 + at, &i));
		frame_state_apply(&s, &i);
	}
	return s;
}

#define RULE(rule, ...)                                                                            \
	do {                                                                                       \
		static const uint8_t code[] = {__VA_ARGS__};                                       \
		struct frame_state s = after(code, sizeof(code));                                  \
		enum analysis_abstained why;                                                       \
		assert_true(frame_state_rule(&s, rule, &why));                                     \
	} while (0)

static void test_entry(void **state)
{
	struct stackd_rule rule;

	(void)state;
	RULE(&rule, 0x90);
	assert_int_equal(rule.cfa, STACKD_CFA_REG);
	assert_int_equal(rule.reg, STACKD_REG_SP);
	assert_int_equal(rule.cfa_offset, 8);
	assert_int_equal(rule.ra_offset, -8);
}

/* push %rbx; sub $0x20,%rsp: then call leaves the frame as it is. */
static void test_push_sub(void **state)
{
	struct stackd_rule rule;

	(void)state;
	RULE(&rule, 0x53, 0x48, 0x83, 0xec, 0x20, 0xe8, 1, 0, 0, 0);
	assert_int_equal(rule.reg, STACKD_REG_SP);
	assert_int_equal(rule.cfa_offset, 48);
	assert_int_equal(rule.saved[1], -16);
}

/* call to the next instruction, which code does to learn its address: the address stays. */
static void test_call_next(void **state)
{
	struct stackd_rule rule;

	(void)state;
	RULE(&rule, 0xe8, 0, 0, 0, 0);
	assert_int_equal(rule.cfa_offset, 16);
	RULE(&rule, 0xe8, 0, 0, 0, 0, 0x58); /* pop %rax */
	assert_int_equal(rule.cfa_offset, 8);
}

/* A register that was saved and not changed since has its value, wherever rsp has gone: push %rbx;
 * add $8,%rsp. If rbp was changed, it is lost then. */
static void test_slot_below_rsp(void **state)
{
	static const uint8_t lost[] = {0x55, 0x31, 0xed, 0x48, 0x83, 0xc4, 0x08};
	struct frame_state s = after(lost, sizeof(lost));
	enum analysis_abstained why;
	struct stackd_rule rule;

	(void)state;
	assert_false(frame_state_rule(&s, &rule, &why));
	RULE(&rule, 0x53, 0x48, 0x83, 0xc4, 0x08);
	assert_int_equal(rule.saved[1], 0);
}

/* push %rbp; mov %rsp,%rbp; sub %rax,%rsp: alloca leaves rbp alone. */
static void test_frame_pointer(void **state)
{
	struct stackd_rule rule;

	(void)state;
	RULE(&rule, 0x55, 0x48, 0x89, 0xe5, 0x48, 0x29, 0xc4);
	assert_int_equal(rule.reg, STACKD_REG_FP);
	assert_int_equal(rule.cfa_offset, 16);
	assert_int_equal(rule.saved[0], -16);
	RULE(&rule, 0x55, 0x48, 0x89, 0xe5, 0x48, 0x29, 0xc4, 0xc9); /* leave */
	assert_int_equal(rule.reg, STACKD_REG_SP);
	assert_int_equal(rule.cfa_offset, 8);
	assert_int_equal(rule.saved[0], 0);
}

/* V8 takes the return address off the stack, and pushes it again behind words of its own: pop %rax;
 * push %r10; push %rbx; push %rax. Then the frame begins as at a function's start. */
static void test_return_again(void **state)
{
	static const uint8_t between[] = {0x58, 0x41, 0x52, 0x53};
	struct frame_state s = after(between, sizeof(between));
	enum analysis_abstained why;
	struct stackd_rule rule;

	(void)state;
	assert_false(frame_state_rule(&s, &rule, &why)); /* it is in a register alone */
	RULE(&rule, 0x58, 0x41, 0x52, 0x53, 0x50);
	assert_int_equal(rule.reg, STACKD_REG_SP);
	assert_int_equal(rule.cfa_offset, 8);
	/* push %rbp; mov %rsp,%rbp; sub $0x20,%rsp */
	RULE(&rule, 0x58, 0x41, 0x52, 0x53, 0x50, 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20);
	assert_int_equal(rule.cfa_offset, rule.reg == STACKD_REG_FP ? 16 : 48);
	assert_int_equal(rule.saved[0], -16);
	/* leave; pop %rcx; lea 0x38(%rsp,%r15,8),%rsp; push %rcx: as many words as a register says
	 */
	RULE(&rule, 0x55, 0x48, 0x89, 0xe5, 0xc9, 0x59, 0x4a, 0x8d, 0x64, 0xfc, 0x38, 0x51);
	assert_int_equal(rule.cfa_offset, 8);
	/* push %rcx; push %rax; push 0x10(%rsp); mov %rdx,0x18(%rsp): a tail call's arguments */
	RULE(&rule, 0x51, 0x50, 0xff, 0x74, 0x24, 0x10, 0x48, 0x89, 0x54, 0x24, 0x18);
	assert_int_equal(rule.cfa_offset, 8);
	/* push (%rsp); call: the copy is an argument, and the frame is as it was */
	RULE(&rule, 0xff, 0x34, 0x24);
	assert_int_equal(rule.cfa_offset, 16);
	RULE(&rule, 0xff, 0x34, 0x24, 0xe8, 0x10, 0, 0, 0);
	assert_int_equal(rule.cfa_offset, 16);
	RULE(&rule, 0xff, 0x34, 0x24, 0xe8, 0x10, 0, 0, 0, 0x58); /* pop %rax */
	assert_int_equal(rule.cfa_offset, 8);
	/* pop %rdi; push %rdi; push %rdi: the second one is an argument, too */
	RULE(&rule, 0x5f, 0x57, 0x57);
	assert_int_equal(rule.cfa_offset, 16);
	/* push (%rsp); push %rax; mov %rdx,0x10(%rsp): the next return jumps to the copy later */
	s = after((const uint8_t[]){0xff, 0x34, 0x24, 0x50, 0x48, 0x89, 0x54, 0x24, 0x10}, 9);
	assert_false(frame_state_rule(&s, &rule, &why));
	/* push 0x8(%rsp) behind push %rcx; push %rax: another word */
	RULE(&rule, 0x51, 0x50, 0xff, 0x74, 0x24, 0x08);
	assert_int_equal(rule.cfa_offset, 32);
	/* pop %rax; mov %rbx,%rax; push %rax: another address */
	s = after((const uint8_t[]){0x58, 0x48, 0x89, 0xd8, 0x50}, 5);
	assert_false(frame_state_rule(&s, &rule, &why));
}

/* gcc: lea 8(%rsp),%r10; and $-32,%rsp; push -8(%r10); push %rbp; mov %rsp,%rbp; push %r10. */
static void test_realigned(void **state)
{
	struct stackd_rule rule;

	(void)state;
	RULE(&rule, 0x4c, 0x8d, 0x54, 0x24, 0x08, 0x48, 0x83, 0xe4, 0xe0, 0x41, 0xff, 0x72, 0xf8,
	     0x55, 0x48, 0x89, 0xe5, 0x41, 0x52, 0xe8, 1, 0, 0, 0);
	assert_int_equal(rule.cfa, STACKD_CFA_DEREF);
	assert_int_equal(rule.reg, STACKD_REG_FP);
	assert_int_equal(rule.cfa_offset, -8);
	assert_int_equal(rule.cfa_add, 0);
	assert_int_equal(rule.saved_via_reg, 1);
	assert_int_equal(rule.saved_reg, STACKD_REG_FP);
	assert_int_equal(rule.saved[0], 0);
}

/* In the epilogue, the slot that told the CFA is popped, into r10: lea -8(%rbp),%rsp; pop %r10. */
static void test_realigned_epilogue(void **state)
{
	struct stackd_rule rule;

	(void)state;
	RULE(&rule, 0x4c, 0x8d, 0x54, 0x24, 0x08, 0x48, 0x83, 0xe4, 0xe0, 0x41, 0xff, 0x72, 0xf8,
	     0x55, 0x48, 0x89, 0xe5, 0x41, 0x52, 0xe8, 1, 0, 0, 0, 0x48, 0x8d, 0x65, 0xf8, 0x41,
	     0x5a);
	assert_int_equal(rule.cfa, STACKD_CFA_REG);
	assert_int_equal(rule.reg, 10);
	assert_int_equal(rule.cfa_offset, 0);
}

/* mov %rbp,%rax; xor %ebp,%ebp: the caller's rbp is somewhere. That of a register which nobody has
 * read is not needed. */
static void test_abstains(void **state)
{
	static const uint8_t clobber[] = {0x48, 0x89, 0xe8, 0x31, 0xed},
			     lost[] = {0x48, 0x89, 0xc4};
	struct frame_state s = after(clobber, sizeof(clobber));
	enum analysis_abstained why;
	struct stackd_rule rule;

	(void)state;
	assert_false(frame_state_rule(&s, &rule, &why));
	assert_int_equal(why, ANALYSIS_ABSTAINED_SAVED);
	RULE(&rule, 0x31, 0xdb, 0x31, 0xed);
	assert_int_equal(rule.saved[0], 0);
	assert_int_equal(rule.saved[1], 0);
	s = after(lost, sizeof(lost)); /* mov %rax,%rsp */
	assert_false(frame_state_rule(&s, &rule, &why));
	assert_int_equal(why, ANALYSIS_ABSTAINED_CFA);
}

static void test_join(void **state)
{
	static const uint8_t pushed[] = {0x53}, restored[] = {0x53, 0x5b};
	struct frame_state a, b = after(restored, sizeof(restored)),
			      c = after(pushed, sizeof(pushed));
	enum analysis_abstained why;
	struct stackd_rule rule;

	(void)state;
	frame_state_init(&a);
	assert_false(frame_state_join(&a, &b));
	assert_true(frame_state_join(&a, &c));
	assert_false(frame_state_rule(&a, &rule, &why));
}

/* Hints that a call has taken need no room: paths that wait for calls to return may do so forever.
 */
static void test_hints_kept(void **state)
{
	static const uint8_t lea_rax[] = {0x48, 0x8d, 0x05, 0, 1, 0, 0};
	static const uint8_t lea_rbx[] = {0x48, 0x8d, 0x1d, 0, 1, 0, 0};
	struct insn call = {.flow = INSN_CALL}, lea;
	struct hint_pool pool = {0};
	struct jump_hints hints;
	struct insn_decoder decoder;

	(void)state;
	insn_decoder_init(&decoder);
	jump_hints_init(&hints);
	assert_true(insn_decode(&decoder, lea_rax, sizeof(lea_rax), 0x1000, &lea));
	jump_hints_apply(&hints, &lea);
	assert_int_equal(hint_pool_keep(&pool, &hints), 0);
	jump_hints_apply(&hints, &call);
	assert_int_equal(hint_pool_keep(&pool, &hints), HINT_POOL_NONE);
	assert_true(insn_decode(&decoder, lea_rbx, sizeof(lea_rbx), 0x1000, &lea));
	jump_hints_apply(&hints, &lea);
	jump_hints_apply(&hints, &call);
	assert_int_equal(hint_pool_keep(&pool, &hints), 1);
	hint_pool_fini(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entry),	     cmocka_unit_test(test_push_sub),
		cmocka_unit_test(test_call_next),    cmocka_unit_test(test_slot_below_rsp),
		cmocka_unit_test(test_return_again), cmocka_unit_test(test_frame_pointer),
		cmocka_unit_test(test_realigned),    cmocka_unit_test(test_realigned_epilogue),
		cmocka_unit_test(test_abstains),     cmocka_unit_test(test_join),
		cmocka_unit_test(test_hints_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
