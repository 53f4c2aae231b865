/* SPDX-License-Identifier: MIT */
/*
 * Recognises the code with which a method of HotSpot's interpreter (x86-64) begins, and sets up its
 * frame. This code pops its return address to put the local variables above it, so no rule that is
 * derived from its instructions can hold.
 *
 *   ...                                  checks: the return address is on top of the stack
 *   pop %rax
 *   lea -8(%rsp,%rcx,8),%r14             the first argument
 *   test %edx,%edx; jle 2f
 *   1: push $0; dec %edx; jg 1b          local variables: the return address is in rax
 *   2: push %rax
 *   push %rbp; mov %rsp,%rbp
 *   push %r13; push ...; push ...        r13 is the caller's stack pointer
 *
 * A native method has two words in the place of the local variables: push $0; push $0.
 *
 * Before the last push, the frame lacks some words of java_frame.h. A method leaves its frame by
 *
 *   mov -8(%rbp),%rbx                    the caller's stack pointer
 *   leave; pop %r13; mov %rbx,%rsp; ...; jmp *%r13
 *
 * with %rsi or %rdx for an exception, and with %rdi and %r11 if it is native. It calls another one
 * by
 *
 *   push RETURN; lea 8(%rsp),%r13; mov %r13,-16(%rbp); jmp *ENTRY(%rbx)
 *
 * (from 22 on it keeps the distance of r13 from rbp there), which returns to code of the
 * interpreter that takes the registers of the caller's frame from the frame:
 *
 *   mov -16(%rbp),%rsp; movq $0,-16(%rbp); mov -64(%rbp),%r13
 *
 * From 22 on: mov -16(%rbp),%rcx; lea (%rbp,%rcx,8),%rsp; movq ...
 *
 * HotSpot generates the same code in all releases from 8 to 25, except for the encoding of some
 * instructions; the bytes prove the position of an address in this code.
 *
 * Compiled methods begin with mov %eax,-PAGES(%rsp); push %rbp; sub $frame,%rsp.
 */
#ifndef ARCH_JAVA_ENTRY_H
#define ARCH_JAVA_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JAVA_ENTRY_BEFORE 192 /* bytes before an address that are read, */
#define JAVA_ENTRY_AFTER  128 /* and from it on */

/* DWARF's numbers: of rax, and of r13, which has the caller's stack pointer. */
#define JAVA_ENTRY_RETURN_REG 0
#define JAVA_ENTRY_SENDER_REG 13
#define JAVA_ENTRY_SENDER     13 /* its number in instructions */

/* While a method is entered, this register has the method. */
#define JAVA_ENTRY_METHOD_REG 3

/* While a method runs, this register has the address of its bytecode instruction. */
#define JAVA_ENTRY_BYTECODE_REG 13

/* Where a method that has left its frame keeps what it needs to return: DWARF's numbers of the
 * registers with the return address, once that was popped, and with the caller's stack pointer. */
struct java_entry_left {
	uint8_t return_reg, sender_reg;
};

enum java_entry {
	JAVA_ENTRY_NONE,	/* other code */
	JAVA_ENTRY_ON_TOP,	/* the return address is on top of the stack, */
	JAVA_ENTRY_IN_REGISTER, /* in JAVA_ENTRY_RETURN_REG, or */
	JAVA_ENTRY_PUSHED,	/* below rbp, which has just been pushed */
	JAVA_ENTRY_MADE,	/* rbp is the frame's, */
	JAVA_ENTRY_HAS_SENDER,	/* and r13 has been pushed */
	JAVA_ENTRY_LEFT_ON_TOP, /* the frame was left: rbp is the caller's; the return address is on
				 * top of the stack, */
	JAVA_ENTRY_LEFT,	/* or in a register */
	JAVA_ENTRY_CALLS,	/* a method is about to jump to another one: the return address is
				 * on top of the stack, rbp is still the frame's */
	JAVA_ENTRY_RETURNED,	/* a method that was called has returned here; the register has no
				 * bytecode instruction of this frame yet */
};

/* Returns the state of the frame at the instruction code[at]. Most of the JAVA_ENTRY_BEFORE bytes
 * before it and of the JAVA_ENTRY_AFTER bytes from it on are needed. *ret_left is set in the states
 * LEFT_ON_TOP and LEFT. */
enum java_entry java_entry_at(const uint8_t *code, size_t len, size_t at,
			      struct java_entry_left *ret_left);

#define JAVA_ENTRY_POP_BYTES 16

/* Returns how many bytes of arguments the JAVA_ENTRY_POP_BYTES bytes of code at a return address
 * take off the stack first: those that were pushed for the call. */
uint32_t java_entry_popped(const uint8_t *code);

/* Compiled code calls a method that is not compiled through a stub in its own piece of code:
 *
 *   movabs METHOD,%rbx; jmp ENTRY
 *
 * Returns whether code[at] is one of these two instructions. The return address is on top of the
 * stack then. */
bool java_entry_is_call_stub(const uint8_t *code, size_t len, size_t at);

/* Returns whether the JAVA_ENTRY_POP_BYTES bytes of code at a return address begin with
 * mov DISTANCE(%r15),%rsp: the stack pointer is one that the thread has kept. */
bool java_entry_thaws(const uint8_t *code);

/* A method that is not to be entered any more begins with a jump, which HotSpot has written over
 * its first instruction. Returns the distance from its start to its second one; 0: it does not
 * begin so. *ret_is_made: the frame is made there, and the frame pointer not saved; else nothing
 * has happened.
 */
size_t java_entry_is_closed(const uint8_t *code, size_t len, bool *ret_is_made);

#define JAVA_ENTRY_START_BYTES 11

/* Returns whether a compiled method begins with these JAVA_ENTRY_START_BYTES bytes. */
bool java_entry_is_start(const uint8_t *code);

#endif
