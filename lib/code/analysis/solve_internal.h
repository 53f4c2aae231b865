/* SPDX-License-Identifier: MIT */
/* The solver's state, which solve.c, solve_calls.c, solve_join.c, solve_order.c and solve_table.c
 * change, and solve_rule.c reads. */
#ifndef ANALYSIS_SOLVE_INTERNAL_H
#define ANALYSIS_SOLVE_INTERNAL_H

#include "analysis/flow_map.h"
#include "analysis/labels.h"
#include "analysis/external_returns.h"
#include "analysis/owners.h"
#include "analysis/returns.h"
#include "analysis/solve.h"
#include "analysis/states.h"
#include "analysis/worklist.h"

#define SOLVE_MAX_VISITS  8
#define SOLVE_VISITS_MASK 0x0fu /* of flow_item.visits; the instruction's length is above */

struct solver {
	struct code *code;
	struct noreturn *noreturn;
	struct preserved *preserved;
	struct external_returns external; /* what is called there */
	struct states states;
	struct returns returns;
	VEC(uint32_t) begins; /* by function of returns: its first byte */
	struct flow_map flow;
	struct owners owners;
	uint32_t first_guess; /* owners from that one on began where code only may begin */
	struct worklist strong;
	struct worklist weak;	/* what follows calls, where jumps lead, too */
	struct worklist late;	/* where addresses that were brought along may lead, and cases of
				 * switches that may be unreachable: last of all */
	struct worklist parked; /* at the instructions behind calls; items of returns */
	struct hint_pool hints;
	struct labels labels;
	VEC(uint32_t) pointed; /* bytes that pointers lead to, and that may be parts of functions */
	bool needs_returns;    /* by guesses */
	uint64_t functions;
	uint64_t steps;	  /* instructions that paths have come to */
	uint64_t entries; /* of jump tables, read so far: no more than bytes of code */
};

/* A path that is followed. */
struct path {
	const struct code_area *area;
	struct work_item w;
	struct jump_hints hints;
	struct insn insn; /* at w.at, which has been applied to w.state */
	uint32_t
		links; /* the byte of the instruction that links a handler of exceptions; 0: none */
	unsigned bound;	  /* the register that the instruction before has compared the stack pointer
			     with */
	bool is_straight; /* it began where functions do, and has come to no branch */
};

/* The number of the state before the instruction at a byte; STATES_NONE: nothing has led there. */
static inline uint32_t solve_state_at(const struct solver *s, uint32_t at)
{
	return flow_map_get(&s->flow, at).state;
}

/* The owner of the instruction at a byte, where there is a state. */
static inline uint32_t solve_owner_at(const struct solver *s, uint32_t at)
{
	return flow_map_get(&s->flow, at).owner;
}

/* The function that an owner is a part of, for what returns. */
static inline uint32_t solve_function_of(const struct solver *s, uint32_t owner)
{
	return s->owners.items.items[owner].function;
}

/* Whether it began where code only may begin. */
static inline bool solve_is_guess(const struct solver *s, uint32_t owner)
{
	return owner >= s->first_guess;
}

/* Whether the stack is as at a function's start, so that a return is right. */
static inline bool solve_is_at_return(const struct solver *s, const struct work_item *w)
{
	return frame_state_is_at_return(states_get(&s->states, w->state));
}

/* No rule holds of an owner's code: there is a contradiction. */
static inline void solve_fail(struct solver *s, uint32_t owner, enum analysis_abstained why)
{
	owners_fail(&s->owners, owner, why);
}

/* A path returns, or may, for all that is known. Returns 0 or -ENOMEM. */
static inline int solve_set_returns(struct solver *s, uint32_t owner)
{
	return returns_set(&s->returns, solve_function_of(s, owner));
}

/* Begins a function at a byte, once. Returns 0 or -ENOMEM. */
int solve_begin_function(struct solver *s, uint32_t at);

/* Follows all paths; those behind calls, where jumps lead, too, last. Returns 0 or as
 * solve_certain(). */
int solve_drain(struct solver *s);

/* Comes to a path's instruction, whose state is joined with what is known there. Returns 1: the
 * path goes on, with the state in p->w.state; 0: it does not; -ENOMEM. */
int solve_come(struct solver *s, struct path *p, bool is_weak);

/* Whether a guess led to a byte that has failed: a path may take the byte over, a few times. */
bool solve_has_failed(const struct solver *s, uint32_t at);

/* Whether a guess led to a byte of which nothing says that it is a function, while that is known of
 * the one that a path is in: then the first one is wrong if they contradict. */
bool solve_is_less_likely(const struct solver *s, uint32_t at, uint32_t owner);

/* Gives a function whose code a guess goes on into, with the same frame, the addresses that the
 * path brings along: dav1d has functions that differ in nothing but where the code that they share
 * jumps to by a register. Returns 0 or -ENOMEM. */
int solve_bring_labels(struct solver *s, const struct path *p, uint32_t at);

/* The byte of this code where the function begins that a call or a jump leads to, through a stub or
 * its slot if need be; that function is begun. CODE_NONE: it is elsewhere. Returns 0 or -ENOMEM. */
int solve_find_callee(struct solver *s, const struct insn *i, uint32_t *ret_callee);

/* Leaves a call. What stands behind is followed, now or when the function is seen to return.
 * Returns 0 or -ENOMEM. */
int solve_follow_call(struct solver *s, struct path *p);

/* A call that was waiting returns: an item of `parked`. Returns 0 or -ENOMEM. */
int solve_resume(struct solver *s, uint32_t item);

/* Goes on behind calls that were not seen to return, where nothing else leads. What is found there
 * holds if it ends as the function does, or leads on into it, in the same frame. Returns 0 or as
 * solve_certain(). */
int solve_resume_unclaimed(struct solver *s);

/* What was called and not seen to return is a function if what calls it is one. To be called when
 * all flow is known. Returns 0 or -ENOMEM. */
int solve_lean_on_callers(struct solver *s);

/* Pushes a path's work at another byte, with its hints. Returns 0 or -ENOMEM. */
int solve_push_path(struct solver *s, struct worklist *list, const struct path *p, uint32_t at,
		    uint32_t owner);

/* Whether a function certainly, or as a guess, begins at a byte. */
static inline bool solve_is_pinned(const struct solver *s, uint32_t at)
{
	return s->code->marks[at] & CODE_PINNED;
}

/* Whether a jump to byte `at` of an area leads behind the function's end: to padding up to another
 * function. Compilers have such jumps for what never comes. */
bool solve_leads_behind(const struct solver *s, uint32_t at);

/* Puts off a branch that tests a jump table's bound and leads ahead of the function: to its cold
 * part, or, where the default is unreachable, to the end of that, where another function's cold
 * part begins. So that function's own flow comes there first. Returns 1: the branch is put off; 0:
 * it is no such branch; -ENOMEM. */
int solve_put_off(struct solver *s, const struct path *p, uint32_t at);

/* Follows a path to all that the table of its indirect jump leads to. Returns 1, 0: the table has
 * no entry that could be one, or -ENOMEM. */
int solve_follow_table(struct solver *s, const struct path *p, const struct jump_table *table);

#endif
