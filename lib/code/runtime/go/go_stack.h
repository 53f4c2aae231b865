/* SPDX-License-Identifier: MIT */
/*
 * What the functions of Go's runtime do to the stack, by their names.
 *
 * Some functions of the runtime do not return to who called them on the same stack. Up to where
 * they set the stack pointer they are as others; what holds from there is told from their code
 * (go_switch.h):
 *
 *   outermost    goexit, mstart, rt0_go and the entries before it: the path ends, complete
 *   mcall        gives its goroutine up to the scheduler, on the thread's system stack, and is
 *                never returned to: what it calls begins there. The path ends, complete, as the
 *                runtime's own do.
 *   systemstack  comes back to the goroutine's stack, wherever that is by then: in C, at
 *                fs[-8]->m->curg->sched.sp (STACKD_CFA_GOROUTINE)
 *   morestack    goes on at m.curg.sched.pc, unless what it calls has given the goroutine up: then
 *                m.curg is none, or another one once schedule() has chosen it. Frames below
 *                schedule()'s (STACKD_CFA_SCHEDULER) are as mcall's.
 *   gogo         sets the stack pointer, and jumps to the goroutine's code: goes on there
 *   asmcgocall   keeps the goroutine and the depth of its stack in its frame (STACKD_CFA_DEPTH)
 *   cgocallback  is called by C on the system stack, and calls Go on the goroutine's. It comes back
 *                to where g0 says that it left the system stack, and has there where the callback
 *                before it did (STACKD_CFA_CALLBACK)
 *   injected     asyncPreempt, sigpanic: a signal's handler has made the code that it interrupted
 *                call them: the caller is where that was, which need not be behind a call
 *                (STACKD_CFA_INJECTED)
 *   switches     every other function whose flags say that it sets the stack pointer: the path
 *                ends, with a reason of its own (STACKD_END_STACK_SWITCH). So it does where the
 *                code of one of those above is not as expected.
 *   borrows      time.now, nanotime1, walltime, vgetrandom1, racecall, sigfwd, ...: they call C,
 *                mostly on the thread's system stack, with their stack pointer in a register that
 *                C preserves: CFA = that + delta + 8 from there on (STACKD_CFA_OTHER)
 *   vfork        rawVforkSyscall pops its return address into a register, and pushes it again
 *                behind the system call (STACKD_CFA_GOROUTINE)
 *   signal       sigreturn, to which the kernel lets signal handlers return: every register stands
 *                in the kernel's signal frame. Return addresses are looked up by the byte before
 *                them, so its rule begins one byte before it.
 */
#ifndef GO_GO_STACK_H
#define GO_GO_STACK_H

/* What a function of the runtime does to the stack. */
enum go_stack {
	GO_STACK_USUAL,	    /* returns to its caller on the same stack */
	GO_STACK_OUTERMOST, /* has no caller */
	GO_STACK_MCALL,	    /* calls what never returns on the system stack */
	GO_STACK_SYSTEMSTACK,
	GO_STACK_MORESTACK,
	GO_STACK_ASMCGOCALL,
	GO_STACK_CGOCALLBACK,
	GO_STACK_GOGO,
	GO_STACK_SCHEDULER, /* the thread has given its goroutine up */
	GO_STACK_INJECTED,  /* a signal handler has made its caller call it, anywhere */
	GO_STACK_SWITCH,    /* what is above its frame is another stack's */
	GO_STACK_BORROWS,   /* calls C on the thread's stack, with its own pointer in a register */
	GO_STACK_SIGNAL,    /* returns from a signal's handler */
};

/* Tells it by the function's name, with or without the suffix of its ABI. NULL is usual. */
enum go_stack go_stack_of(const char *name);

#endif
