/* SPDX-License-Identifier: MIT */
/* The functions of libstackalloc/probe.h, on which tools place probes, and their notes. */

	.text

/* NAME: a function that begins with a nop and returns its first argument. */
.macro probe_function name
	.globl	\name
	.hidden	\name
	.type	\name, @function
\name:
	.cfi_startproc
	.byte	0x90
	mov	%rdi, %rax
	ret
	.cfi_endproc
	.size	\name, . - \name
.endm

/* The note of a probe on NAME: provider otel_memory, with a semaphore and operands. */
.macro probe_note name, probe, operands
	.pushsection .note.stapsdt, "", @note
	.balign	4
	.4byte	992f - 991f, 994f - 993f, 3
991:	.asciz	"stapsdt"
992:	.balign	4
993:	.8byte	\name
	.8byte	_.stapsdt.base
	.8byte	\name\()_semaphore
	.asciz	"otel_memory"
	.asciz	"\probe"
	.asciz	"\operands"
994:	.balign	4
	.popsection
.endm

.macro probe_semaphore name
	.pushsection .probes, "aw", @progbits
	.globl	\name\()_semaphore
	.hidden	\name\()_semaphore
	.type	\name\()_semaphore, @object
	.balign	2
\name\()_semaphore:
	.2byte	0
	.size	\name\()_semaphore, 2
	.popsection
.endm

/* Each has 16 bytes of its own, so that a tool within the process can put a jump there. */
	.p2align 4
	probe_function probe_alloc
	.p2align 4
	probe_function probe_free
	.p2align 4

	probe_semaphore probe_alloc
	probe_semaphore probe_free

	probe_note probe_alloc, alloc, "8@%rdi 8@%rsi 8@%rdx"
	probe_note probe_free, free, "8@%rdi"

/* By this section, readers of the notes see by how much prelink has moved the file. */
	.pushsection .stapsdt.base, "aG", @progbits, .stapsdt.base, comdat
	.weak	_.stapsdt.base
	.hidden	_.stapsdt.base
_.stapsdt.base:
	.space	1
	.size	_.stapsdt.base, 1
	.popsection

	.section .note.GNU-stack, "", @progbits
