/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* The registers of x86-64 by their roles, and what its psABI and Linux define about frames; see
 * ../arch.h for the meaning of each name. */
#ifndef ARCH_X86_64_REGISTERS_H
#define ARCH_X86_64_REGISTERS_H

/* DWARF's numbers: rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15, and rip. */
#define STACKD_REG_COUNT 17
#define STACKD_REG_FP	 6
#define STACKD_REG_SP	 7
#define STACKD_REG_PC	 16

#define ARCH_HAS_LINK		0
#define STACKD_REG_LINK		STACKD_REG_COUNT
#define ARCH_CFI_RETURN		STACKD_REG_PC
#define ARCH_CFI_NO_EFFECT	0 /* none but DW_CFA_nop */
#define ARCH_CODE_ADDRESS(word) (word)

#define X86_64_REG_RAX 0
#define X86_64_REG_RCX 2
#define X86_64_REG_RBX 3
#define X86_64_REG_R11 11

#define STACKD_SAVED_REGS(X) X(RBP, 6) X(RBX, 3) X(R12, 12) X(R13, 13) X(R14, 14) X(R15, 15)
#define STACKD_SAVED_COUNT   6

/* The order in which compilers push these registers, from the return address on: X(number, bit in
 * the cookie of an exit, STACKD_EXIT_REST). */
#define ARCH_PUSHED_REGS(X) X(15, 5) X(14, 4) X(13, 3) X(12, 2) X(6, 1) X(3, 0)

#define ARCH_PRESERVED_REGS 0xf0c8u /* rbx, rbp, rsp, r12 to r15 */
#define ARCH_VOLATILE_REGS  0x0f37u /* rax, rdx, rcx, rsi, rdi, r8 to r11 */
#define ARCH_KEPT_TWO_REGS  0x0c00u /* r10, r11 */
#define ARCH_RESULT_REG	    X86_64_REG_RAX
#define ARCH_LANDING_REGS   0, 1 /* rax, rdx */
#define ARCH_CONTEXT_RETURN 152	 /* behind 18 registers */
#define ARCH_CONTEXT_ZERO   200

/* The processor's own numbers in instructions: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15.
 */
#define INSN_REG_COUNT	16
#define INSN_MAX_BYTES	15
#define INSN_SP		4
#define INSN_FP		5
#define INSN_ARGUMENT	7 /* of a function's first argument: rdi; of its second: rsi */
#define INSN_ARGUMENT_2 6
#define INSN_ARGUMENTS	0x03c6u /* rdi, rsi, rdx, rcx, r8, r9 */
#define INSN_PRESERVED	0xf028u /* without the stack pointer: rbx, rbp, r12 to r15 */
#define INSN_VOLATILE	0x0fc7u /* rax, rcx, rdx, rsi, rdi, r8 to r11 */
#define INSN_SAVED_REGS                                                                            \
	{                                                                                          \
		INSN_FP, 3, 12, 13, 14, 15                                                         \
	} /* the same registers as STACKD_SAVED_REGS */

#define ARCH_KNOWS_RUNTIMES  1
#define ARCH_DECODES	     1
#define ARCH_READS_OLD_PAGES 1

#define ARCH_RETURN_SLOT (-8)
#define ARCH_CALL_PUSHES 8

#define ARCH_SIGCONTEXT	      40    /* uc_mcontext in ucontext_t */
#define ARCH_SIGCONTEXT_STACK (-24) /* uc_stack is right before it */

/* The words are r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip. Each has a nibble with its
 * DWARF number here, the first word the lowest nibble; r8 to r15 are computed. */
#define X86_64_SIGCONTEXT_ORDER 0x7201364500000000ull
#define ARCH_SIGCONTEXT_REG(i)	((i) < 8 ? (i) + 8 : X86_64_SIGCONTEXT_ORDER >> (4 * (i)) & 15)
#define ARCH_SIGCONTEXT_SP	15

#define ARCH_SIGNAL_WORDS 5

/* Offsets in a signal frame, from the program counter: of the error code, the trap's number and the
 * address of a fault. Then their values if a page was not executable. */
#define ARCH_FAULT_ERROR     24
#define ARCH_FAULT_TRAP	     32
#define ARCH_FAULT_AT	     48
#define ARCH_FAULT_PAGE	     14
#define ARCH_FAULT_EXECUTION 0x10 /* a bit */

#define ARCH_BREAKPOINT 0xcc /* int3 */

#define ARCH_PAUSE() __builtin_ia32_pause()

#define ARCH_KERNEL_STACK   (16 * 1024)
#define ARCH_MAY_RESCHEDULE 0x38 /* TIF_NEED_RESCHED is bit 3, or 4 where the bits are generic */
#define ARCH_FUNCTION_ALIGN 16
#define ARCH_PAGE_SHIFT	    12

#endif
