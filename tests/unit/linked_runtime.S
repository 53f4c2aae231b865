/* SPDX-License-Identifier: MIT */
/*
 * A library of code without call frame information, for tests/unit/test_solve_runtime.c: shapes of
 * languages with conventions of their own (OCaml's calls, exceptions and arguments; interpreters with
 * many labels; assembly that loses its stack pointer). Labels as in linked_code.S.
 */
#define FUNCTION(name) .p2align 4; .globl name; .type name, @function; name:
#define LABEL(name)    .globl name; name:

	.text
	.fill 4096, 1, 0xcc

/* A collector has a pointer to where each call returns, which is anywhere, also where functions are
 * aligned to. */
FUNCTION(has_roots)
	sub $24, %rsp
	.rept 48
	call *%rdi
1:	mov %rax, 8(%rsp)
	.pushsection .data.rel.ro, "aw"
	.quad 1b
	.popsection
	.endr
LABEL(has_roots_in)
	add $24, %rsp
	ret
	.p2align 4
dies:
	sub $8, %rsp
	ud2
/* A function behind a call that does not return has a pointer to it as well. */
FUNCTION(calls_dies)
	sub $8, %rsp
	lea 0x100(%rdi), %rdi
	call dies
function_behind:
	push %rbx
	call *%rdi
LABEL(function_behind_in)
	pop %rbx
	ret
	.pushsection .data.rel.ro, "aw"
	.quad function_behind
	.popsection

/* An exception takes the handler's address off the stack. The record before is in memory, */
FUNCTION(tries)
	sub $40, %rsp
	lea handles(%rip), %r11
	push %r11
	push 16(%r14)
	mov %rsp, 16(%r14)
	call *%rdi
LABEL(tries_in)
	pop 16(%r14)
	add $8, %rsp
	jmp 1f
handles:
	mov 8(%rsp), %rax
	call *%rax
LABEL(handles_in)
	mov %rax, 8(%rsp)
1:	add $40, %rsp
	ret
/* or in a register. */
FUNCTION(tries_too)
	sub $56, %rsp
	lea handles_too(%rip), %r11
	push %r11
	push %r14
	mov %rsp, %r14
	call *%rdi
	pop %r14
	add $8, %rsp
	jmp 1f
handles_too:
	call *%rax
LABEL(handles_too_in)
	mov %rax, 8(%rsp)
1:	add $56, %rsp
	ret

/* It raises one, and never returns. */
	.p2align 4
raises:
	testq $1, 232(%r14)
	jne 1f
	mov 16(%r14), %rsp
	pop 16(%r14)
	ret
1:	mov %rsp, %rdx
	call *%rsi
	mov 16(%r14), %rsp
	pop 16(%r14)
	pop %r11
	jmp *%r11
FUNCTION(calls_raises)
	sub $24, %rsp
	test %edi, %edi
	je 1f
	call raises
LABEL(behind_raises)
	push %rsi
1:
LABEL(does_not_raise)
	add $24, %rsp
	ret
/* A switch of stacks loads the stack pointer as well; it comes back to where it was called. */
	.p2align 4
switches:
	push %rbx
	mov %rsp, (%rdi)
	mov (%rsi), %rsp
	pop %rbx
	ret
FUNCTION(calls_switches)
	sub $24, %rsp
	call switches
	jmp 1f
FUNCTION(has_shared_end)
	sub $24, %rsp
1:
LABEL(shared_end)
	add $24, %rsp
	ret

/* Arguments in registers that C's functions preserve are spilled, and not given back: */
FUNCTION(spills)
	sub $24, %rsp
	mov %rbx, 8(%rsp)
	mov $1, %ebx
	call *%rdi
LABEL(spills_in)
	add $24, %rsp
	ret
FUNCTION(spills_and_jumps)
	sub $24, %rsp
	mov %rbx, 8(%rsp)
	mov $1, %ebx
	call *%rdi
LABEL(spills_and_jumps_in)
	add $24, %rsp
	jmp spills
FUNCTION(spills_and_leaves)
	sub $24, %rsp
	mov %rbx, 8(%rsp)
	mov $1, %ebx
	call *%rdi
LABEL(spills_and_leaves_in)
	add $24, %rsp
	jmp *%rsi
/* this is a function as C's. */
FUNCTION(preserves)
	sub $24, %rsp
	mov %rbx, 8(%rsp)
	mov $1, %ebx
	call *%rdi
LABEL(preserves_in)
	mov 8(%rsp), %rbx
	add $24, %rsp
	ret

/* Of two ways, one loses its stack pointer. */
	.p2align 4
chooses:
	test %edi, %edi
	je 1f
	push %rbx
	call *%rsi
LABEL(chooses_in)
	pop %rbx
	ret
1:	push %rbx
	call *%rsi
LABEL(is_lost_later)
	sub %rcx, %rsp
	call *%rsi
LABEL(is_lost)
	add %rcx, %rsp
	pop %rbx
	ret
FUNCTION(calls_chooses)
	sub $8, %rsp
	call chooses
	add $8, %rsp
	ret

/* An interpreter with more labels than most functions have. */
FUNCTION(runs)
	push %rbx
	sub $32, %rsp
	jmp *(%rdi)
	.rept 600
1:	mov 8(%rdi), %rax
	jmp *%rax
	.pushsection .data.rel.ro, "aw"
	.quad 1b
	.popsection
	.endr
last:
LABEL(last_label)
	call *%rsi
	add $32, %rsp
	pop %rbx
	ret
	.pushsection .data.rel.ro, "aw"
	.quad last
	.popsection
LABEL(code_end)

	.section .note.GNU-stack, "", @progbits
