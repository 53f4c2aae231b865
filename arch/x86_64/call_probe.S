/* SPDX-License-Identifier: MIT */
/* The probe by which libstackmpi lets the kernel half walk the stack (bpf/stackd_calls.h): a function
 * whose first instruction the kernel emulates (a nop of one byte). */
	.text
	.p2align 4
	.globl	call_probe
	.hidden	call_probe
	.type	call_probe, @function
call_probe:
	.cfi_startproc
	.byte	0x90
	ret
	.cfi_endproc
	.size	call_probe, . - call_probe

	.pushsection .note.stapsdt, "", @note
	.balign	4
	.4byte	992f - 991f, 994f - 993f, 3
991:	.asciz	"stapsdt"
992:	.balign	4
993:	.8byte	call_probe
	.8byte	_.stapsdt.base
	.8byte	0
	.asciz	"stackmpi"
	.asciz	"call"
	.asciz	"8@%rdi"
994:	.balign	4
	.popsection

	.pushsection .stapsdt.base, "aG", @progbits, .stapsdt.base, comdat
	.weak	_.stapsdt.base
	.hidden	_.stapsdt.base
_.stapsdt.base:
	.space	1
	.size	_.stapsdt.base, 1
	.popsection

	.section .note.GNU-stack, "", @progbits
