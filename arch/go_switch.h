/* SPDX-License-Identifier: MIT */
/*
 * Finds how the assembly code of Go's runtime switches stacks. It reads the instructions, since
 * they contain the offsets of members, which differ between versions of Go. If code does not look
 * as expected, nothing is found.
 *
 * A thread runs the runtime's own work on its system stack (that of g0), and leaves the goroutine's
 * stack as it is. systemstack returns from there with the following instructions. Before Go 1.21 it
 * has no frame pointer; in position-independent programs it first loads -8 into a register.
 *
 *     call *%rdi
 *     mov  %fs:-8,%rax       g0           (g of the thread)
 *     mov  0x30(%rax),%rbx   its thread   (g.m)
 *     mov  0xc0(%rbx),%rax   goroutine    (m.curg)
 *     mov  %rax,%fs:-8
 *     mov  0x38(%rax),%rsp   its stack    (g.sched.sp)
 *
 * asmcgocall (since Go 1.22: another function, asmcgocall_landingpad) has the goroutine and the
 * depth of its stack in its frame on the system stack. If it was on a system stack already, it has
 * the stack pointer itself:
 *
 *     call *%rax                               call *%rax
 *     mov  0x30(%rsp),%rdi   goroutine         mov  0x28(%rsp),%rsi
 *     mov  0x8(%rdi),%rsi    g.stack.hi        mov  %rsi,%rsp
 *     sub  0x28(%rsp),%rsi   depth             mov  %eax,0x18(%rsp)
 *     mov  %rdi,%fs:-8                         ret
 *     mov  %rsi,%rsp
 *     mov  %eax,0x18(%rsp)
 *     ret
 *
 * Up to the call, the goroutine's stack pointer is in %rdx.
 *
 * cgocallback returns to the system stack, on which C has called it, and restores the previous
 * value of sched.sp:
 *
 *     mov  %fs:-8,%rbx       g
 *     mov  0x30(%rbx),%rbx   its thread      (g.m)
 *     mov  (%rbx),%rsi       g0              (m.g0)
 *     mov  %rsi,%fs:-8
 *     mov  0x38(%rsi),%rsp   its stack       (g.sched.sp)
 *     mov  (%rsp),%rax       its previous value
 *     mov  %rax,0x38(%rsi)
 *
 * The bytes are hostile: nothing outside of them is read, and the time is linear in their number.
 */
#ifndef ARCH_GO_SWITCH_H
#define ARCH_GO_SWITCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* DWARF's numbers of registers: in which asmcgocall keeps the stack pointer, gogo the goroutine's
 * saved program counter, and rawVforkSyscall the return address. */
#define GO_SWITCH_C_REG	     1	/* rdx */
#define GO_SWITCH_CODE_REG   3	/* rbx */
#define GO_SWITCH_RETURN_REG 12 /* r12 */

/* The offsets by which a thread finds the point at which its goroutine left its stack. */
struct go_goroutine {
	int32_t g;    /* from the thread pointer: the g that the thread runs */
	int16_t m;    /* in a g: its thread */
	int16_t curg; /* in the thread: its goroutine */
	int16_t sp;   /* in a g: sched.sp; sched.pc follows it */
};

/* Addresses in a function, as offsets in its code. */
struct go_switch {
	size_t call; /* the return address of its call */
	size_t back; /* the end of the instruction that sets the stack pointer back to the
		      * goroutine's stack */
};

/* Finds the call by which systemstack runs its argument. Returns false if the code is not as
 * above. */
bool go_switch_systemstack(const uint8_t *code, size_t size, struct go_switch *ret_switch,
			   struct go_goroutine *ret_goroutine);

/* Values that asmcgocall has in its frame, as offsets from the stack pointer. */
struct go_cgo_frame {
	int32_t g;     /* the goroutine; unused if `is_same` */
	int16_t hi;    /* in the goroutine: stack.hi */
	int16_t depth; /* bytes below stack.hi; if `is_same`, the stack pointer itself */
	bool is_same;  /* it was on a system stack before the call, too */
};

/* Finds asmcgocall's first call whose return address is greater than `from`. Returns false if there
 * is none. */
bool go_switch_asmcgocall(const uint8_t *code, size_t size, size_t from,
			  struct go_switch *ret_switch, struct go_cgo_frame *ret_frame);

/* Returns whether asmcgocall has the stack pointer with which it was called in GO_SWITCH_C_REG,
 * from `from` up to the return address `call`. */
bool go_switch_is_in_register(const uint8_t *code, size_t size, size_t from, size_t call);

/* Returns the end of the instructions at `back` with which asmcgocall stores its result and
 * returns; 0: there are none. */
size_t go_switch_return_end(const uint8_t *code, size_t size, size_t back);

/* The offsets by which a thread finds its system stack again after C has called Go. */
struct go_callback {
	int32_t g;     /* from the thread pointer: the g that the thread runs */
	int16_t m;     /* in a g: its thread */
	int16_t g0;    /* in the thread: the g of the system stack */
	int16_t sp;    /* in a g: sched.sp */
	int16_t saved; /* from that stack pointer: the previous value of sched.sp */
};

/* Finds where cgocallback returns to the system stack; ret_switch->call is the start of the
 * instructions above. Returns false if the code is not as above. */
bool go_switch_cgocallback(const uint8_t *code, size_t size, struct go_switch *ret_switch,
			   struct go_callback *ret_callback);

/* Returns whether morestack saves its caller's program counter and stack pointer in this
 * goroutine's sched.pc and sched.sp. */
bool go_switch_morestack(const uint8_t *code, size_t size, const struct go_goroutine *goroutine);

/* The part of gogo that is on a goroutine's stack. From `from` on, the goroutine's pc is in memory
 * at 8 from GO_SWITCH_CODE_REG; from `loaded` to before `end`, it is in that register. */
struct go_gogo {
	size_t from, loaded, end;
};

/* Finds that part of gogo. Returns false if the code is not as expected. */
bool go_switch_gogo(const uint8_t *code, size_t size, struct go_gogo *ret_gogo);

/* Finds the end of the first instruction that sets the stack pointer other than by adding to it: a
 * mov or lea to it, or an and. Bytes inside of other instructions may be mistaken for one, but none
 * is missed. Returns `size` if there is none. */
size_t go_switch_sets_sp(const uint8_t *code, size_t size);

/* Finds the end of the first instruction that copies the stack pointer into r12 or rbx, which C
 * functions preserve, and the register, in DWARF's numbers. 0: there is none. */
size_t go_switch_keeps_sp(const uint8_t *code, size_t size, uint8_t *ret_reg);

#define GO_SWITCH_REACH 16 /* bytes that the next two may read, on either side of `code` */

/* Returns the number of bytes after `code` at which rbp is saved in a frame of `delta` bytes;
 * `code` is the end of the instruction that lowers rsp. Either `mov %rbp,delta-8(%rsp)` follows (to
 * Go 1.20), or that instruction is `push %rbp` itself (since 1.21). -1: neither. */
int go_switch_saves_fp(const uint8_t *code, int32_t delta);

/* Returns whether the instruction right before `code` pops GO_SWITCH_RETURN_REG, which then has a
 * return address. */
bool go_switch_pops_return(const uint8_t *code);

#endif
