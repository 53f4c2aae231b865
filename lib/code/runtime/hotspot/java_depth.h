/* SPDX-License-Identifier: MIT */
/*
 * Where the return address is at each instruction of a piece of code that HotSpot has compiled.
 *
 * HotSpot knows the size of a method's frame, but that holds only where its frame is made. So the
 * code is followed from its entries, where the return address is on top of the stack, and each
 * instruction gets the distance of the stack pointer from its place above the return address:
 *
 *   entry: touch the stack's guard page   8
 *          push the frame pointer         8
 *          make the frame                16
 *          ...                           64, as HotSpot says
 *          release the frame             64
 *          pop the frame pointer         16
 *          branch, if a safepoint waits   8, and at its target as well
 *          return                         8
 *
 * An adapter moves arguments between registers and the stack, and jumps to a method. All of its
 * entries have the return address on top of the stack. It pops that into a register, and pushes it
 * again below or above the arguments; another register has the caller's stack pointer.
 *
 * Code of the method that no path leads to is where exceptions are caught, the target of a jump by
 * a table, or behind a call whose code HotSpot still has to fill in. There the frame is made; and
 * the paths from there must agree with all that is known. Code for which anything contradicts this
 * has no depths.
 */
#ifndef HOTSPOT_JAVA_DEPTH_H
#define HOTSPOT_JAVA_DEPTH_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/runtime.h"

#define JAVA_DEPTH_MOST_BYTES (256u << 10) /* of code */

enum java_code_kind {
	JAVA_CODE_METHOD, /* all of it up to `stubs` is one method's */
	JAVA_CODE_STUB, /* it is entered at 0 alone, and returns, or jumps on as if it had not been
			 */
	JAVA_CODE_ADAPTER, /* see below */
};

/* A piece of code. Offsets are bytes from its first one. */
struct java_code {
	const uint8_t *bytes;
	size_t len;
	size_t entry;	      /* where the method begins; code before it is entered at 0 */
	size_t stubs;	      /* from here on are pieces that it calls; len: none */
	uint32_t frame_bytes; /* the depth where the frame is made; 0: of no fixed size */
	enum java_code_kind kind;
};

struct java_depths;

/* Finds the depths. Time and memory are linear in the length, whatever the bytes are. 0; -ENOENT:
 * they are not known; -ENOMEM. */
int java_depths_find(const struct java_code *code, struct java_depths **ret_depths);
void java_depths_free(struct java_depths *depths); /* NULL is fine */

/* Returns the bytes of memory that they take. */
size_t java_depths_bytes(const struct java_depths *depths);

/* Returns the depth at an instruction; .bytes is 0 if it is not known. */
struct runtime_depth java_depths_at(const struct java_depths *depths, size_t offset);

#endif
