/* SPDX-License-Identifier: MIT */
/*
 * How functions of libstackmpi begin, for the files that include this one: with a frame of so
 * many bytes, at whose bottom a struct call (libstackmpi/call.h) has the caller's registers and the
 * first argument.
 */
#define ARGUMENTS 48 /* offsets in struct call, behind six saved registers */
#define SLOT	  96

.macro call_begin bytes
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	subq	$\bytes, %rsp
	movq	(%rbp), %rax
	movq	%rax, (%rsp)
	movq	%rbx, 8(%rsp)
	movq	%r12, 16(%rsp)
	movq	%r13, 24(%rsp)
	movq	%r14, 32(%rsp)
	movq	%r15, 40(%rsp)
	movq	%rdi, ARGUMENTS(%rsp)
.endm
