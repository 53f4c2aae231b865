/* SPDX-License-Identifier: MIT */
/* Rules of pieces of JIT code, as V8's optimising compiler makes it: with checks before the frame,
 * calls that give the code up at the end, data behind them, and loops that are entered by a jump.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those above. */
#include <cmocka.h>

#include "unwind/code_piece.h"

/* The code is in this program, which never runs it. */
#define CODE(name) extern const uint8_t name[]
CODE(piece_start);
CODE(piece_end);
CODE(checked);
CODE(checked_push);
CODE(checked_mov);
CODE(checked_body);
CODE(checked_loop);
CODE(checked_behind_pop);
CODE(checked_slow);
CODE(checked_gives_up);
CODE(entered);
CODE(entered_later);
CODE(entered_loop);
CODE(entered_slow);
CODE(entered_gives_up);
CODE(endless);
CODE(endless_loop);
CODE(asserts);
CODE(asserts_body);
CODE(behind_trap);
CODE(apart);
CODE(apart_body);
CODE(behind_apart);

#define ALIGNED ".balign 64, 0xcc\n"
#define PROLOGUE                                                                                   \
	"	mov -8(%rcx), %rbx\n"                                                                    \
	"	testb $1, 0x35(%rbx)\n"                                                                  \
	"	jne piece_start - 4096\n"
/* A row of calls at the end of a function, and a table for the compiler, in which there is a `ret`,
 * and from whose middle on instructions decode into the next function. */
#define ENDS                                                                                       \
	"	call *-0x38(%r13)\n"                                                                     \
	"	call *-0x38(%r13)\n"                                                                     \
	"	call *-0x30(%r13)\n"                                                                     \
	"	call *-0x30(%r13)\n"                                                                     \
	"	.byte 0x05, 0, 0, 0, 0xa1, 0x08, 0, 0, 0xae, 0x01, 0x06, 0xd5, 0x04, 0xc3\n"             \
	"	.balign 64, 0x05\n"

__asm__("	.data\n"
	"	.balign 64\n"
	"piece_start:\n"
	"	.byte 0x05, 0, 0, 0, 0xa1, 0xc3\n"
	"	.balign 64, 0x05\n"
	/* A function that returns. */
	"checked:\n" PROLOGUE "checked_push:\n"
	"	push %rbp\n"
	"checked_mov:\n"
	"	mov %rsp, %rbp\n"
	"	push %rsi\n"
	"	push %rdi\n"
	"	sub $24, %rsp\n"
	"checked_body:\n"
	"	mov %rsi, -32(%rbp)\n"
	"	cmp -0x60(%r13), %rsp\n"
	"	jbe checked_slow\n"
	"	jmp checked_loop\n"
	"	.balign 16, 0x90\n"
	"checked_loop:\n"
	"	add $1, %ecx\n"
	"	jo checked_gives_up\n"
	"	cmp $100, %ecx\n"
	"	jl checked_loop\n"
	"	mov -24(%rbp), %rcx\n"
	"	mov %rbp, %rsp\n"
	"	pop %rbp\n"
	"checked_behind_pop:\n"
	"	pop %r10\n"
	"	lea (%rsp,%rcx,8), %rsp\n"
	"	push %r10\n"
	"	ret\n"
	"checked_slow:\n"
	"	call piece_start - 8192\n"
	"	jmp checked_loop\n"
	"checked_gives_up:\n" ENDS
	/* A loop that is entered behind the trap, in a frame with more words than the prologue
	 * makes, and left only by giving up. */
	"entered:\n" PROLOGUE "	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	push %rsi\n"
	"	push %rdi\n"
	"	call *0x4ef0(%r13)\n"
	"	int3\n"
	"entered_later:\n"
	"	sub $32, %rsp\n"
	"	mov %rsi, -0x98(%rbp)\n"
	"	jmp entered_loop\n"
	"	.balign 16, 0x90\n"
	"entered_loop:\n"
	"	add $1, %ecx\n"
	"	jo entered_gives_up\n"
	"	cmp -0x60(%r13), %rsp\n"
	"	ja entered_loop\n"
	"entered_slow:\n"
	"	call piece_start - 8192\n"
	"	jmp entered_loop\n"
	"	nop\n"
	"entered_gives_up:\n" ENDS
	/* A function that never returns. */
	"endless:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	sub $16, %rsp\n"
	"	mov %rdi, -8(%rbp)\n"
	"endless_loop:\n"
	"	call piece_start - 8192\n"
	"	jmp endless_loop\n" ALIGNED
	/* A function that ends in a failed check, and right behind it one without a frame, which
	 * uses that of its caller, as handlers of V8's interpreter do. Where functions are aligned,
	 * it is one of its own. */
	"asserts:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	push %rsi\n"
	"	nopl (%rax)\n"
	"asserts_body:\n"
	"	call *0x4ef0(%r13)\n"
	"	int3\n"
	"behind_trap:\n"
	"	mov %rax, -24(%rbp)\n"
	"	jmp *%rcx\n" ALIGNED
	/* The same, but the code behind the trap writes no word of the frame. */
	"apart:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	push %rsi\n"
	"apart_body:\n"
	"	call *0x4ef0(%r13)\n"
	"	int3\n"
	"behind_apart:\n"
	"	mov %rax, 24(%rbp)\n"
	"	mov %rax, 24(%rbx)\n"
	"	jmp behind_apart\n"
	"	.balign 64, 0xcc\n"
	"	.skip 64, 0xcc\n"
	"piece_end:\n"
	"	.text\n");

static struct code_piece piece;

static int setup(void **state)
{
	(void)state;
	return code_piece_make(&piece, piece_start, (size_t)(piece_end - piece_start),
			       (uint64_t)(uintptr_t)piece_start, false);
}

static int teardown(void **state)
{
	(void)state;
	code_piece_fini(&piece);
	return 0;
}

static struct stackd_rule rule_at(const uint8_t *at)
{
	struct stackd_rule rule;

	code_piece_rule(&piece, (uint64_t)(uintptr_t)at, &rule);
	return rule;
}

static void check_rule(const uint8_t *at, int reg, int offset)
{
	struct stackd_rule rule = rule_at(at);

	assert_int_equal(rule.cfa, STACKD_CFA_REG);
	assert_int_equal(rule.reg, reg);
	assert_int_equal(rule.cfa_offset, offset);
}

static void check_framed(const uint8_t *at)
{
	check_rule(at, STACKD_REG_FP, 16);
	assert_int_equal(rule_at(at).saved[0], -16);
}

/* The table behind its last calls does not end the function's rules. */
static void function_before_data(void **state)
{
	(void)state;
	check_rule(checked, STACKD_REG_SP, 8);
	check_rule(checked_push, STACKD_REG_SP, 8);
	check_rule(checked_mov, STACKD_REG_SP, 16);
	check_framed(checked_body);
	check_framed(checked_loop);
	check_framed(checked_slow);
	check_framed(checked_gives_up);
	check_rule(checked_behind_pop, STACKD_REG_SP, 8);
}

/* How many words the frame has at the jump is not known, so only the frame pointer counts. */
static void loop_behind_trap(void **state)
{
	(void)state;
	check_framed(entered_later);
	check_framed(entered_loop);
	check_framed(entered_slow);
	check_framed(entered_gives_up);
}

static void function_that_never_returns(void **state)
{
	(void)state;
	check_framed(endless_loop);
}

/* The code behind a trap is that of the frame before it only if it shows that. */
static void other_code_behind_trap(void **state)
{
	(void)state;
	assert_int_equal(rule_at(asserts_body).cfa, STACKD_CFA_NONE);
	assert_int_equal((uintptr_t)behind_trap % 16, 0);
	assert_int_equal(rule_at(behind_trap).cfa, STACKD_CFA_NONE);
	assert_int_equal(rule_at(apart_body).cfa, STACKD_CFA_NONE);
	assert_int_equal(rule_at(behind_apart).cfa, STACKD_CFA_NONE);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(function_before_data),
		cmocka_unit_test(loop_behind_trap),
		cmocka_unit_test(function_that_never_returns),
		cmocka_unit_test(other_code_behind_trap),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
