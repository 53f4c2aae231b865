/* SPDX-License-Identifier: MIT */
/*
 * Kinds of functions of Go's runtime by what they do to the stack; functions are known by their
 * names.
 *
 * Some functions of the runtime do not return to their caller on the same stack. Up to where they
 * set the stack pointer they are ordinary; the rules from there on are made from their code
 * (go_switch.h):
 *
 *   outermost    goexit, mstart, rt0_go and the entries before it: the path ends, complete
 *   mcall        gives up its goroutine to the scheduler, on the thread's system stack, and is
 *                never returned to: its callee begins the stack. The path ends, complete, as the
 *                runtime's own paths do.
 *   systemstack  returns to the goroutine's stack, which may have moved: its stack pointer is
 *                g->m->curg->sched.sp, with the thread's g (STACKD_CFA_GOROUTINE)
 *   morestack    continues at m.curg.sched.pc, unless its callee has given up the goroutine: then
 *                m.curg is nil, or another goroutine once schedule() has chosen it. Frames below
 *                schedule()'s (STACKD_CFA_SCHEDULER) end as mcall's.
 *   gogo         sets the stack pointer, and jumps to the goroutine's code: continues there
 *   asmcgocall   keeps the goroutine and the depth of its stack in its frame (STACKD_CFA_DEPTH)
 *   cgocallback  is called by C on the system stack, and calls Go on the goroutine's. It returns to
 *                the system stack at g0's sched.sp, where the previous callback's value of sched.sp
 *                is stored (STACKD_CFA_CALLBACK)
 *   injected     asyncPreempt, sigpanic: a signal handler has made the interrupted code call
 *                them. The caller is at the interrupted instruction, which need not follow a call
 *                (STACKD_CFA_INJECTED)
 *   switches     every other function whose flags say that it sets the stack pointer: the path
 *                ends, with a reason of its own (STACKD_END_STACK_SWITCH). It also ends so in a
 *                function above whose code is not as expected.
 *   borrows      time.now, nanotime1, walltime, vgetrandom1, racecall, sigfwd, ...: they call C,
 *                mostly on the thread's system stack, with their stack pointer in a register that
 *                C preserves: from there on, CFA = register + delta + 8 (STACKD_CFA_OTHER)
 *   vfork        rawVforkSyscall pops its return address into a register, and pushes it again
 *                behind the system call (STACKD_CFA_GOROUTINE)
 *   signal       sigreturn, to which the kernel lets signal handlers return: all registers are in
 *                the kernel's signal frame. Return addresses are looked up by the byte before
 *                them, so its rule begins one byte before it.
 */
#ifndef GO_GO_STACK_H
#define GO_GO_STACK_H

/* What a function of the runtime does to the stack. */
enum go_stack {
	GO_STACK_USUAL,	    /* returns to its caller on the same stack */
	GO_STACK_OUTERMOST, /* has no caller */
	GO_STACK_MCALL,	    /* its callee on the system stack never returns */
	GO_STACK_SYSTEMSTACK,
	GO_STACK_MORESTACK,
	GO_STACK_ASMCGOCALL,
	GO_STACK_CGOCALLBACK,
	GO_STACK_GOGO,
	GO_STACK_SCHEDULER, /* the thread has given up its goroutine */
	GO_STACK_INJECTED,  /* a signal handler has made the interrupted code call it */
	GO_STACK_SWITCH,    /* continues on another stack than its caller's */
	GO_STACK_BORROWS,   /* calls C on the thread's stack, with its stack pointer in a
			     * register */
	GO_STACK_SIGNAL,    /* returns from a signal's handler */
};

/* Returns the kind of a function by its name, with or without the suffix of its ABI. `name` NULL:
 * GO_STACK_USUAL. */
enum go_stack go_stack_of(const char *name);

#endif
