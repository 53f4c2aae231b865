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
 * Before the last push, the frame lacks some words of java_frame.h. It also lacks one where a
 * method returns to the interpreter, which takes its stack pointer from the frame:
 *
 *   mov -16(%rbp),%rsp; movq $0,-16(%rbp)
 *
 * HotSpot generates the same code in all releases from 8 to 21, except for the encoding of some
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

/* While a method runs, this register has the address of its bytecode instruction. */
#define JAVA_ENTRY_BYTECODE_REG 13

enum java_entry {
	JAVA_ENTRY_NONE,	/* other code */
	JAVA_ENTRY_ON_TOP,	/* the return address is on top of the stack, */
	JAVA_ENTRY_IN_REGISTER, /* in JAVA_ENTRY_RETURN_REG, or */
	JAVA_ENTRY_PUSHED,	/* below rbp, which has just been pushed */
	JAVA_ENTRY_MADE,	/* rbp is the frame's, */
	JAVA_ENTRY_HAS_SENDER,	/* and r13 has been pushed */
};

/* Returns the state of the frame at the instruction code[at]. Most of the JAVA_ENTRY_BEFORE bytes
 * before it and of the JAVA_ENTRY_AFTER bytes from it on are needed. */
enum java_entry java_entry_at(const uint8_t *code, size_t len, size_t at);

#define JAVA_ENTRY_START_BYTES 11

/* Returns whether a compiled method begins with these JAVA_ENTRY_START_BYTES bytes. */
bool java_entry_is_start(const uint8_t *code);

#endif
