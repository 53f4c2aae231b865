/* SPDX-License-Identifier: MIT */
/*
 * The functions of libstackmpi (libstackmpi/functions.h). All of them do the same: they keep the
 * registers and arguments in a struct call (libstackmpi/call.h), ask call_enter() which function to
 * call, call it with the same arguments, and give its result to the caller, after call_leave().
 * Arguments and results of MPI are whole numbers, addresses, and one `double` (MPI_Wtime()).
 */
#include "../../libstackmpi/functions.h"
#include "call_begin.S"

#define CALL_BYTES 256 /* at least sizeof(struct call), and room for two results */
#define NUMBER	   104
#define RESULT	   240
#define RESULT_2   248

	.text

/* A function: it has nothing but its number, in a register that no argument uses. */
.macro mpi_entry name, number
	.p2align 4
	.globl	\name
	.type	\name, @function
\name:
	.cfi_startproc
	movl	$\number, %r11d
	jmp	mpi_call
	.cfi_endproc
	.size	\name, . - \name
.endm

	.set	mpi_number, 0
#define ENTRY(name) mpi_entry name, %mpi_number; .set mpi_number, mpi_number + 1;
#define ENTRY_C(name, arguments) ENTRY(MPI_##name)
#define ENTRY_PROFILED(name, arguments) ENTRY(PMPI_##name)
#define ENTRY_FORTRAN(name, arguments) ENTRY(mpi_##name##_)
#define ENTRY_FORTRAN_2008(name, arguments) ENTRY(mpi_##name##_f08_)
#define ENTRY_FORTRAN_2008_ARRAYS(name, arguments) ENTRY(mpi_##name##_f08ts_)
	.altmacro
MPI_ALL_FUNCTIONS(ENTRY)
	.noaltmacro

	.p2align 4
	.globl	mpi_call
	.hidden	mpi_call
	.type	mpi_call, @function
mpi_call:
	.cfi_startproc
	call_begin CALL_BYTES
	movq	%rsi, ARGUMENTS+8(%rsp)
	movq	%rdx, ARGUMENTS+16(%rsp)
	movq	%rcx, ARGUMENTS+24(%rsp)
	movq	%r8, ARGUMENTS+32(%rsp)
	movq	%r9, ARGUMENTS+40(%rsp)
	leaq	8(%rbp), %rax
	movq	%rax, SLOT(%rsp)
	movq	%r11, NUMBER(%rsp)
	movq	%rsp, %rdi
	call	call_enter	/* rax: the function, rdx: how many arguments are on the stack */
	movq	%rax, %r11
	testq	%rdx, %rdx
	jz	2f
	leaq	1(%rdx), %rax
	andq	$-2, %rax
	shlq	$3, %rax
	subq	%rax, %rsp
	xorl	%ecx, %ecx
1:	movq	16(%rbp,%rcx,8), %rax
	movq	%rax, (%rsp,%rcx,8)
	incq	%rcx
	cmpq	%rdx, %rcx
	jb	1b
2:	movq	ARGUMENTS-CALL_BYTES(%rbp), %rdi
	movq	ARGUMENTS+8-CALL_BYTES(%rbp), %rsi
	movq	ARGUMENTS+16-CALL_BYTES(%rbp), %rdx
	movq	ARGUMENTS+24-CALL_BYTES(%rbp), %rcx
	movq	ARGUMENTS+32-CALL_BYTES(%rbp), %r8
	movq	ARGUMENTS+40-CALL_BYTES(%rbp), %r9
	xorl	%eax, %eax
	call	*%r11
	movq	%rax, RESULT-CALL_BYTES(%rbp)
	movsd	%xmm0, RESULT_2-CALL_BYTES(%rbp)
	leaq	-CALL_BYTES(%rbp), %rdi
	movl	%eax, %esi
	call	call_leave
	movq	RESULT-CALL_BYTES(%rbp), %rax
	movsd	RESULT_2-CALL_BYTES(%rbp), %xmm0
	leave
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size	mpi_call, . - mpi_call

	.section .note.GNU-stack, "", @progbits
