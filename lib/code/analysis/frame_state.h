/* SPDX-License-Identifier: MIT */
/*
 * The frame before an instruction: which registers have a known distance from the CFA, and where
 * the caller's values of callee-saved registers are.
 *
 * Distances count from one of two origins: the CFA, or, once the stack pointer has been realigned,
 * the realigned stack. A slot of the realigned stack can hold a value with a known distance from
 * the CFA: then CFA = *(reg + N) + M. Two such slots are followed: the slot that the prologue
 * fills, and a slot to which the function spills the register.
 *
 * Code may take the return address off the stack, and push it again above which there are more or
 * fewer words then: V8's does, before its frame for the arguments of what it calls, and behind it
 * to release its own. From that push on, the CFA is right above the return address where it is now.
 * A copy that code pushes while the return address stays in its slot may be an argument of a call
 * (__builtin_return_address()). The frame begins again once the slot gets another value, while that
 * copy is on top of the stack.
 */
#ifndef ANALYSIS_FRAME_STATE_H
#define ANALYSIS_FRAME_STATE_H

#include <stdbool.h>

#include "analysis/analysis.h"
#include "arch/insn.h"

#define FRAME_HELD_COUNT 2

enum frame_origin {
	FRAME_UNKNOWN,
	FRAME_CFA,
	FRAME_ALIGNED,
	FRAME_RETURN, /* a register has the return address itself, and no distance */
};

struct frame_value {
	int32_t offset;	 /* bytes from the origin; 0 if it is unknown */
	uint32_t origin; /* enum frame_origin */
};

/* No padding, so that states can be compared as bytes. */
struct frame_state {
	struct frame_value reg[INSN_REG_COUNT];
	struct frame_value saved[STACKD_SAVED_COUNT]; /* slots in which they are saved;
						       * FRAME_UNKNOWN: not saved */
	struct frame_value held[FRAME_HELD_COUNT];    /* values in slots of the realigned stack */
	int32_t held_at[FRAME_HELD_COUNT];	      /* offsets of these slots from the realigned
						       * stack */
	struct frame_value copy; /* slot of a copy of the return address; FRAME_UNKNOWN: none */
	uint32_t changed; /* bit i: saved register i may not hold the caller's value; the flags
			   * FRAME_* below are above these bits */
};

/* The frame pointer was set to 0 and not saved. Code marks a frame without a caller in this way
 * (psABI, "The Stack Frame"). */
#define FRAME_BOTTOM (1u << 8)

/* The caller's frame pointer was read, and may be saved at an unknown location. */
#define FRAME_FP_KEPT (1u << 9)

/* A callee-saved register was read before it was written. A whole function does not use its
 * caller's value, so this code is only a part of a function. */
#define FRAME_USED_CALLERS (1u << 10)

/* The stack pointer was read from memory that is not the function's own stack. */
#define FRAME_SP_LOADED (1u << 11)

/* An address in the frame was written outside of it, so the stack pointer can be computed again
 * from there. */
#define FRAME_SP_SHARED (1u << 12)

/* A register was written over the return address. The next return is a jump to its value, as in
 * retpolines, and the caller is not known. */
#define FRAME_HAS_TARGET (1u << 13)

/* The state at a function's first instruction: CFA = the stack pointer + 8. */
void frame_state_init(struct frame_state *ret_state);

/* Sets the state in which nothing is known. */
void frame_state_forget(struct frame_state *ret_state);

/* Forgets the contents of all registers but the stack pointer and the frame pointer, which frames
 * are computed from. */
void frame_state_reduce(struct frame_state *s);

/* Forgets the contents of all registers but the stack pointer, as at a landing pad of
 * exceptions. */
void frame_state_land(struct frame_state *s);

/* Returns whether an instruction leaves the state as it is. false: it may change the state. */
bool frame_state_ignores(const struct frame_state *s, const struct insn *i);

/* Changes the state by an instruction. */
void frame_state_apply(struct frame_state *s, const struct insn *i);

/* Notes that the stack pointer equals a register. Does nothing if that register is not known. */
void frame_state_set_sp(struct frame_state *s, unsigned reg);

/* Returns whether two states have the same frame: the same stack pointer, frame pointer and slots
 * of saved registers. */
bool frame_state_is_same_frame(const struct frame_state *a, const struct frame_state *b);

/* Reduces `into` to what holds in both states. Returns whether it changed. */
bool frame_state_join(struct frame_state *into, const struct frame_state *other);

/* Returns whether the stack pointer is where it was at the function's first instruction, as it must
 * be at a return. */
bool frame_state_is_at_return(const struct frame_state *s);

/* Returns whether another address was written over the return address. */
static inline bool frame_state_has_target(const struct frame_state *s)
{
	return s->changed & FRAME_HAS_TARGET;
}

/* Returns whether the stack pointer is above the return address that a call has pushed. */
static inline bool frame_state_is_above_return(const struct frame_state *s)
{
	return s->reg[INSN_SP].origin == FRAME_CFA && s->reg[INSN_SP].offset > -8;
}

/* Returns whether a frame is set up: the stack pointer is below the return address, or unknown. */
static inline bool frame_state_is_made(const struct frame_state *s)
{
	return s->reg[INSN_SP].origin != FRAME_CFA || s->reg[INSN_SP].offset < -8;
}

/* Returns whether the stack pointer's distance from one of the two origins is known. */
static inline bool frame_state_is_known(const struct frame_state *s)
{
	return s->reg[INSN_SP].origin != FRAME_UNKNOWN;
}

/* Returns whether the stack pointer was loaded from outside of the function's frame, and the
 * function has not saved the old one: then it never returns to its caller. */
bool frame_state_has_left(const struct frame_state *s);

/* Returns the callee-saved registers, a bit for each of STACKD_SAVED_REGS, that do not have their
 * values of the function's start. */
static inline uint32_t frame_state_changed(const struct frame_state *s)
{
	return s->changed & ((1u << STACKD_SAVED_COUNT) - 1);
}

/* Returns the registers, a bit for each of STACKD_SAVED_REGS, that the instruction between the
 * states `before` and `after` has saved. */
uint32_t frame_state_saved_since(const struct frame_state *before, const struct frame_state *after);

/* Returns whether code that ends with a jump can be a whole function: it has read no callee-saved
 * register before writing it, and has left all of them as they were. */
static inline bool frame_state_is_function(const struct frame_state *s)
{
	return !(s->changed & (FRAME_USED_CALLERS | ((1u << STACKD_SAVED_COUNT) - 1)));
}

/* Returns whether an instruction, before it is applied, sets the stack pointer from the frame
 * pointer while the frame pointer is still the caller's. Such code releases a frame that other code
 * had set up before it jumped here, so the code does not begin at a function's start. */
bool frame_state_releases_callers(const struct frame_state *s, const struct insn *i);

/* Returns whether the caller's frame pointer is lost: changed, and not saved at a known
 * location. */
bool frame_state_lost_fp(const struct frame_state *s);

/* Returns whether the frame pointer is saved right below the return address, and points there. */
bool frame_state_is_framed(const struct frame_state *s);

/* Forgets the contents of all registers but the frame pointer, as where other code jumps into a
 * frame. */
void frame_state_enter(struct frame_state *s);

/* Returns whether an instruction, before it is applied, stores into a frame with such a frame
 * pointer: by the frame pointer, to a word below the saved one, and not below the stack pointer if
 * that is known. */
bool frame_state_uses_frame(const struct frame_state *s, const struct insn *i);

/* Returns the register from which the CFA is known, if there is only one such register and it is
 * caller-saved; else INSN_NO_REG. */
unsigned frame_state_lone_register(const struct frame_state *s);

/* Returns the callee-saved register from which the rule computes the CFA, if neither the stack
 * pointer nor the frame pointer gives it; else INSN_NO_REG. */
unsigned frame_state_preserved_base(const struct frame_state *s);

/* Makes the rule of a state; its cfa is STACKD_CFA_END if the code has no caller. Returns false,
 * with the reason in *ret_why, if the state gives no rule. */
bool frame_state_rule(const struct frame_state *s, struct stackd_rule *ret_rule,
		      enum analysis_abstained *ret_why);

#endif
