/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * Evaluates the indirect call before a return address, for both halves, to find out whether it has
 * led to where the thread is now. While nothing has been executed since, the registers are those of
 * the call. For each processor:
 *
 *   CALL_SOURCE_KNOWN   0: no call is evaluated
 *   CALL_SOURCE_BYTES   bytes before a return address that are looked at, at most
 *   CALL_SOURCE_ROOM    bytes of the array that holds them
 *   CALL_SOURCE_FORMS   forms that a call in them can have
 *   call_source(code, form, r, ra, ret_value, ret_is_address)
 *                       whether the CALL_SOURCE_BYTES bytes before `ra` end in an indirect call of
 *                       this form. Gives its target by the registers `r` (in DWARF's numbers, as
 *                       they are behind the call), or the address of the word with the target
 *   jump_source()       the same for an indirect jump; `ra` is the address behind it
 *   call_target(code, ra, ret_target)
 *                       whether they end in a direct call, and of what
 *
 * A function that is called directly may go on with an indirect jump (a tail call, or a PLT stub).
 * Such a jump is looked for in the JUMP_BYTES bytes from the function's start on, as far as
 * jump_source_is_behind() does not say that a return is before the last byte.
 */
#ifndef ARCH_CALL_SOURCE_H
#define ARCH_CALL_SOURCE_H

#include <linux/types.h>
#include <stdbool.h>

#include "arch.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#define JUMP_BYTES 64

#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#include "x86_64/call_source.h"
#else
/* A processor that has no such file: no call is evaluated, so none confirms anything. */
#define CALL_SOURCE_KNOWN 0
#define CALL_SOURCE_BYTES 8
#define CALL_SOURCE_ROOM  16
#define CALL_SOURCE_FORMS 1

/* Gives none: see above. */
static __always_inline bool call_source(const __u8 *code, __u32 form, const __u64 *r, __u64 ra,
					__u64 *ret_value, bool *ret_is_address)
{
	(void)code, (void)form, (void)r, (void)ra;
	*ret_value = 0;
	*ret_is_address = false;
	return false;
}

/* Gives none: see above. */
static __always_inline bool jump_source(const __u8 *code, __u32 form, const __u64 *r, __u64 next,
					__u64 *ret_value, bool *ret_is_address)
{
	return call_source(code, form, r, next, ret_value, ret_is_address);
}

/* Gives none: see above. */
static __always_inline bool jump_source_is_behind(const __u8 *code)
{
	(void)code;
	return true;
}

/* Gives none: see above. */
static __always_inline bool call_target(const __u8 *code, __u64 ra, __u64 *ret_target)
{
	(void)code;
	*ret_target = ra;
	return false;
}
#endif

#endif
