/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * What depends on the processor, behind one interface. Each folder arch/NAME/ is one processor, for
 * both halves, and for libstackalloc (alloc_probe.S). Code outside of arch/ names no register,
 * instruction or relocation of a processor: tests/lint/arch.py looks for them.
 *
 *   arch.h       this file: the registers by role, where a call puts the return address, the
 *                signal frame, and numbers that both halves need. bpf/stackd_abi.h includes it.
 *   insn.h       the decoder of instructions that the analysis and other readers of code share:
 *                what an instruction does to a frame
 *   flow_insn.h, data_insn.h   other views of an instruction: where control goes, what it computes
 *   disassembler.h   instructions as text
 *   call_site.h, code_form.h, handler_return.h, probe_place.h, start_code.h   byte patterns: calls,
 *                returns, linkage stubs, the code that handlers return to, places where no probe
 *                may be, the C runtime's start code
 *   leaf_frame.h     the frame at an interrupted instruction, for both halves
 *   call_source.h    where an indirect call took its target from, for both halves
 *   go_switch.h, java_entry.h, beam_code.h   code of run times: Go's, HotSpot's, Erlang's
 *   kernel_entry.h   the kernel's functions through which it is entered
 *   target.h     ELF machine and relocations, library folders, perf's numbers of registers
 *   arch.bpf.h   the kernel half: registers of a context, arguments, system calls. It names the
 *                other headers *.bpf.h
 *
 * arch.h includes NAME/registers.h, which defines:
 *
 *   STACKD_REG_COUNT      registers of a walk, in DWARF's numbers, the program counter last
 *   STACKD_REG_SP, _FP, _PC   the roles: stack pointer, frame pointer, program counter
 *   ARCH_HAS_LINK         1: a call leaves the return address in a register, STACKD_REG_LINK; 0: on
 *                         the stack, and STACKD_REG_LINK is no register's number
 *   ARCH_CFI_RETURN       the column of the return address in call frame information
 *   ARCH_CFI_NO_EFFECT    a call frame instruction of this processor that changes no rule, besides
 *                         DW_CFA_nop
 *   ARCH_CODE_ADDRESS(word)   the code address in a word with a return address, which may have a
 *                         signature or tag besides
 *   STACKD_SAVED_REGS(X)  X(name, number) of the registers that a callee preserves and a rule can
 *                         restore, the frame pointer first; STACKD_SAVED_COUNT of them
 *   ARCH_PUSHED_REGS(X)   X(number, bit) of the same registers, in the order in which functions
 *                         push them. The bit stands for the register in the cookie of a probe on a
 *                         function's exit, which describes the frame there to the kernel half
 *   ARCH_PRESERVED_REGS   a bit for each register with a known value after a call, SP among them
 *                         (and no PC)
 *   ARCH_VOLATILE_REGS    a bit for each register that a callee may change
 *   ARCH_KEPT_TWO_REGS    the two volatile registers that a rule with STACKD_KEPT_TWO keeps
 *   ARCH_RESULT_REG       the register with the result of a function or system call
 *   ARCH_LANDING_REGS     a list: the registers that bring values to an exception's landing pad
 *   ARCH_CONTEXT_RETURN   offset of the return address in libgcc's struct _Unwind_Context, behind
 *                         the slots of all registers and the CFA; 0: not known
 *   ARCH_CONTEXT_ZERO     offset of a word in it that is 0: its version
 *   ARCH_KNOWS_RUNTIMES   1: code and frames of runtimes (Go's, Python's, ...) are known; 0: they
 *                         are walked as any other code
 *   ARCH_DECODES          1: instructions are decoded (insn.h); 0: none is, so nothing that would
 *                         follow from them is known
 *   ARCH_READS_OLD_PAGES  1: the kernel half can read each page that is in memory; 0: on some
 *                         machines, none that fork has mapped and that was not used since
 *   ARCH_RETURN_SLOT      where a call leaves the return address, in bytes from the CFA; 0 in a
 *                         rule if it is in STACKD_REG_LINK
 *   ARCH_CALL_PUSHES      bytes by which a call lowers the stack pointer
 *   ARCH_SIGCONTEXT       offset of the kernel's sigcontext, which has the registers of a function
 *                         that a signal interrupted, from the stack pointer at the return from
 *                         the handler
 *   ARCH_SIGCONTEXT_STACK offset of the alternate stack's settings (stack_t) from the sigcontext
 *   ARCH_SIGCONTEXT_REG(i)    the register in word i of the sigcontext, for each i below WALK_REGS;
 *                         the program counter is in the word after these
 *   ARCH_SIGCONTEXT_SP    the index of the word with the stack pointer
 *   ARCH_SIGNAL_WORDS     words of a signal frame that torn_registers.bpf.h reads
 *   ARCH_FAULT_ERROR, _TRAP, _AT   offsets from a signal frame's program counter: of the error
 *                         code, the trap's number, and the address of a fault
 *   ARCH_FAULT_PAGE, _EXECUTION    the number of a page fault, and the bit of its error code that
 *                         says that the page was not executable
 *   ARCH_BREAKPOINT       the first byte that a debugger or probe puts in place of an instruction
 *   ARCH_PAUSE()          the instruction for a loop that waits for another CPU
 *   INSN_REG_COUNT, INSN_SP, INSN_FP, INSN_PRESERVED, INSN_VOLATILE, INSN_SAVED_REGS,
 *   INSN_MAX_BYTES        the same with the numbers that registers have in instructions (insn.h)
 *   INSN_ARGUMENT, INSN_ARGUMENT_2, INSN_ARGUMENTS   the registers of a function's first and second
 *                         argument, and a bit for each register of an argument
 *   ARCH_KERNEL_STACK     bytes of a thread's stack in the kernel
 *   ARCH_MAY_RESCHEDULE   flags in thread_info, one of which is set if the task is to be switched
 *   ARCH_FUNCTION_ALIGN   the alignment of functions by compilers
 *   ARCH_PAGE_SHIFT       log2 of the least page size
 *
 * A test can be built with other definitions: STACKD_ARCH_HEADER names the file with them.
 */
#ifndef STACKD_ARCH_H
#define STACKD_ARCH_H

#if defined(STACKD_ARCH_HEADER)
#include STACKD_ARCH_HEADER
#elif defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#include "x86_64/registers.h"
#elif defined(__aarch64__) || defined(__TARGET_ARCH_arm64)
#include "arm64/registers.h"
#else
#error "there is no arch/ folder for this processor"
#endif

#endif
