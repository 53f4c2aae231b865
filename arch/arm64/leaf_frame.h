/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * The frame at an interrupted instruction of arm64; see ../leaf_frame.h.
 *
 * Ahead: if only instructions that release the frame are between the program counter and a return,
 * they say where the return address is, and the caller's stack and frame pointer, whatever call
 * frame information says (clang up to 14 describes no end of a function):
 *
 *   mov sp, x29 · add sp, sp, #N · ldp/ldr ..., [sp], #N · ldp/ldr ..., [sp, #N] · autiasp · ret
 *
 * Behind: if a function is at its start by its rule, but the instructions before have lowered the
 * stack pointer, they say by how much (clang 14 has one row for all of a function's start). The
 * return address is still in the link register.
 *
 * The linkage table: adrp x16; ldr x17; add x16; br x17. Its first entry has pushed x16 and x30
 * before (PLT0), and so has done what precedes the dynamic linker's _dl_runtime_resolve.
 *
 * A program's _start clears x29 and x30 behind its mark, where its call frame information begins to
 * say that there is no caller.
 */
#ifndef ARCH_ARM64_LEAF_FRAME_H
#define ARCH_ARM64_LEAF_FRAME_H

#define LEAF_FRAME_BEFORE 8
#define LEAF_FRAME_WORDS  20

#define LEAF_NOP     0xd503201fu
#define LEAF_BTI_C   0xd503245fu
#define LEAF_PUSH    0xa9bf7bf0u /* stp x16, x30, [sp, #-16]! */
#define LEAF_RESOLVE 0xa9b327e8u /* stp x8, x9, [sp, #-208]!, of _dl_runtime_resolve */
#define LEAF_NO_FP   0xd280001du /* mov x29, #0 */
#define LEAF_NO_LINK 0xd280001eu /* mov x30, #0 */
#define LEAF_NONE    (-32768)	 /* no slot */

/* What the instructions ahead do: distances from the register `base`. */
struct leaf_ahead {
	__s32 sp, link, fp;
	__u32 base;
};

/* Returns the signed number of an instruction that has `bits` bits from bit `at` on. */
static __always_inline __s32 leaf_number(__u32 word, __u32 at, __u32 bits)
{
	return (__s32)(word << (32 - at - bits)) >> (32 - bits);
}

/* Notes that a register is loaded from a slot. */
static __always_inline void leaf_load(struct leaf_ahead *a, __u32 reg, __s32 slot)
{
	if (reg == STACKD_REG_LINK)
		a->link = slot;
	if (reg == STACKD_REG_FP)
		a->fp = slot;
}

/* Follows one instruction that releases a frame. Returns false if it is another one. */
static __always_inline bool leaf_follow(struct leaf_ahead *a, __u32 word)
{
	__s32 pair = leaf_number(word, 15, 7) * 8;
	__u32 reg = word & 31, second = word >> 10 & 31;

	if (word == 0x910003bf) { /* mov sp, x29 */
		if (a->base != STACKD_REG_SP || a->fp != LEAF_NONE || a->link != LEAF_NONE)
			return false;
		a->base = STACKD_REG_FP;
		a->sp = 0;
		return true;
	}
	if ((word & 0xff8003ff) == 0x910003ff) { /* add sp, sp, #N */
		a->sp += (__s32)(word >> 10 & 0xfff) << (word >> 22 & 1 ? 12 : 0);
		return true;
	}
	if ((word & 0xffc003e0) == 0xa8c003e0) { /* ldp x, x, [sp], #N */
		leaf_load(a, reg, a->sp);
		leaf_load(a, second, a->sp + 8);
		a->sp += pair;
		return true;
	}
	if ((word & 0xffc003e0) == 0xa94003e0) { /* ldp x, x, [sp, #N] */
		leaf_load(a, reg, a->sp + pair);
		leaf_load(a, second, a->sp + pair + 8);
		return true;
	}
	if ((word & 0xffe00fe0) == 0xf84007e0) { /* ldr x, [sp], #N */
		leaf_load(a, reg, a->sp);
		a->sp += leaf_number(word, 12, 9);
		return true;
	}
	if ((word & 0xffc003e0) == 0xf94003e0) { /* ldr x, [sp, #N] */
		leaf_load(a, reg, a->sp + (__s32)(word >> 10 & 0xfff) * 8);
		return true;
	}
	if ((word & 0xffc003e0) == 0x6cc003e0) { /* ldp d, d, [sp], #N */
		a->sp += pair;
		return true;
	}
	return (word & 0xffc003e0) == 0x6d4003e0 ||		  /* ldp d, d, [sp, #N] */
	       word == LEAF_NOP || (word & ~0x40u) == 0xd50323bf; /* autiasp, autibsp */
}

/* Returns whether an instruction is ret, retaa or retab. */
static __always_inline bool leaf_returns(__u32 word)
{
	return word == 0xd65f03c0 || word == 0xd65f0bff || word == 0xd65f0fff;
}

/* Returns by how many bytes an instruction of a function's start lowers the stack pointer; 0: it
 * only stores below it, or sets the frame pointer; -1: it is another one. */
static __always_inline __s32 leaf_lowers(__u32 word)
{
	if ((word & 0xffc003e0) == 0xa98003e0 || (word & 0xffc003e0) == 0x6d8003e0)
		return -leaf_number(word, 15, 7) * 8; /* stp ..., [sp, #-N]! */
	if ((word & 0xffe00fe0) == 0xf8000fe0)
		return -leaf_number(word, 12, 9); /* str x, [sp, #-N]! */
	if ((word & 0xff8003ff) == 0xd10003ff)
		return (__s32)(word >> 10 & 0xfff) << (word >> 22 & 1 ? 12 : 0);
	return (word & 0xffc003e0) == 0xa90003e0 || (word & 0xffc003e0) == 0x6d0003e0 ||
			       (word & 0xffc003e0) == 0xf90003e0 ||
			       (word & 0xff8003ff) == 0x910003fd
		       ? 0
		       : -1;
}

/* Returns whether an instruction is one of a stub of the linkage table. */
static __always_inline bool leaf_is_stub(__u32 word)
{
	return (word & 0x9f00001f) == 0x90000010 || (word & 0xffc003ff) == 0xf9400211 ||
	       (word & 0xffc003ff) == 0x91000210 || word == 0xd61f0220;
}

/* Makes the rule of a function that has the return address in the link register. */
static __always_inline void leaf_in_link(struct stackd_rule *rule, __s32 size)
{
	__builtin_memset(rule, 0, sizeof(*rule));
	rule->cfa = STACKD_CFA_REG;
	rule->reg = STACKD_REG_SP;
	rule->cfa_offset = size;
}

/* Returns whether a rule can say this: slots are below the CFA, and distances are short. */
static __always_inline bool leaf_fits(const struct leaf_ahead *a)
{
	return a->sp >= 0 && a->sp < -LEAF_NONE && (a->link == LEAF_NONE || a->link < a->sp) &&
	       (a->fp == LEAF_NONE || a->fp < a->sp);
}

/* Makes the rule of what the instructions ahead do. */
static __always_inline void leaf_as_ahead(struct stackd_rule *rule, const struct leaf_ahead *a)
{
	leaf_in_link(rule, a->sp);
	rule->reg = a->base;
	if (a->link != LEAF_NONE)
		rule->ra_offset = (__s16)(a->link - a->sp);
	if (a->fp != LEAF_NONE)
		rule->saved[0] = (__s16)(a->fp - a->sp);
}

/* Follows the instructions ahead to a return. Returns whether they lead to one. */
static __always_inline bool leaf_look_ahead(const __u32 *words, struct leaf_ahead *a)
{
	for (int i = LEAF_FRAME_BEFORE; i < LEAF_FRAME_WORDS; i++) {
		if (leaf_returns(words[i]))
			return true;
		if (!leaf_follow(a, words[i]))
			return false;
	}
	return false;
}

/* Returns by how much the instructions right before have lowered the stack pointer. */
static __always_inline __s32 leaf_look_behind(const __u32 *words)
{
	__s32 size = 0;

	for (int i = LEAF_FRAME_BEFORE - 1; i >= 0; i--) {
		__s32 lowers = leaf_lowers(words[i]);

		if (lowers < 0)
			break;
		size += lowers;
	}
	return size;
}

/* As ../leaf_frame.h says. */
static __always_inline bool leaf_frame_mend(const __u32 *words, struct stackd_rule *rule)
{
	struct leaf_ahead a = {.link = LEAF_NONE, .fp = LEAF_NONE, .base = STACKD_REG_SP};
	const __u32 at = words[LEAF_FRAME_BEFORE];
	__s32 size;

	if (rule->cfa != STACKD_CFA_REG && rule->cfa != STACKD_CFA_NONE)
		return false;
	if ((at == LEAF_NOP || at == LEAF_BTI_C) && words[LEAF_FRAME_BEFORE + 1] == LEAF_RESOLVE) {
		leaf_in_link(rule, 16);
		return true;
	}
	if (at == LEAF_NOP || at == LEAF_BTI_C) {
		if (words[LEAF_FRAME_BEFORE + 1] == LEAF_NO_FP &&
		    words[LEAF_FRAME_BEFORE + 2] == LEAF_NO_LINK) {
			leaf_in_link(rule, 0);
			rule->cfa = STACKD_CFA_END;
			return true;
		}
	}
	if (leaf_look_ahead(words, &a) && leaf_fits(&a)) {
		leaf_as_ahead(rule, &a);
		return true;
	}
	if (rule->cfa == STACKD_CFA_NONE) {
		if (at != LEAF_PUSH && !leaf_is_stub(at))
			return false;
		size = 0;
		for (int i = LEAF_FRAME_BEFORE - 4; i < LEAF_FRAME_BEFORE; i++)
			size = words[i] == LEAF_PUSH ? 16 : leaf_is_stub(words[i]) ? size : 0;
		leaf_in_link(rule, size);
		return true;
	}
	if (rule->reg != STACKD_REG_SP || rule->cfa_offset || rule->ra_offset)
		return false;
	size = leaf_look_behind(words);
	if (!size)
		return false;
	leaf_in_link(rule, size);
	return true;
}

#endif
