/* SPDX-License-Identifier: MIT */
/* The solver's state, which solve.c, solve_calls.c, solve_join.c, solve_order.c and solve_table.c
 * change, and solve_rule.c reads. */
#ifndef ANALYSIS_SOLVE_INTERNAL_H
#define ANALYSIS_SOLVE_INTERNAL_H

#include "analysis/flow_map.h"
#include "analysis/computed_jumps.h"
#include "analysis/external_returns.h"
#include "analysis/owners.h"
#include "analysis/returns.h"
#include "analysis/solve.h"
#include "analysis/states.h"
#include "analysis/worklist.h"

#define SOLVE_MAX_VISITS  8	/* joins at an instruction; chosen by hand, to bound the time */
#define SOLVE_VISITS_MASK 0x0fu /* bits of flow_item.visits; the instruction's length is above */

struct solver {
	struct code *code;
	struct noreturn *noreturn;
	struct unclobbered *preserved;
	struct external_returns external; /* of functions outside of the code */
	struct states states;
	struct returns returns;
	VEC(uint32_t) begins; /* by number of a function in `returns`: its first byte */
	struct flow_map flow;
	struct owners owners;
	uint32_t first_guess; /* number of the first owner that began at a guessed function */
	struct worklist strong;
	struct worklist weak;	/* code after calls that jumps lead to, too */
	struct worklist late;	/* taken last: addresses that other functions have put into a
				 * register, and cases of switches that may be unreachable */
	struct worklist parked; /* calls that wait for their callee; the items of `returns` */
	struct hint_pool hints;
	struct computed_jumps labels;
	VEC(uint32_t) pointed; /* bytes to which pointers lead, perhaps inside of functions */
	bool needs_returns;    /* guessed functions must return */
	uint64_t functions;
	uint64_t steps;	  /* instructions that paths have reached */
	uint64_t entries; /* entries of jump tables that were read: at most one for each byte of
			   * code */
};

/* A path that is followed. */
struct path {
	const struct code_area *area;
	struct work_item w;
	struct jump_hints hints;
	struct insn insn; /* at w.at; apply() updates w.state by it */
	uint32_t links;	  /* byte of the instruction that links a handler of exceptions; 0: none */
	uint32_t landing; /* the byte whose address the path has stored into its frame; 0: none */
	uint32_t landing_origin; /* and where: the distance is from this origin */
	int64_t landing_at;
	unsigned bound;	  /* register with which the previous instruction has compared the stack
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

/* Returns whether the stack is as at a function's start, as it must be at a return. */
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

/* Begins a function at a byte, once. Returns 0 or -ENOMEM. */
int solve_begin_function(struct solver *s, uint32_t at);

/* Follows all paths; last, those after calls to which jumps lead, too. Returns as
 * solve_certain(). */
int solve_drain(struct solver *s);

/* Joins a path's state with the known state at its next instruction. Returns 1: the path continues
 * with the state in p->w.state; 0: it ends; -ENOMEM. */
int solve_come(struct solver *s, struct path *p, bool is_weak);

/* Returns whether a byte belongs to a guess that has failed: then another path may take over the
 * byte, a few times. */
bool solve_has_failed(const struct solver *s, uint32_t at);

/* Returns whether a byte belongs to a guess that is not confirmed, while the path's owner is
 * certain or confirmed. If the two contradict each other, the guess is wrong. */
bool solve_is_less_likely(const struct solver *s, uint32_t at, uint32_t owner);

/* Passes the addresses that a path has in registers to the function into which its guess continues
 * with the same frame. (dav1d has functions that share code, and differ only in the target of a
 * jump in it by a register.) Returns 0 or -ENOMEM. */
int solve_bring_labels(struct solver *s, const struct path *p, uint32_t at);

/* Finds the first byte of the function to which a call or a jump leads, also through a stub or its
 * slot, and begins that function. CODE_NONE: it is in other code. Returns 0 or -ENOMEM. */
int solve_find_callee(struct solver *s, const struct insn *i, uint32_t *ret_callee);

/* Ends a path at a call. The code after the call is followed now, or once the callee is seen to
 * return. Returns 0 or -ENOMEM. */
int solve_follow_call(struct solver *s, struct path *p);

/* Continues after a waiting call, an item of `parked`. Returns 0 or -ENOMEM. */
int solve_resume(struct solver *s, uint32_t item);

/* Continues after calls that were not seen to return, if no other path leads there. The code there
 * is believed if it ends like the function, or leads back into it, in the same frame. Returns as
 * solve_certain(). */
int solve_resume_unclaimed(struct solver *s);

/* Confirms called functions that were not seen to return if their callers are confirmed. To be
 * called when all flow is known. Returns 0 or -ENOMEM. */
int solve_lean_on_callers(struct solver *s);

/* Adds a path at another byte, with a path's state and hints. Returns 0 or -ENOMEM. */
int solve_push_path(struct solver *s, struct worklist *list, const struct path *p, uint32_t at,
		    uint32_t owner);

/* Returns whether a function begins at a byte, certainly or as a guess. */
static inline bool solve_is_pinned(const struct solver *s, uint32_t at)
{
	return s->code->marks[at] & CODE_PINNED;
}

/* Returns whether a jump to byte `at` of an area leads to padding after the function's end, up to
 * another function. Compilers emit such jumps for unreachable code. */
bool solve_leads_behind(const struct solver *s, uint32_t at);

/* Postpones a branch that tests a jump table's bound and leads to code before the function: to its
 * cold part, or, if the default case is unreachable, to the end of that part, where another
 * function's cold part begins. So the other function's own flow reaches that byte first. Returns 1:
 * postponed; 0: it is not such a branch; -ENOMEM. */
int solve_put_off(struct solver *s, const struct path *p, uint32_t at);

/* Follows a path to all targets in the table of its indirect jump. Returns 1; 0: no entry of the
 * table can be a target; or -ENOMEM. */
int solve_follow_table(struct solver *s, const struct path *p, const struct jump_table *table);

#endif
