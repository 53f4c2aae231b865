/* SPDX-License-Identifier: MIT */
/*
 * Recognises code of HotSpot (x86-64) that chooses a method and jumps to it: the stubs that look a
 * method up in the tables of the receiver's class, and invokeBasic() and its like.
 *
 *   mov DISTANCE(%rax),%rbx              the method, from any address
 *   test %rbx,%rbx; je ...               in some
 *   jmp *ENTRY(%rbx)                     to its compiled code
 *
 * Such code has no frame and no return. But where a method is entered, its return address is on top
 * of the stack, and so it is at each instruction from which a path leads to that jump and keeps the
 * stack.
 */
#ifndef ARCH_JAVA_DISPATCH_H
#define ARCH_JAVA_DISPATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JAVA_DISPATCH_BEFORE 64	 /* bytes before an address that are read, for its loops, */
#define JAVA_DISPATCH_AFTER  192 /* and from it on */

/* Returns whether the instruction code[at] leads to such a jump. */
bool java_dispatch_at(const uint8_t *code, size_t len, size_t at);

#endif
