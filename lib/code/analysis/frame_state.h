/* SPDX-License-Identifier: MIT */
/*
 * The frame before an instruction: which registers have a known distance from the CFA, and where
 * the caller's values of callee-saved registers are.
 *
 * There are two origins for distances: the CFA, and, from a realignment of the stack pointer on,
 * the realigned stack. A slot of the latter can hold a value of the former: then CFA = *(reg + N) +
 * M. Two such slots are followed: that of the prologue, and one that a function spills the register
 * to.
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
};

struct frame_value {
	int32_t offset;	 /* bytes from the origin; 0 where it is unknown */
	uint32_t origin; /* enum frame_origin */
};

/* No padding, so that states can be compared as bytes. */
struct frame_state {
	struct frame_value reg[INSN_REG_COUNT];
	struct frame_value saved[STACKD_SAVED_COUNT]; /* slots; unknown: none */
	struct frame_value held[FRAME_HELD_COUNT];    /* values of slots of the realigned stack, */
	int32_t held_at[FRAME_HELD_COUNT];	      /* which are there */
	uint32_t changed; /* bit i: saved register i may not hold the caller's value;
			   * and the flags below */
};

/* The frame pointer was set to 0 and not saved: by this, code says that it has no caller (psABI,
 * "The Stack Frame"). */
#define FRAME_BOTTOM (1u << 8)

/* The caller's frame pointer was read, and may be kept in a place that is not known. */
#define FRAME_FP_KEPT (1u << 9)

/* A register that functions preserve was used before anything was written to it: functions have no
 * use for what their callers keep there, but parts of functions do. */
#define FRAME_USED_CALLERS (1u << 10)

/* The stack pointer was read from memory that is not the function's own stack. */
#define FRAME_SP_LOADED (1u << 11)

/* The address of something in the frame was written outside of it, so that the stack pointer can be
 * loaded again from what was made of it. */
#define FRAME_SP_SHARED (1u << 12)

/* The state at a function's first instruction: CFA = the stack pointer + 8. */
void frame_state_init(struct frame_state *ret_state);

/* The state in which nothing is known. */
void frame_state_forget(struct frame_state *ret_state);

/* Forgets what registers hold, but for the stack pointer and the frame pointer, from which frames
 * are computed. */
void frame_state_reduce(struct frame_state *s);

/* Forgets what all registers but the stack pointer hold: an exception leads here. */
void frame_state_land(struct frame_state *s);

/* Whether an instruction leaves the state as it is; false: it may not. */
bool frame_state_ignores(const struct frame_state *s, const struct insn *i);

/* Changes the state by an instruction. */
void frame_state_apply(struct frame_state *s, const struct insn *i);

/* The stack pointer is known to be equal to a register; nothing changes where that is not known. */
void frame_state_set_sp(struct frame_state *s, unsigned reg);

/* Whether two states are of the same frame: the same is known of the stack pointer and the frame
 * pointer, and of where registers are saved. */
bool frame_state_is_same_frame(const struct frame_state *a, const struct frame_state *b);

/* Reduces `into` to what holds in both states. Returns whether it changed. */
bool frame_state_join(struct frame_state *into, const struct frame_state *other);

/* Whether the stack pointer is at its distance of a function's first instruction. */
bool frame_state_is_at_return(const struct frame_state *s);

/* Whether the stack pointer is above the return address that a call has pushed. */
static inline bool frame_state_is_above_return(const struct frame_state *s)
{
	return s->reg[INSN_SP].origin == FRAME_CFA && s->reg[INSN_SP].offset > -8;
}

/* Whether a frame is made: the stack pointer is below the return address, or somewhere else. */
static inline bool frame_state_is_made(const struct frame_state *s)
{
	return s->reg[INSN_SP].origin != FRAME_CFA || s->reg[INSN_SP].offset < -8;
}

/* Whether it is known where the stack pointer is. */
static inline bool frame_state_is_known(const struct frame_state *s)
{
	return s->reg[INSN_SP].origin != FRAME_UNKNOWN;
}

/* Whether the stack pointer was loaded from outside of the function's frame, and the function has
 * kept its own nowhere: then it never returns to its caller. */
bool frame_state_has_left(const struct frame_state *s);

/* The registers that functions preserve, a bit for each of STACKD_SAVED_REGS, that do not hold what
 * they held at the function's start. */
static inline uint32_t frame_state_changed(const struct frame_state *s)
{
	return s->changed & ((1u << STACKD_SAVED_COUNT) - 1);
}

/* The registers that an instruction has saved, a bit for each of STACKD_SAVED_REGS. */
uint32_t frame_state_saved_since(const struct frame_state *before, const struct frame_state *after);

/* Whether code that a function jumps out of can be all of it: it has used no register that its
 * caller would have to give it, and all that functions preserve are as they were. */
static inline bool frame_state_is_function(const struct frame_state *s)
{
	return !(s->changed & (FRAME_USED_CALLERS | ((1u << STACKD_SAVED_COUNT) - 1)));
}

/* Whether the caller's frame pointer is lost: changed, and nowhere to be found. */
bool frame_state_lost_fp(const struct frame_state *s);

/* The register that alone has the CFA, if callees need not preserve it; INSN_NO_REG otherwise. */
unsigned frame_state_lone_register(const struct frame_state *s);

/* Makes the rule of a state; it is STACKD_CFA_END where code has no caller. Returns false where
 * there is none, with the reason. */
bool frame_state_rule(const struct frame_state *s, struct stackd_rule *ret_rule,
		      enum analysis_abstained *ret_why);

#endif
