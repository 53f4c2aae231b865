/* SPDX-License-Identifier: MIT */
/*
 * Rules for Go's code, from the stack deltas of its table of functions (pclntab.h).
 *
 * Go's code keeps no register across calls but rsp and, since Go 1.7, rbp. So a frame is one
 * number:  CFA = rsp + delta + 8, the return address at CFA - 8. rbp is saved at CFA - 16 where the
 * frame has a size ("Go internal ABI specification", amd64, "Stack layout"); where in the prologue
 * that happens the table does not say, so the code is looked at: `mov %rbp, delta-8(%rsp)` after
 * the change of rsp (to Go 1.20), or `push %rbp` as the change (since 1.21). Where neither is
 * found, rbp counts as unchanged. No rule for Go's code needs it, and none leads from Go's code to
 * C's.
 *
 * Some functions of the runtime do not return to who called them on the same stack:
 *
 *   outermost   goexit, mstart, rt0_go and the entries before it: the path ends, complete
 *   switches    systemstack, mcall, morestack, gogo, asmcgocall, cgocallback: what is above their
 *               frame are words of another use of this stack. The path ends there, with a reason of
 *               its own (STACKD_END_STACK_SWITCH).
 *   borrows     time.now, nanotime1, walltime: they call the vDSO on the thread's own stack, with
 *               their rsp in r12, which C preserves: CFA = r12 + delta + 8 from there on.
 *   signal      sigreturn, to which the kernel lets signal handlers return: every register stands
 * in the kernel's signal frame. Return addresses are looked up by the byte before them, so its rule
 * begins one byte before it.
 *
 * How a walk could go on at a switch, which is not done yet. On the thread's system stack (g0), a
 * return address in systemstack, mcall's or morestack's callee, or asmcgocall means: the goroutine
 * is m.curg, and its stack goes on at curg.sched.sp with curg.sched.pc (systemstack and mcall save
 * both; for asmcgocall it is the slot that holds the old rsp). g is in TLS at fs:-8 in Go's own
 * executables, at fs:*runtime.tlsg elsewhere; while on g0, that is g0, so the way is
 *   g0 = *(fs - 8), m = g0->m, curg = m->curg, sp = curg->sched.sp, pc = curg->sched.pc.
 * The kernel half would need, per file: the offset of g in TLS, and the offsets of g.m, m.curg,
 * g.sched.sp and .pc. g.sched follows stack, stackguards, _panic, _defer and m: 0x38 and 0x40, the
 * same from Go 1.5 to 1.24; g.m is at 0x30; m.curg is at 0xc0 up to 1.22 and at 0xb8 to 0xc0 since,
 * so it must be told by the version in .go.buildinfo, or by the code of runtime.systemstack, which
 * reads it (`mov 0xc0(%rbx),%rax`). Nothing may be believed that does not lie in
 * curg.stack.lo .. curg.stack.hi, and the verified prefix must know that the stacks differ.
 *
 * The bytes are hostile: time is linear in the sizes of the table and the text.
 */
#ifndef GO_GO_RULES_H
#define GO_GO_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"
#include "go/pclntab.h"
#include "stackd_abi.h"

/* What a function of the runtime does to the stack. */
enum go_stack {
	GO_STACK_USUAL,	    /* returns to its caller on the same stack */
	GO_STACK_OUTERMOST, /* has no caller */
	GO_STACK_SWITCH,    /* what is above its frame is another stack's */
	GO_STACK_BORROWS,   /* calls the vDSO on the thread's stack, with its own rsp in r12 */
	GO_STACK_SIGNAL,    /* returns from a signal's handler */
};

/* Tells it by the function's name, with or without the suffix of its ABI. NULL is usual. */
enum go_stack go_rules_stack(const char *name);

struct go_rules_row {
	uint64_t offset; /* in the file */
	struct stackd_rule rule;
	bool is_special; /* not from stack deltas, but from what the function is: it holds even
			  * where call frame information says otherwise */
};

/* Called with each row, in order of offset; anything but 0 ends the reading. */
typedef int go_rules_take(void *arg, const struct go_rules_row *row);

/* Hands the rules of all functions to `take`: each holds up to the next row, and the last row is
 * NONE. Functions outside of executable program headers are left out. Returns 0, -ENOMEM, or what
 * `take` says. */
int go_rules_each(const struct pclntab *table, const struct elf_file *file, go_rules_take *take,
		  void *arg);

#endif
