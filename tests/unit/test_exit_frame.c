/* SPDX-License-Identifier: MIT */
/* What ways to returns tell of code of which nothing else is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those above. */
#include <cmocka.h>

#include <string.h>

#include "analysis/exit_frame.h"

/* The code is in this program, which never runs it. */
#define CODE(name) extern const uint8_t name[]
CODE(code_start);
CODE(code_end);
CODE(ends_loop);
CODE(ends_by_number);
CODE(calls_that_pops);
CODE(whole);
CODE(behind_push);
CODE(leaves);
CODE(behind_leave);
CODE(disagrees);
CODE(never);
CODE(pushes_by_turns);
CODE(in_pops);
CODE(takes_words);
CODE(takes_some_words);
CODE(jumps_by_return);
CODE(changes);
CODE(lost);
CODE(checks_first);
CODE(at_push);
CODE(at_mov);
CODE(in_frame);
CODE(behind_pop);
CODE(behind_call);
CODE(never_back);
CODE(aligns);
CODE(counts_first);
CODE(in_count);
CODE(takes_arguments);
CODE(at_its_pop);
CODE(pops_other);
CODE(leaves_for_a_file);
CODE(in_its_frame);
CODE(leaves_otherwise);
CODE(baseline);
CODE(behind_enter);
CODE(in_baseline);
CODE(enters);
CODE(before_its_pop);
CODE(behind_its_pop);
CODE(behind_its_push);
CODE(replaces);
CODE(restores);
CODE(in_restores);
CODE(overwrites_address);
CODE(hands_on);
CODE(behind_its_call);
CODE(at_hand);
CODE(tail_calls);
CODE(uneven);
CODE(uneven_loop);
CODE(resets_first);

__asm__("	.data\n" /* it has addresses */
	"code_start:\n"
	/* Arguments that the callee takes off the stack, below its return address. */
	"takes_arguments:\n"
	"	mov -48(%rbp), %r9\n"
	"	mov %rbp, %rsp\n"
	"	pop %rbp\n"
	"at_its_pop:\n"
	"	pop %r10\n"
	"	lea (%rsp,%r9,8), %rsp\n"
	"	push %r10\n"
	"	ret\n"
	/* A loop that pushes, in a frame that is released by the frame pointer. */
	"uneven:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"uneven_loop:\n"
	"	push %rax\n"
	"	dec %ecx\n"
	"	jne uneven_loop\n"
	"	mov %rbp, %rsp\n"
	"	pop %rbp\n"
	"	ret\n"
	/* The path that is followed first sets the stack pointer; the other one has another. */
	"resets_first:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	test %eax, %eax\n"
	"	je 1f\n"
	"	mov %rbp, %rsp\n"
	"	jmp 2f\n"
	"1:	push %rax\n"
	"2:	pop %rbp\n"
	"	ret\n"
	/* As Java's stub for exceptions of compiled methods. */
	"hands_on:\n"
	"	mov %rax, %r14\n"
	"	mov (%rsp), %rdi\n"
	"	sub $8, %rsp\n"
	"	call code_start - 8192\n"
	"behind_its_call:\n"
	"	add $8, %rsp\n"
	"	mov %rax, %rbx\n"
	"	mov %r14, %rax\n"
	"at_hand:\n"
	"	pop %rdx\n"
	"	jmp *%rbx\n"
	/* An argument is restored before a tail call; elsewhere, the code returns. */
	"tail_calls:\n"
	"	push %rdx\n"
	"	call *%rcx\n"
	"	test %eax, %eax\n"
	"	pop %rdx\n"
	"	je 1f\n"
	"	push %rdx\n"
	"	pop %rdx\n"
	"	jmp *%rax\n"
	"1:	ret\n"
	"pops_other:\n"
	"	pop %r10\n"
	"	lea (%rsp,%r9,8), %rsp\n"
	"	push %r11\n"
	"	ret\n"
	/* Code that runs in the frame of a function of a file, and jumps back there. */
	"leaves_for_a_file:\n"
	"	sub $24, %rsp\n"
	"in_its_frame:\n"
	"	mov %rbx, %rdi\n"
	"	call *%rax\n"
	"	add $24, %rsp\n"
	"	test %eax, %eax\n"
	"	je code_start - 4096\n"
	"	jmp code_start - 4096\n"
	"leaves_otherwise:\n"
	"	test %eax, %eax\n"
	"	je code_start - 4096\n"
	"	push %rax\n"
	"	jmp code_start - 4096\n"
	/* As V8's code without optimisation: a routine makes the frame, another one releases it. */
	"baseline:\n"
	"	mov $48, %ebx\n"
	"	call enters\n"
	"behind_enter:\n"
	"	mov %rax, -8(%rbp)\n"
	"in_baseline:\n"
	"	call *%rcx\n"
	"	jmp releases\n"
	"enters:\n"
	"	test %edi, %edi\n"
	"	jne replaces\n"
	"before_its_pop:\n"
	"	pop %r15\n"
	"	mov $1, %ecx\n"
	"behind_its_pop:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	push %rsi\n"
	"	push %r15\n"
	"behind_its_push:\n"
	"	ret\n"
	/* A tail call, whose target takes the place of the return address. */
	"replaces:\n"
	"	add $8, %rsp\n"
	"	push %rcx\n"
	"	ret\n"
	"releases:\n"
	"	mov %rbp, %rsp\n"
	"	pop %rbp\n"
	"	pop %r8\n"
	"	lea (%rsp,%rbx,8), %rsp\n"
	"	push %r8\n"
	"	ret\n"
	/* A function that pops what it has pushed. */
	"restores:\n"
	"	push %rbx\n"
	"in_restores:\n"
	"	pop %rbx\n"
	"	ret\n"
	"overwrites_address:\n"
	"	mov %rcx, (%rsp)\n"
	"	ret\n"
	/* A trace whose guards jump to what gives the frame up. */
	"ends_loop:\n"
	"	cmp $0, (%rbp)\n"
	"	jne 1f\n"
	"	movabs $gives_up + 0x40, %r11\n"
	"ends_by_number:\n"
	"	movabs $gives_up + 0x40, %r11\n"
	"	cmp $1, (%rbp)\n"
	"	jne 2f\n"
	"	jmp ends_loop\n"
	"1:	jmp ends_by_number\n"
	"2:	push (%rdi)\n"
	"	push %r11\n"
	"	lea -0x40(%r11), %r11\n"
	"	jmp *%r11\n"
	"gives_up:\n"
	"	pop 8(%rbp)\n"
	"	pop 16(%rbp)\n"
	"	mov %rbp, %rax\n"
	"	mov 16(%rsp), %rbx\n"
	"	mov 24(%rsp), %rbp\n"
	"	add $40, %rsp\n"
	"	ret\n"
	"calls_that_pops:\n"
	"	push %rax\n"
	"	call 1f\n"
	"	add $24, %rsp\n"
	"	pop %r12\n"
	"	ret\n"
	"1:	mov 8(%rsp), %rax\n"
	"	ret $8\n"
	"whole:\n"
	"	push %rbx\n"
	"behind_push:\n"
	"	sub $32, %rsp\n"
	"	mov %r12, 8(%rsp)\n"
	"	mov %rdi, %rbx\n"
	"	xor %r12d, %r12d\n"
	"	mov 8(%rsp), %r12\n"
	"	add $32, %rsp\n"
	"	pop %rbx\n"
	"	ret\n"
	"leaves:\n"
	"	mov %rdi, %rax\n"
	"	leave\n"
	"behind_leave:\n"
	"	ret\n"
	"disagrees:\n"
	"	test %edi, %edi\n"
	"	jne 1f\n"
	"	add $8, %rsp\n"
	"	ret\n"
	"1:	add $16, %rsp\n"
	"	ret\n"
	/* A loop that moves the stack pointer in each turn. */
	"pushes_by_turns:\n"
	"	push %rax\n"
	"	dec %ecx\n"
	"	jnz pushes_by_turns\n"
	"	mov $16, %ecx\n"
	"1:	pop %rax\n"
	"in_pops:\n"
	"	dec %ecx\n"
	"	jnz 1b\n"
	"	ret\n"
	/* A return that takes two words, and one of two that do not agree. */
	"takes_words:\n"
	"	add $8, %rsp\n"
	"	ret $16\n"
	"takes_some_words:\n"
	"	test %eax, %eax\n"
	"	jne 1f\n"
	"	ret $16\n"
	"1:	ret $8\n"
	"never:\n"
	"	inc %eax\n"
	"	jmp never\n"
	"jumps_by_return:\n"
	"	push %rax\n"
	"	ret\n"
	"changes:\n"
	"	mov %rdi, %rbx\n"
	"	ret\n"
	"lost:\n"
	"	mov (%rdi), %rsp\n"
	"	ret\n"
	/* As V8 makes them: a check before the frame, arguments that the function takes, and a call
	 * that never returns, with data behind it. */
	"checks_first:\n"
	"	mov -8(%rcx), %rbx\n"
	"	testb $1, 0x35(%rbx)\n"
	"	jne code_end + 0x10000\n"
	"at_push:\n"
	"	push %rbp\n"
	"at_mov:\n"
	"	mov %rsp, %rbp\n"
	"	push %rsi\n"
	"	sub $24, %rsp\n"
	"in_frame:\n"
	"	mov %rsi, -0x20(%rbp)\n"
	"	cmp -0x60(%r13), %rsp\n"
	"	jbe never_back\n"
	"	push %rdi\n"
	"	call *%rcx\n"
	"behind_call:\n"
	"	mov -0x18(%rbp), %rcx\n"
	"	mov %rbp, %rsp\n"
	"	pop %rbp\n"
	"behind_pop:\n"
	"	cmp $2, %rcx\n"
	"	jg 1f\n"
	"	ret $16\n"
	"1:	pop %r10\n"
	"	lea (%rsp,%rcx,8), %rsp\n"
	"	push %r10\n"
	"	ret\n"
	"never_back:\n"
	"	call *-0x38(%r13)\n"
	"	.byte 0x02, 0, 0, 0, 0xca, 0xbb, 4, 0xc3\n"
	"aligns:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	and $-32, %rsp\n"
	"	push %rax\n"
	"	leave\n"
	"	ret\n"
	"counts_first:\n"
	"	endbr64\n"
	"	push %rax\n"
	"in_count:\n"
	"	movabs $code_start, %rax\n"
	"	incq (%rax)\n"
	"	pop %rax\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	pop %rbp\n"
	"	ret\n"
	"code_end:\n"
	"	.text\n");

static size_t read_code(void *arg, uint64_t vaddr, uint8_t *bytes, size_t size)
{
	uint64_t start = (uintptr_t)code_start, len = (uint64_t)(code_end - code_start);

	(void)arg;
	if (vaddr < start || vaddr - start >= len)
		return 0;
	if (size > len - (vaddr - start))
		size = len - (vaddr - start);
	memcpy(bytes, code_start + (vaddr - start), size);
	return size;
}

/* Of code ahead of this: a frame of 56 bytes, in which rbx is saved. */
static bool rule_outside(void *arg, uint64_t vaddr, struct stackd_rule *ret_rule)
{
	(void)arg;
	if (vaddr != (uintptr_t)code_start - 4096)
		return false;
	*ret_rule = (struct stackd_rule){.cfa = STACKD_CFA_REG,
					 .reg = STACKD_REG_SP,
					 .cfa_offset = 56,
					 .ra_offset = -8,
					 .saved = {[1] = -24}};
	return true;
}

static bool find(const uint8_t *label, struct stackd_rule *ret_rule)
{
	return exit_frame_find(read_code, NULL, (uintptr_t)label, ret_rule);
}

static struct stackd_rule rule_of(const uint8_t *label, unsigned reg, int cfa_offset)
{
	struct stackd_rule rule;

	assert_true(find(label, &rule));
	assert_int_equal(rule.cfa, STACKD_CFA_REG);
	assert_int_equal(rule.reg, reg);
	assert_int_equal(rule.cfa_offset, cfa_offset);
	assert_int_equal(rule.ra_offset, -8);
	return rule;
}

/* By a branch, words that are pushed for what it leads to, and a register that holds its address.
 */
static void trace(void **state)
{
	struct stackd_rule rule = rule_of(ends_loop, STACKD_REG_SP, 48);

	(void)state;
	assert_int_equal(rule.saved[0], -24);
	assert_int_equal(rule.saved[1], -32);
	assert_int_equal(rule.saved[2], 0);
	rule = rule_of(ends_by_number, STACKD_REG_SP, 48);
	assert_int_equal(rule.saved[0], -24);
}

static void argument_that_a_call_takes(void **state)
{
	const struct stackd_rule rule = rule_of(calls_that_pops, STACKD_REG_SP, 40);

	(void)state;
	assert_int_equal(rule.saved[2], -16);
}

static void words_that_a_return_takes(void **state)
{
	const struct stackd_rule takes = rule_of(takes_words, STACKD_REG_SP, 16);
	const struct stackd_rule some = rule_of(takes_some_words, STACKD_REG_SP, 8);

	(void)state;
	assert_int_equal(EXIT_FRAME_REMOVES(&takes), 2);
	assert_int_equal(EXIT_FRAME_REMOVES(&some), 0);
}

/* How often a loop pushes does not matter where the frame pointer releases the frame. */
static void loop_that_pushes(void **state)
{
	(void)state;
	rule_of(uneven, STACKD_REG_SP, 8);
	rule_of(uneven_loop, STACKD_REG_FP, 16);
}

/* The word that a stub pops before it jumps to a handler is the return address, unless the code
 * itself has pushed the word, or returns elsewhere. */
static void return_address_handed_on(void **state)
{
	struct stackd_rule rule;

	(void)state;
	rule_of(hands_on, STACKD_REG_SP, 8);
	rule_of(behind_its_call, STACKD_REG_SP, 16);
	rule_of(at_hand, STACKD_REG_SP, 8);
	rule_of(tail_calls, STACKD_REG_SP, 8);
	assert_false(find(at_hand + 1, &rule));
}

static void arguments_below_the_return_address(void **state)
{
	const struct stackd_rule rule = rule_of(takes_arguments, STACKD_REG_FP, 16);
	struct stackd_rule other;

	(void)state;
	assert_int_equal(rule.saved[0], -16);
	rule_of(at_its_pop, STACKD_REG_SP, 8);
	assert_false(find(pops_other, &other));
}

/* What is saved on the way is not changed. */
static void function(void **state)
{
	struct stackd_rule rule = rule_of(whole, STACKD_REG_SP, 8);

	(void)state;
	for (int i = 0; i < STACKD_SAVED_COUNT; i++)
		assert_int_equal(rule.saved[i], 0);
	rule = rule_of(behind_push, STACKD_REG_SP, 16);
	assert_int_equal(rule.saved[1], -16);
	assert_int_equal(rule.saved[2], 0);
}

static void frame_pointer(void **state)
{
	const struct stackd_rule rule = rule_of(leaves, STACKD_REG_FP, 16);

	(void)state;
	assert_int_equal(rule.saved[0], -16);
	rule_of(behind_leave, STACKD_REG_SP, 8);
}

/* A function that preserves rbp alone: of the others nothing is known. */
static void registers_that_change(void **state)
{
	const struct stackd_rule rule = rule_of(changes, STACKD_REG_SP, 8);

	(void)state;
	assert_int_equal(rule.cfa_add, 1 << 1);
	assert_int_equal(rule_of(behind_leave, STACKD_REG_SP, 8).cfa_add, 0);
	assert_int_equal(rule_of(checks_first, STACKD_REG_SP, 8).cfa_add, 1 << 1);
}

static void before_and_behind_a_frame(void **state)
{
	(void)state;
	rule_of(at_push, STACKD_REG_SP, 8);
	assert_int_equal(rule_of(at_mov, STACKD_REG_SP, 16).saved[0], -16);
	assert_int_equal(rule_of(in_frame, STACKD_REG_FP, 16).saved[0], -16);
	rule_of(behind_call, STACKD_REG_FP, 16);
	rule_of(behind_pop, STACKD_REG_SP, 8);
	rule_of(aligns, STACKD_REG_SP, 8);
	rule_of(counts_first, STACKD_REG_SP, 8);
	rule_of(in_count, STACKD_REG_SP, 16);
}

static void frame_of_a_file(void **state)
{
	struct stackd_rule rule;

	(void)state;
	assert_false(find(leaves_for_a_file, &rule));
	assert_true(exit_frame_find_outside(read_code, rule_outside, NULL,
					    (uintptr_t)leaves_for_a_file, &rule));
	assert_int_equal(rule.reg, STACKD_REG_SP);
	assert_int_equal(rule.cfa_offset, 56);
	assert_int_equal(rule.saved[0], 0);
	assert_int_equal(rule.saved[1], -24);
	assert_true(exit_frame_find_outside(read_code, rule_outside, NULL, (uintptr_t)in_its_frame,
					    &rule));
	assert_int_equal(rule.cfa_offset, 80);
	assert_int_equal(rule.saved[1], -24);
	assert_false(exit_frame_find_outside(read_code, rule_outside, NULL,
					     (uintptr_t)leaves_otherwise, &rule));
}

/* Ahead of the call, the frame is yet to be made; behind it, the frame pointer is the frame's. */
static void frame_made_by_a_callee(void **state)
{
	(void)state;
	rule_of(baseline, STACKD_REG_SP, 8);
	assert_int_equal(rule_of(behind_enter, STACKD_REG_FP, 16).saved[0], -16);
	rule_of(in_baseline, STACKD_REG_FP, 16);
}

static bool is_taken(const uint8_t *at, struct exit_frame_return *ret_where)
{
	return exit_frame_is_taken(read_code, NULL, (uintptr_t)enters, (uintptr_t)at, ret_where);
}

static int taken_cfa(const uint8_t *at, const struct exit_frame_return *where)
{
	struct stackd_rule rule;

	assert_true(exit_frame_find_taken(read_code, NULL, NULL, (uintptr_t)at, where,
					  (uintptr_t)behind_enter, &rule));
	assert_int_equal(rule.reg, STACKD_REG_SP);
	return rule.cfa_offset;
}

/* In the callee: the return address is on the stack, then in r15, and then its frame is made. */
static void callee_that_makes_a_frame(void **state)
{
	struct exit_frame_return where;

	(void)state;
	assert_true(is_taken(enters, &where) && where.reg == STACKD_REG_COUNT && !where.at);
	assert_int_equal(taken_cfa(enters, &where), 16);
	assert_true(is_taken(before_its_pop, &where) && where.reg == STACKD_REG_COUNT);
	assert_int_equal(taken_cfa(before_its_pop, &where), 16);
	assert_true(is_taken(behind_its_pop, &where) && where.reg == 15);
	assert_int_equal(taken_cfa(behind_its_pop, &where), 8);
	assert_false(is_taken(behind_its_push, &where));
	assert_false(is_taken(replaces, &where));
	assert_false(is_taken(code_end, &where));
}

/* A pop is of a return address only if nothing was pushed before, and it does not lead to a return.
 */
static void callee_that_takes_nothing(void **state)
{
	struct exit_frame_return where;

	(void)state;
	assert_false(exit_frame_is_taken(read_code, NULL, (uintptr_t)restores,
					 (uintptr_t)in_restores, &where));
	assert_false(exit_frame_is_taken(read_code, NULL, (uintptr_t)at_its_pop,
					 (uintptr_t)at_its_pop, &where));
	assert_false(exit_frame_is_taken(read_code, NULL, (uintptr_t)baseline, (uintptr_t)baseline,
					 &where));
}

static void nothing(void **state)
{
	struct stackd_rule rule;

	(void)state;
	assert_false(find(disagrees, &rule));
	assert_false(find(never, &rule));
	assert_false(find(pushes_by_turns, &rule));
	assert_false(find(resets_first, &rule));
	assert_false(find(in_pops, &rule));
	assert_false(find(jumps_by_return, &rule));
	assert_false(find(replaces, &rule));
	assert_false(find(overwrites_address, &rule));
	assert_false(find(lost, &rule));
	assert_false(find(never_back, &rule));
	assert_false(find(code_end, &rule));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(trace),
		cmocka_unit_test(argument_that_a_call_takes),
		cmocka_unit_test(words_that_a_return_takes),
		cmocka_unit_test(arguments_below_the_return_address),
		cmocka_unit_test(frame_of_a_file),
		cmocka_unit_test(function),
		cmocka_unit_test(frame_pointer),
		cmocka_unit_test(registers_that_change),
		cmocka_unit_test(before_and_behind_a_frame),
		cmocka_unit_test(frame_made_by_a_callee),
		cmocka_unit_test(loop_that_pushes),
		cmocka_unit_test(return_address_handed_on),
		cmocka_unit_test(callee_that_makes_a_frame),
		cmocka_unit_test(callee_that_takes_nothing),
		cmocka_unit_test(nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
