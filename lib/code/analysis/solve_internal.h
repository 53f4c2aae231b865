/* SPDX-License-Identifier: MIT */
/* The solver's state, which solve.c, solve_calls.c, solve_join.c, solve_order.c and solve_table.c
 * change, and solve_rule.c reads. */
#ifndef ANALYSIS_SOLVE_INTERNAL_H
#define ANALYSIS_SOLVE_INTERNAL_H

#include "analysis/flow_map.h"
#include "analysis/computed_jumps.h"
#include "analysis/entered.h"
#include "analysis/external_returns.h"
#include "analysis/owners.h"
#include "analysis/returns.h"
#include "analysis/solve.h"
#include "analysis/states.h"
#include "analysis/worklist.h"

/* limit of the joins at an instruction; chosen by hand, to bound the time */
#define SOLVE_MAX_VISITS 8
/* limit of the jumps to unknown targets that are kept; chosen by hand */
#define SOLVE_MAX_LOST 256
/* bits of flow_item.visits with the joins; the other bits have the instruction's length */
#define SOLVE_VISITS_MASK 0x0fu

struct solver {
	struct code *code;
	struct noreturn *noreturn;
	struct unclobbered *preserved;
	struct external_returns external; /* of functions outside of the code */
	struct states states;
	struct returns returns;
	struct entered entered;
	VEC(uint32_t) begins; /* by number of a function in `returns`: its first byte */
	struct flow_map flow;
	struct owners owners;
	uint32_t first_guess; /* number of the first owner that began at a guessed function */
	struct worklist strong;
	struct worklist weak;	 /* code after calls to which jumps lead as well */
	struct worklist late;	 /* followed last: addresses that other functions have put into a
				  * register, and cases of switches that may be unreachable */
	struct worklist parked;	 /* code after calls that wait for their callee to return; the
				  * items of `returns` */
	struct worklist trapped; /* code behind a call and a trap, while the frame is set up: other
				  * code may jump there */
	struct hint_pool hints;
	struct computed_jumps labels;
	VEC(uint32_t) pointed; /* bytes to which pointers lead, perhaps inside of functions */
	/* jumps within a frame to an unknown target: one for each owner and height of its stack */
	struct work_item lost[SOLVE_MAX_LOST];
	size_t lost_count;
	bool has_more_lost; /* more than there was room for */
	bool needs_returns; /* guessed functions must return */
	uint64_t functions;
	uint64_t returned, jumped; /* ends of paths: returns, and jumps to what a register says,
				    * with the stack as it was at the function's start */
	uint64_t steps;		   /* instructions that paths have reached */
	uint64_t entries; /* entries of jump tables that were read: at most one for each byte of
			   * code */
};

/* A path that is being followed. */
struct path {
	const struct code_area *area;
	struct work_item w;
	struct jump_hints hints;
	struct insn insn; /* the instruction at w.at; apply() changes w.state by it */
	uint32_t links;	  /* byte of the instruction that links an exception handler into the
			   * thread's list; 0: none */
	uint32_t landing; /* the byte whose address the path has stored into its frame; 0: none */
	uint32_t landing_origin; /* where it has stored it: the distance is from this origin */
	int64_t landing_at;
	uint32_t fp_origin; /* where it has last stored the frame pointer; FRAME_UNKNOWN: nowhere */
	int64_t fp_at;
	unsigned bound;	  /* register with which the instruction before has compared the stack
			   * pointer */
	bool is_straight; /* it began where functions begin, and has passed no branch */
};

/* Returns the number of the state before the instruction at a byte; STATES_NONE: no path has
 * reached it. */
static inline uint32_t solve_state_at(const struct solver *s, uint32_t at)
{
	return flow_map_get(&s->flow, at).state;
}

/* Returns the owner of the instruction at a byte that has a state. */
static inline uint32_t solve_owner_at(const struct solver *s, uint32_t at)
{
	return flow_map_get(&s->flow, at).owner;
}

/* Returns the function of returns.h that an owner is a part of. */
static inline uint32_t solve_function_of(const struct solver *s, uint32_t owner)
{
	return s->owners.items.items[owner].function;
}

/* Returns whether an owner began at a guessed function. */
static inline bool solve_is_guess(const struct solver *s, uint32_t owner)
{
	return owner >= s->first_guess;
}

/* Returns whether the stack pointer is as at a function's start, as it must be at a return. */
static inline bool solve_is_at_return(const struct solver *s, const struct work_item *w)
{
	return frame_state_is_at_return(states_get(&s->states, w->state));
}

/* Fails an owner: its code has a contradiction, and gets no rules. */
static inline void solve_fail(struct solver *s, uint32_t owner, enum analysis_abstained why)
{
	owners_fail(&s->owners, owner, why);
}

/* Notes that a path returns, or may return. Returns 0 or -ENOMEM. */
static inline int solve_set_returns(struct solver *s, uint32_t owner)
{
	return returns_set(&s->returns, solve_function_of(s, owner));
}

/* Begins a function at a byte, unless one has begun there. Returns 0 or -ENOMEM. */
int solve_begin_function(struct solver *s, uint32_t at);

/* Follows all paths; last, the code after calls to which jumps lead as well. Returns as
 * solve_certain(). */
int solve_drain(struct solver *s);

/* Joins a path's state with the known state at its next instruction. Returns 1: the path continues
 * with the state in p->w.state; 0: it ends; -ENOMEM. */
int solve_come(struct solver *s, struct path *p, bool is_weak);

/* Returns whether a byte belongs to a guess that has failed. Another path may then take over the
 * byte, a limited number of times. */
bool solve_has_failed(const struct solver *s, uint32_t at);

/* Returns whether a byte belongs to a guess that is not confirmed, while the path's owner is
 * certain or confirmed. If the two contradict each other, the guess is wrong. */
bool solve_is_less_likely(const struct solver *s, uint32_t at, uint32_t owner);

/* If a guess continues into another function with the same frame, passes to that function the code
 * addresses that the path has in registers. (dav1d has functions that share code, and differ only
 * in the target of a jump in it by a register.) Returns 0 or -ENOMEM. */
int solve_bring_labels(struct solver *s, const struct path *p, uint32_t at);

/* Finds the first byte of the function to which a call or a jump leads, also through a linkage stub
 * or a slot of the GOT, and begins that function. *ret_callee is CODE_NONE if it is in other code.
 * Returns 0 or -ENOMEM. */
int solve_find_callee(struct solver *s, const struct insn *i, uint32_t *ret_callee);

/* Ends a path at a call. The code after the call is followed now if the callee returns, else once
 * the callee is seen to return. Returns 0 or -ENOMEM. */
int solve_follow_call(struct solver *s, struct path *p);

/* Continues after a waiting call, an item of `parked`. Returns 0 or -ENOMEM. */
int solve_resume(struct solver *s, uint32_t item);

/* Continues after calls whose callees were not seen to return, if no other path has reached the
 * code after the call. That code gets rules if it ends as the function does, or leads back into it,
 * in the same frame. Returns as solve_certain(). */
int solve_resume_unclaimed(struct solver *s);

/* Continues behind the traps that follow calls (solver.trapped). V8's code for loops that are
 * already running has such a trap after its prologue: a jump enters it behind that, with the frame
 * that the prologue describes. Such code is a part of its own, and needs to be confirmed. Returns
 * as solve_certain(). */
int solve_resume_trapped(struct solver *s);

/* Makes each called function that was not seen to return lean on its callers: it is confirmed if
 * they are (owners.h). To be called when all flow is known. Returns 0 or -ENOMEM. */
int solve_lean_on_callers(struct solver *s);

/* Adds to `list` a path that begins at byte `at`, with the state and hints of `p`. Returns 0 or
 * -ENOMEM. */
int solve_push_path(struct solver *s, struct worklist *list, const struct path *p, uint32_t at,
		    uint32_t owner);

/* Returns whether a function begins at a byte, certainly or as a guess. */
static inline bool solve_is_pinned(const struct solver *s, uint32_t at)
{
	return s->code->marks[at] & CODE_PINNED;
}

/* Returns whether a jump to byte `at` leads to padding after a function's end, up to another
 * function. Compilers emit such jumps for unreachable code. */
bool solve_leads_behind(const struct solver *s, uint32_t at);

/* Postpones a branch that tests a jump table's bound and leads to code before the function. The
 * target is the function's cold part or, if the default case is unreachable, the end of that part,
 * where another function's cold part begins. Since it is postponed, the other function's own flow
 * reaches that byte first. Returns 1: postponed; 0: it is not such a branch; -ENOMEM. */
int solve_put_off(struct solver *s, const struct path *p, uint32_t at);

/* Adds paths to all targets in the table of the path's indirect jump. Returns 1; 0: no entry of the
 * table can be a target; -ENOMEM. */
int solve_follow_table(struct solver *s, const struct path *p, const struct jump_table *table);

#endif
