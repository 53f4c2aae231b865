/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* The registers of arm64 by their roles, and what its procedure call standard (AAPCS64) and Linux
 * define about frames; see ../arch.h for the meaning of each name. */
#ifndef ARCH_ARM64_REGISTERS_H
#define ARCH_ARM64_REGISTERS_H

/* DWARF's numbers: x0 to x30, sp, pc. */
#define STACKD_REG_COUNT 33
#define STACKD_REG_FP	 29
#define STACKD_REG_SP	 31
#define STACKD_REG_PC	 32

#define ARCH_HAS_LINK	   1
#define STACKD_REG_LINK	   30
#define ARCH_CFI_RETURN	   STACKD_REG_LINK
#define ARCH_CFI_NO_EFFECT 0x2d /* DW_CFA_AARCH64_negate_ra_state: signatures are left out */

/*
 * A signed return address has a signature between the bits of an address (48, or 52 with large
 * addresses) and bit 55, which is 0 in user space; and the highest byte may have a tag. A program
 * gets addresses beyond 48 bits only if it asks for them. A code address there loses its highest
 * bits here, so that no mapping is found for it.
 */
#define ARCH_CODE_ADDRESS(word) ((word)&0x0000ffffffffffffull)

/* No other register than the frame pointer is ever needed to find a caller: in a Debian root, no
 * CFA comes from one. */
#define STACKD_SAVED_REGS(X) X(X29, 29)
#define STACKD_SAVED_COUNT   1
#define ARCH_PUSHED_REGS(X)  X(29, 0)

#define ARCH_PRESERVED_REGS 0xbff80000u /* x19 to x29, sp */
#define ARCH_VOLATILE_REGS  0x0007ffffu /* x0 to x18 */
#define ARCH_KEPT_TWO_REGS  0u		/* none is named so: see STACKD_KEPT */
#define ARCH_RESULT_REG	    0
#define ARCH_LANDING_REGS   0, 1, 2, 3
#define ARCH_CONTEXT_RETURN 0
#define ARCH_CONTEXT_ZERO   0

/* Instructions number registers as DWARF does; 31 is the stack pointer, or zero. */
#define INSN_REG_COUNT	32
#define INSN_MAX_BYTES	4
#define INSN_SP		31
#define INSN_FP		29
#define INSN_ARGUMENT	0
#define INSN_ARGUMENT_2 1
#define INSN_ARGUMENTS	0xffu
#define INSN_PRESERVED	0x3ff80000u
#define INSN_VOLATILE	0x4007ffffu /* the link register as well */
#define INSN_SAVED_REGS                                                                            \
	{                                                                                          \
		INSN_FP                                                                            \
	}

#define ARCH_KNOWS_RUNTIMES  0
#define ARCH_DECODES	     0
#define ARCH_READS_OLD_PAGES 0

/* A call changes no memory: the return address is in the link register. */
#define ARCH_RETURN_SLOT 0
#define ARCH_CALL_PUSHES 0

/* A signal's frame: siginfo (128 bytes), then ucontext_t, whose uc_mcontext has the address of a
 * fault, x0 to x30, sp, pc. The sigcontext is taken from x0 on. */
#define ARCH_SIGCONTEXT	       312
#define ARCH_SIGCONTEXT_STACK  (-168) /* uc_stack, at 16 in ucontext_t */
#define ARCH_SIGCONTEXT_REG(i) (i)
#define ARCH_SIGCONTEXT_SP     31

#define ARCH_SIGNAL_WORDS 33

/* The error code of a fault is in a record of the frame's variable part, which is not read: so no
 * fault is recognised. These are offsets of the program counter itself, which is a multiple of
 * four and never the number of a fault. */
#define ARCH_FAULT_ERROR     0
#define ARCH_FAULT_TRAP	     0
#define ARCH_FAULT_AT	     (-264)
#define ARCH_FAULT_PAGE	     1
#define ARCH_FAULT_EXECUTION 1

/* The first byte of brk #0x5, which the kernel's uprobes use; debuggers use brk #0. */
#define ARCH_BREAKPOINT 0xa0

#define ARCH_PAUSE() __asm__ volatile("yield")

#define ARCH_KERNEL_STACK   (16 * 1024)
#define ARCH_MAY_RESCHEDULE 0x2 /* TIF_NEED_RESCHED is bit 1 */
#define ARCH_FUNCTION_ALIGN 16
#define ARCH_PAGE_SHIFT	    12 /* of kernels with the smallest pages: see docs/ARCHITECTURE.md */

#endif
