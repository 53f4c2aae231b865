/* SPDX-License-Identifier: MIT */
/* Code that is analysed, from calls_quits to code_end, and functions outside of it that it calls.
 * Only what is declared a function is known to be one. */
	.macro function name
	.globl \name
	.hidden \name
	.type \name, @function
\name:
	.endm
	.macro label name
	.globl \name
\name:
.L\name:
	.endm
	.text

/* exit(): its end is in another function that it calls, behind a loop of calls through pointers. */
	.p2align 4
function quits
	sub $8, %rsp
	mov $1, %ecx
	call runs_and_quits
	.p2align 4
function runs_and_quits
	push %rbx
	mov (%rdi), %rbx
0:	test %rbx, %rbx
	je 1f
	call *8(%rbx)
	mov (%rbx), %rbx
	jmp 0b
1:	call comes_back
	call stops
	.p2align 4
function stops
	mov $231, %eax
0:	syscall
	cmp $-4096, %rax
	ja 0b
	hlt
	jmp 0b
	.p2align 4
function comes_back
	test %edi, %edi
	jne 0f
	jmp stops
0:	ret
/* They call each other, and nothing else. */
	.p2align 4
function one_of_two
	sub $8, %rsp
	call other_of_two
	.p2align 4
function other_of_two
	sub $8, %rsp
	call one_of_two
	.p2align 4
function calls_pointer
	jmp *(%rdi)

	.p2align 4
	.globl calls_quits
	.type calls_quits, @function
calls_quits:
	push %rbx
label calls_quits_in
	call quits
label follows_quits
	xor %eax, %eax
	ret
function calls_two
	push %rbx
label calls_two_in
	call one_of_two
label follows_two
	xor %eax, %eax
	ret
function leaves
	jmp quits
function calls_leaves
	push %rbx
label calls_leaves_in
	call leaves
label follows_leaves
	xor %eax, %eax
	ret
function calls_back
	push %rbx
	call comes_back
label behind_back
	mov %rdi, %rdi
	call calls_pointer
label behind_pointer
	pop %rbx
	ret
function calls_all
	sub $8, %rsp
	call .Lfollows_quits
	call .Lfollows_two
	call .Lfollows_leaves
	add $8, %rsp
	ret
	.globl code_end
code_end:
	nop
	.section .note.GNU-stack, "", @progbits
