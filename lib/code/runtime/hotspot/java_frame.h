/* SPDX-License-Identifier: MIT */
/*
 * Frames of HotSpot's interpreter, which runs Java methods that are not compiled.
 *
 * The interpreter calls by a jump: it pushes an address in the interpreter as the return address,
 * which follows no call. So the usual check for a call does not work. Instead, the layout of a
 * frame shows whether that word is a return address:
 *
 *   fp + 8   return address
 *   fp       caller's frame pointer
 *   fp - 8   sender_sp: the caller's stack pointer when it called
 *   fp - 16  last_sp: the frame's stack pointer, while a method that it has called runs; else 0
 *   fp - 56  address of the first local variable, which is between these and the caller's frame
 *   fp - 72  address of the bottom of the method's operand stack: of this word, but for monitors
 *
 * From 21 on the locals, and from 22 on all words but sender_sp, are distances from fp, in words.
 *
 * So the caller's last_sp is right above the return address and the called method's arguments, and
 * equals the sender_sp of an interpreted callee.
 *
 * Instructions show the frames of compiled methods. Compiled methods begin with a store far below
 * the stack pointer, which touches the stack's guard pages before the frame is set up
 * (arch/java_entry.h).
 */
#ifndef HOTSPOT_JAVA_FRAME_H
#define HOTSPOT_JAVA_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stack/walk_memory.h"

/* Returns whether the frame at `fp` is an interpreter's frame that has called the function whose
 * return address is in `slot`. Then gives the frame's last_sp. */
bool java_frame_waits(const struct walk_memory *memory, uint64_t fp, uint64_t slot,
		      uint64_t *ret_last_sp);

/* Returns whether the frame at `fp` can be an interpreter's frame that a frame with the last_sp
 * `sender_sp` has called. `waits`: it has itself called a method. */
bool java_frame_is_called(const struct walk_memory *memory, uint64_t fp, uint64_t sender_sp,
			  bool waits);

/* Returns whether the frame at `fp` can be an interpreter's frame, whoever has called it. Of a
 * frame that was made of a compiled one's, sender_sp can be too low by some words, unless it is the
 * outermost of these. */
bool java_frame_is(const struct walk_memory *memory, uint64_t fp);

/* Returns whether the frame at `fp` is an interpreter's frame, by all known properties. Then gives
 * its sender_sp, the caller's stack pointer: if the caller is compiled, arguments were moved to the
 * stack above the frame. */
bool java_frame_sender(const struct walk_memory *memory, uint64_t fp, uint64_t *ret_sender_sp);

/* Returns whether the frame at `fp` is an interpreter's frame whose method was running itself, not
 * a method that it has called, when the thread was interrupted with these values of fp and sp. */
bool java_frame_runs(const struct walk_memory *memory, uint64_t fp, uint64_t sp);

/* Finds the starts of compiled methods in the `len` bytes of code at `address`, at most `max`.
 * Returns their number. */
size_t java_frame_starts(const uint8_t *code, size_t len, uint64_t address, uint64_t *ret_starts,
			 size_t max);

#endif
