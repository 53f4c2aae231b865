/* SPDX-License-Identifier: MIT */
/*
 * Frames of HotSpot's interpreter, which runs Java methods that are not compiled.
 *
 * The interpreter calls by a jump: it pushes an address of its own to return to, which follows no
 * call. The layout of its frames tells instead whether that is a return address:
 *
 *   fp + 8   return address
 *   fp       caller's frame pointer
 *   fp - 8   sender_sp: the caller's stack pointer when it called
 *   fp - 16  last_sp: the own stack pointer, while a method that it has called runs; else 0
 *   fp - 56  address of the first local variable, which is between these and the caller's frame
 *   fp - 72  address of the bottom of the method's own stack: of this word, but for monitors
 *
 * So last_sp of the caller is right above the return address and the called method's arguments, and
 * is sender_sp of a callee that is interpreted, too.
 *
 * Compiled methods have frames as the instructions say. They begin with a store far below the stack
 * pointer, by which the stack's guard pages are found before the frame is made
 * (arch/java_entry.h).
 */
#ifndef HOTSPOT_JAVA_FRAME_H
#define HOTSPOT_JAVA_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stack/walk_memory.h"

/* Whether the frame at `fp` is one of the interpreter that waits for the return address in `slot`.
 * Then gives its last_sp. */
bool java_frame_waits(const struct walk_memory *memory, uint64_t fp, uint64_t slot,
		      uint64_t *ret_last_sp);

/* Whether the frame at `fp` can be one of the interpreter, called by one whose last_sp was
 * `sender_sp`. `waits`: it has called a method itself. */
bool java_frame_is_called(const struct walk_memory *memory, uint64_t fp, uint64_t sender_sp,
			  bool waits);

/* Whether the frame at `fp` is one of the interpreter, by all that is known of it. Then gives its
 * sender_sp: where its caller is compiled, arguments were moved to the stack above the frame. */
bool java_frame_sender(const struct walk_memory *memory, uint64_t fp, uint64_t *ret_sender_sp);

/* Whether the frame at `fp` is one of the interpreter whose method runs right now, rather than one
 * that it has called: code that is interrupted with such a frame pointer has it for its frame. */
bool java_frame_runs(const struct walk_memory *memory, uint64_t fp, uint64_t sp);

/* Finds where compiled methods begin in the `len` bytes of code at `address`, at most `max` of
 * them; their number. */
size_t java_frame_starts(const uint8_t *code, size_t len, uint64_t address, uint64_t *ret_starts,
			 size_t max);

#endif
