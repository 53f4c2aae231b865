/* SPDX-License-Identifier: MIT */
/*
 * The functions that a program's regions call (stackd_region.h). Both keep the registers and
 * the argument in a struct call (libstackmpi/call.h), and give it to region_begin() or
 * region_end().
 */
#include "call_begin.S"

#define CALL_BYTES 240

	.text

.macro region_entry name, function
	.p2align 4
	.globl	\name
	.type	\name, @function
\name:
	.cfi_startproc
	call_begin CALL_BYTES
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
