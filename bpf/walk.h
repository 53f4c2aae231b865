/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * One step of a walk: from the registers of a frame and the rule for its code address to the
 * registers of its caller. The same source is compiled into the kernel program and into user space
 * (lib/code/unwind/walk_step.h), which adds the rules that struct stackd_rule cannot express. A
 * step depends on the memory and the rule alone. Which rule applies, and where a stack ends, is
 * decided by its callers, the walks.
 *
 * A file that includes this provides the memory:
 *
 *   static int walk_read(struct walk *w, __u64 address, __u64 *ret_word);   0, or 1: unreadable
 *
 * and can define these macros first:
 *
 *   WALK_UNREADABLE(w, rule, address)   the end reason if a word that is needed cannot be read
 *   WALK_IS_LEAN(w)                     0: no walk is lean (see below)
 *   WALK_SAVED_OTHERS(w, rule, base)    calls walk_saved_others(), which few walks need
 *   WALK_KEPT(rule)                     a bit for each caller-saved register that the rule's
 *                                       function preserves (STACKD_KEPT)
 *
 * Registers are in DWARF's numbering; the program counter is separate. After a step, only registers
 * that a caller can rely on (callee-saved ones) are valid; a rule that needs another register ends
 * the walk. For each register, `origin` is the stack slot from which it was restored. The kernel
 * half compares that slot in the next walk, besides return addresses (prefix.bpf.h).
 *
 * The CFA and the return address are read first, so a step that ends the walk has not changed it.
 * If the slot of a saved register cannot be read, the walk continues without its value, which is
 * hardly ever needed. Where calls leave the return address in a register, a frame that was
 * interrupted may still have it there. The caller's stack pointer is above the frame's, so that a
 * walk approaches the end of the stack. (It is the same if the function was interrupted and has
 * popped its return address.) The frame of a signal may lead anywhere, and so may rules of kind
 * OTHER; the limit of frames bounds these walks.
 *
 * Hardly any rule needs another register than the stack and the frame pointer, but most functions
 * save several. So a lean walk restores only the frame pointer. If a rule needs another register,
 * the walk is done again with all of them.
 */
#ifndef WALK_H
#define WALK_H

#include <stdbool.h>

#include "stackd_abi.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#define WALK_REGS (STACKD_REG_COUNT - 1)

#define WALK_ALL_REGS  (~0u >> (32 - WALK_REGS))
#define WALK_LEAN_REGS (1u << STACKD_REG_FP | 1u << STACKD_REG_SP)

/* The register with the return address, if there is one: it is valid where a function was
 * interrupted, and in no frame that has called another one. */
#define WALK_LINK_BIT (ARCH_HAS_LINK ? 1u << (STACKD_REG_LINK & (WALK_REGS - 1)) : 0u)

#ifndef WALK_UNREADABLE
#define WALK_UNREADABLE(w, rule, address) STACKD_END_UNREADABLE
#endif
#ifndef WALK_IS_LEAN
#define WALK_IS_LEAN(w) ((w)->is_lean)
#endif
#ifndef WALK_SAVED_OTHERS
#define WALK_SAVED_OTHERS(w, rule, base) walk_saved_others(w, rule, base)
#endif
#ifndef WALK_KEPT
#define WALK_KEPT(rule) 0u
#endif

struct walk_origin {
	__u64 slot;  /* address of the stack slot; 0: the register has not been restored yet */
	__u32 frame; /* number of the frame that saved it, counted from the leaf */
	__u32 pad;
};

struct walk {
	__u64 r[WALK_REGS];
	struct walk_origin origin[WALK_REGS];
	__u64 pc;
	__u64 slot;	  /* address from which the pc was read; 0 for the leaf */
	__u64 deref;	  /* the slot from which the last step read the CFA; 0: none */
	__u64 deref_word; /* the word in that slot */
	/* the stack pointer with which the Go thread left its system stack at the callback before
	 * the last one that the walk has met; 0: it has met none */
	__u64 system_sp;
	__u32 valid;	    /* a bit for each register whose value is known */
	__u32 is_exact;	    /* the frame was interrupted at the pc, which is no return address */
	__u32 frame;	    /* number of the frame, counted from the leaf */
	__u32 is_lean;	    /* only the frame pointer is restored */
	__u32 is_scheduler; /* the walk has met a frame of Go's scheduler (STACKD_CFA_SCHEDULER) */
	__u32 has_left;	    /* the walk has stepped from a thread's stack to its goroutine's
			     * stack, by g */
	union {
		__u32 extras; /* either is set */
		struct {
			__u16 is_once; /* the walk has used words that marks do not cover, so it
					* must not be remembered */
			__u16 managed; /* enum managed_state (managed.bpf.h) */
		};
	};
};

/* Results of a step other than an end reason. */
#define WALK_GO_ON 255
/* walk again from the leaf, with all registers, since a lean walk lacks one */
#define WALK_AGAIN 254

static __always_inline int walk_read(struct walk *w, __u64 address, __u64 *ret_word);

static __always_inline int walk_is_valid(const struct walk *w, __u32 reg)
{
	return w->valid >> (reg & (WALK_REGS - 1)) & 1;
}

/* Invalidates the registers that are not preserved across a call, except those in `kept`. */
static __always_inline void walk_keep(struct walk *w, __u32 kept)
{
	w->valid &= WALK_IS_LEAN(w) ? WALK_LEAN_REGS : ARCH_PRESERVED_REGS | kept;
}

/* Moves the walk to the caller, whose pc was read from `slot`. */
static __always_inline void walk_arrive(struct walk *w, __u64 sp, __u64 pc, __u64 slot,
					bool is_exact)
{
	w->r[STACKD_REG_SP] = sp;
	w->pc = pc;
	w->slot = slot;
	w->is_exact = is_exact;
	w->frame++;
}

/* Restores a register from a slot. Returns 0, or 1 if the slot cannot be read. */
static __always_inline int walk_restore(struct walk *w, __u32 reg, __u64 slot)
{
	__u64 word;

	reg &= WALK_REGS - 1;
	if (walk_read(w, slot, &word))
		return 1;
	w->r[reg] = word;
	w->origin[reg].slot = slot;
	w->origin[reg].frame = w->frame;
	w->valid |= 1u << reg;
	return 0;
}

/* Restores a register that a rule says was saved. If the slot cannot be read, the register is not
 * valid any more; but if the slot is below the stack pointer, the register was popped and has its
 * value back, which compilers do not describe in epilogues. */
static __always_inline void walk_restore_saved(struct walk *w, __u32 reg, __u64 slot)
{
	if (walk_restore(w, reg, slot) && slot >= w->r[STACKD_REG_SP])
		w->valid &= ~(1u << reg);
}

/* Steps from the frame of a signal to the interrupted function, by a rule of kind SIGNAL. Returns
 * WALK_GO_ON, or an end reason. */
static __always_inline int walk_signal(struct walk *w, __s32 cfa_offset)
{
	__u64 at = w->r[STACKD_REG_SP] + (__u64)(__s64)cfa_offset;
	__u64 pc_slot = at + 8 * WALK_REGS, sp_slot = at + 8 * ARCH_SIGCONTEXT_SP;
	__u64 pc, sp;

	if (walk_read(w, pc_slot, &pc))
		return WALK_UNREADABLE(w, NULL, pc_slot);
	if (walk_read(w, sp_slot, &sp))
		return WALK_UNREADABLE(w, NULL, sp_slot);
	for (__u32 i = 0; i < WALK_REGS; i++) {
		__u32 reg = ARCH_SIGCONTEXT_REG(i);

		if (walk_restore(w, reg, at + 8 * i))
			w->valid &= ~(1u << (reg & (WALK_REGS - 1)));
	}
	w->deref = sp_slot; /* the caller's frame depends on it */
	w->deref_word = sp;
	walk_arrive(w, sp, pc, pc_slot, true);
	return WALK_GO_ON;
}

/* Computes the CFA by a rule. Returns 0, or an end reason. */
static __always_inline int walk_cfa(struct walk *w, const struct stackd_rule *rule, __u64 *ret_cfa)
{
	__u32 reg = rule->cfa == STACKD_CFA_PLT ? STACKD_REG_SP : rule->reg & (WALK_REGS - 1);
	__u64 cfa = w->r[reg] + (__u64)(__s64)rule->cfa_offset;

	if (!walk_is_valid(w, reg))
		return WALK_IS_LEAN(w) ? WALK_AGAIN : STACKD_END_BAD_RECIPE;
	w->deref = 0;
	if (rule->cfa == STACKD_CFA_DEREF) {
		w->deref = cfa;
		if (walk_read(w, cfa, &w->deref_word))
			return WALK_UNREADABLE(w, rule, cfa);
		cfa = w->deref_word + (__u64)(__s64)rule->cfa_add;
	} else if (rule->cfa == STACKD_CFA_PLT) {
		cfa += (w->pc & 15) >= (__u64)rule->cfa_add ? 8 : 0;
	}
	*ret_cfa = cfa;
	return 0;
}

/* The values from which the slots of saved registers are computed. */
struct walk_base {
	__u64 cfa, reg; /* the CFA; the register of STACKD_SAVED_REG() */
	bool has_reg;
};

/* Restores callee-saved register `index` of STACKD_SAVED_REGS, if a rule says that this frame saved
 * it. */
static __always_inline void walk_saved_one(struct walk *w, const struct stackd_rule *rule,
					   __u32 index, __u32 reg, struct walk_base base)
{
	__u64 distance = (__u64)(__s64)rule->saved[index];

	if (!(rule->saved_via_reg >> index & 1)) {
		if (rule->saved[index])
			walk_restore_saved(w, reg, base.cfa + distance);
	} else if (base.has_reg) {
		walk_restore_saved(w, reg, base.reg + distance);
	} else {
		w->valid &= ~(1u << reg);
	}
}

/* Restores all of them but the first, which is the frame pointer. */
static __always_inline void walk_saved_others(struct walk *w, const struct stackd_rule *rule,
					      struct walk_base base)
{
	__u32 i = 0;

#define WALK_X(name, number)                                                                       \
	if (i)                                                                                     \
		walk_saved_one(w, rule, i, number, base);                                          \
	i++;
	STACKD_SAVED_REGS(WALK_X)
#undef WALK_X
}

/* Restores the callee-saved registers that a rule says this frame saved. */
static __always_inline void walk_saved(struct walk *w, const struct stackd_rule *rule, __u64 cfa)
{
	struct walk_base base = {
		.cfa = cfa,
		.reg = w->r[STACKD_SAVED_REG(rule)],
		.has_reg = walk_is_valid(w, STACKD_SAVED_REG(rule)),
	};

	walk_saved_one(w, rule, 0, STACKD_REG_FP, base);
	if (!WALK_IS_LEAN(w))
		WALK_SAVED_OTHERS(w, rule, base);
}

/* Returns whether the CFA is possible for the walk's frame: above its stack pointer or, if the
 * frame was interrupted, at it. */
static __always_inline bool walk_rises(const struct walk *w, __u64 cfa)
{
	return cfa > w->r[STACKD_REG_SP] || (cfa == w->r[STACKD_REG_SP] && w->is_exact);
}

/* Reads the return address, by a rule, and gives its slot; 0: it is in a register of the leaf's.
 * Returns 0, or an end reason. */
static __always_inline int walk_return(struct walk *w, const struct stackd_rule *rule, __u64 cfa,
				       __u64 *ret_pc, __u64 *ret_slot)
{
	__u64 slot = cfa + (__u64)(__s64)rule->ra_offset;

	*ret_slot = slot;
	if (ARCH_HAS_LINK && !rule->ra_offset) {
		if (!w->is_exact || !(w->valid & WALK_LINK_BIT))
			return STACKD_END_BAD_RECIPE;
		*ret_slot = w->origin[STACKD_REG_LINK & (WALK_REGS - 1)].slot;
		*ret_pc = ARCH_CODE_ADDRESS(w->r[STACKD_REG_LINK & (WALK_REGS - 1)]);
		return 0;
	}
	if (walk_read(w, slot, ret_pc))
		return WALK_UNREADABLE(w, rule, slot);
	*ret_pc = ARCH_CODE_ADDRESS(*ret_pc);
	return 0;
}

/* Steps to the caller out of a frame that is not a signal's, by a rule of kind REG, DEREF, PLT,
 * OTHER, SCHEDULER, INJECTED or EVAL. Returns WALK_GO_ON, or an end reason with the walk unchanged;
 * from a lean walk also WALK_AGAIN. */
static __always_inline int walk_step_plain(struct walk *w, const struct stackd_rule *rule)
{
	__u64 cfa = 0, pc = 0, slot;
	int end;

	end = walk_cfa(w, rule, &cfa);
	if (end)
		return end;
	if (!walk_rises(w, cfa) && rule->cfa != STACKD_CFA_OTHER)
		return STACKD_END_NO_PROGRESS;
	if (WALK_IS_LEAN(w) && rule->saved_via_reg && !walk_is_valid(w, rule->saved_reg))
		return WALK_AGAIN;
	end = walk_return(w, rule, cfa, &pc, &slot);
	if (end)
		return end;
	if (rule->cfa == STACKD_CFA_SCHEDULER)
		w->is_scheduler = 1;
	walk_saved(w, rule, cfa);
	walk_keep(w, WALK_KEPT(rule));
	walk_arrive(w, cfa, pc, slot, rule->cfa == STACKD_CFA_INJECTED);
	return WALK_GO_ON;
}

/* Steps to the caller by a rule of any kind. Returns as walk_step_plain(). For kinds that need more
 * than the stack, or DWARF expressions, it returns an end reason; the kernel half (runtime.bpf.h)
 * and user space handle these kinds themselves. */
static __always_inline int walk_step(struct walk *w, const struct stackd_rule *rule)
{
	switch (rule->cfa) {
	case STACKD_CFA_NONE:
		return STACKD_END_NO_RECIPE;
	case STACKD_CFA_END:
		return STACKD_END_ENTRY;
	case STACKD_CFA_DAEMON:
		return STACKD_END_BAD_RECIPE;
	case STACKD_CFA_SIGNAL:
		return walk_signal(w, rule->cfa_offset);
	case STACKD_CFA_SWITCH:
	case STACKD_CFA_GOROUTINE:
	case STACKD_CFA_DEPTH:
	case STACKD_CFA_CALLBACK:
		return STACKD_END_STACK_SWITCH;
	}
	return walk_step_plain(w, rule);
}

#endif
