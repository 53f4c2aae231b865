/* SPDX-License-Identifier: MIT */
/*
 * The functions that a program's regions call (stackd_region.h). Both keep the registers and
 * the argument in a struct call (libstackmpi/call.h), and give it to region_begin() or
 * region_end().
 */
#define CALL_BYTES 240
#define ARGUMENTS  48 /* offsets in struct call, behind six saved registers */
#define SLOT	   96

	.text

.macro region_entry name, function
	.p2align 4
	.globl	\name
	.type	\name, @function
\name:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	subq	$CALL_BYTES, %rsp
	movq	(%rbp), %rax
	movq	%rax, (%rsp)
	movq	%rbx, 8(%rsp)
	movq	%r12, 16(%rsp)
	movq	%r13, 24(%rsp)
	movq	%r14, 32(%rsp)
	movq	%r15, 40(%rsp)
	movq	%rdi, ARGUMENTS(%rsp)
	leaq	8(%rbp), %rax
	movq	%rax, SLOT(%rsp)
	movq	%rsp, %rdi
	call	\function
	leave
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size	\name, . - \name
.endm

	region_entry stackd_region_enter, region_begin
	region_entry stackd_region_leave, region_end

	.section .note.GNU-stack, "", @progbits
