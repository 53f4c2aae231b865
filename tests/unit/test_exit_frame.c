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
CODE(jumps_by_return);
CODE(changes);
CODE(lost);

__asm__("	.data\n" /* it has addresses */
	"code_start:\n"
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
	struct stackd_rule rule = rule_of(ends_loop, STACKD_REG_RSP, 48);

	(void)state;
	assert_int_equal(rule.saved[0], -24);
	assert_int_equal(rule.saved[1], -32);
	assert_int_equal(rule.saved[2], 0);
	rule = rule_of(ends_by_number, STACKD_REG_RSP, 48);
	assert_int_equal(rule.saved[0], -24);
}

static void argument_that_a_call_takes(void **state)
{
	const struct stackd_rule rule = rule_of(calls_that_pops, STACKD_REG_RSP, 40);

	(void)state;
	assert_int_equal(rule.saved[2], -16);
}

/* What is saved on the way is not changed. */
static void function(void **state)
{
	struct stackd_rule rule = rule_of(whole, STACKD_REG_RSP, 8);

	(void)state;
	for (int i = 0; i < STACKD_SAVED_COUNT; i++)
		assert_int_equal(rule.saved[i], 0);
	rule = rule_of(behind_push, STACKD_REG_RSP, 16);
	assert_int_equal(rule.saved[1], -16);
	assert_int_equal(rule.saved[2], 0);
}

static void frame_pointer(void **state)
{
	const struct stackd_rule rule = rule_of(leaves, STACKD_REG_RBP, 16);

	(void)state;
	assert_int_equal(rule.saved[0], -16);
	rule_of(behind_leave, STACKD_REG_RSP, 8);
}

static void nothing(void **state)
{
	struct stackd_rule rule;

	(void)state;
	assert_false(find(disagrees, &rule));
	assert_false(find(never, &rule));
	assert_false(find(jumps_by_return, &rule));
	assert_false(find(changes, &rule));
	assert_false(find(lost, &rule));
	assert_false(find(code_end, &rule));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(trace),    cmocka_unit_test(argument_that_a_call_takes),
		cmocka_unit_test(function), cmocka_unit_test(frame_pointer),
		cmocka_unit_test(nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
