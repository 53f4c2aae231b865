/* SPDX-License-Identifier: MIT */
/*
 * A processor that does not exist, in place of arch/NAME/registers.h: its registers are a frame
 * pointer, a stack pointer and a program counter. What compiles with these and walks does not
 * depend on the registers of a real one.
 */
#ifndef TWO_REGISTERS_H
#define TWO_REGISTERS_H

#define STACKD_REG_COUNT 3
#define STACKD_REG_FP	 0
#define STACKD_REG_SP	 1
#define STACKD_REG_PC	 2

#define ARCH_HAS_LINK		0
#define STACKD_REG_LINK		STACKD_REG_COUNT
#define ARCH_CFI_RETURN		STACKD_REG_PC
#define ARCH_CFI_NO_EFFECT	0
#define ARCH_CODE_ADDRESS(word) (word)

#define STACKD_SAVED_REGS(X) X(FP, 0)
#define STACKD_SAVED_COUNT   1
#define ARCH_PUSHED_REGS(X)  X(0, 0)

#define ARCH_PRESERVED_REGS 3u
#define ARCH_VOLATILE_REGS  0u
#define ARCH_KEPT_TWO_REGS  0u
#define ARCH_RESULT_REG	    STACKD_REG_FP
#define ARCH_LANDING_REGS   STACKD_REG_FP
#define ARCH_CONTEXT_RETURN 0
#define ARCH_CONTEXT_ZERO   0

#define INSN_REG_COUNT	2
#define INSN_MAX_BYTES	4
#define INSN_SP		1
#define INSN_FP		0
#define INSN_ARGUMENT	0
#define INSN_ARGUMENT_2 1
#define INSN_ARGUMENTS	3u
#define INSN_PRESERVED	1u
#define INSN_VOLATILE	0u
#define INSN_SAVED_REGS                                                                            \
	{                                                                                          \
		INSN_FP                                                                            \
	}

#define ARCH_KNOWS_RUNTIMES  1
#define ARCH_DECODES	     1
#define ARCH_READS_OLD_PAGES 1

/* A call pushes two words, and the return address is the lower one. */
#define ARCH_RETURN_SLOT (-16)
#define ARCH_CALL_PUSHES 16

/* The stack pointer, the frame pointer, the program counter. */
#define ARCH_SIGCONTEXT	       32
#define ARCH_SIGCONTEXT_REG(i) ((i) ? STACKD_REG_FP : STACKD_REG_SP)
#define ARCH_SIGCONTEXT_SP     0
#define ARCH_SIGNAL_WORDS      3

#define ARCH_FAULT_ERROR     8
#define ARCH_FAULT_TRAP	     16
#define ARCH_FAULT_AT	     24
#define ARCH_FAULT_PAGE	     1
#define ARCH_FAULT_EXECUTION 2

#define ARCH_PAUSE()	    ((void)0)
#define ARCH_BREAKPOINT	    0x01
#define ARCH_KERNEL_STACK   65536
#define ARCH_MAY_RESCHEDULE 2
#define ARCH_FUNCTION_ALIGN 4
#define ARCH_PAGE_SHIFT	    16

#endif
