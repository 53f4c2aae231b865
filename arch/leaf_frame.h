/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * The frame of a function that was interrupted, by the instructions around it, for both halves.
 * Where calls leave the return address in a register (ARCH_HAS_LINK), much code has no call frame
 * information for the moments at its start and end, or wrong one. For each processor:
 *
 *   LEAF_FRAME_BEFORE, LEAF_FRAME_WORDS   32-bit words before the program counter, and of all, that
 *                         are looked at
 *   leaf_frame_mend(words, rule)   replaces the rule of the function by the one that the
 *                         instructions prove, if they prove any. Words that cannot be read are 0.
 *                         Returns whether it has done so
 */
#ifndef ARCH_LEAF_FRAME_H
#define ARCH_LEAF_FRAME_H

#include <linux/types.h>
#include <stdbool.h>

#include "stackd_abi.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#if defined(__aarch64__) || defined(__TARGET_ARCH_arm64)
#include "arm64/leaf_frame.h"
#else
#define LEAF_FRAME_BEFORE 0
#define LEAF_FRAME_WORDS  1

/* Proves nothing: no call leaves its return address in a register. */
static __always_inline bool leaf_frame_mend(const __u32 *words, struct stackd_rule *rule)
{
	(void)words, (void)rule;
	return false;
}
#endif

#endif
