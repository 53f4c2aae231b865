/* SPDX-License-Identifier: MIT */
/* The solver's state, which solve.c, solve_order.c and solve_table.c change, and solve_begin.c
 * and solve_rule.c read. */
#ifndef ANALYSIS_SOLVE_INTERNAL_H
#define ANALYSIS_SOLVE_INTERNAL_H

#include "analysis/flow_map.h"
#include "analysis/labels.h"
#include "analysis/owners.h"
#include "analysis/returns.h"
#include "analysis/solve.h"
#include "analysis/states.h"
#include "analysis/work.h"

struct solver {
	struct code *code;
	struct noreturn *noreturn;
	struct keeps *keeps;
	struct states states;
	struct returns returns;
	VEC(uint32_t) begins; /* by function of returns: its first byte */
	struct flow_map flow;
	struct owners owners;
	uint32_t first_guess; /* owners from that one on began where code only may begin */
	struct work_list strong;
	struct work_list weak;	 /* what follows calls, where jumps lead, too */
	struct work_list late;	 /* where addresses that were brought along may lead, and cases of
				  * switches that may be unreachable: last of all */
	struct work_list parked; /* at the instructions behind calls; items of returns */
	struct hint_pool hints;
	struct labels labels;
	bool needs_returns; /* by guesses */
	uint64_t functions;
	uint64_t steps;	  /* instructions that paths have come to */
	uint64_t entries; /* of jump tables, read so far: no more than bytes of code */
};

/* A path that is followed. */
struct path {
	const struct code_area *area;
	struct work w;
	struct jump_hints hints;
	struct insn insn; /* at w.at, which has been applied to w.state */
	unsigned bound;	  /* the register that the instruction before has compared rsp with */
	bool is_straight; /* it began where functions do, and has come to no branch */
};

/* Begins a function at a byte, once. Returns 0 or -ENOMEM. */
int solve_begin_function(struct solver *s, uint32_t at);

/* Follows all paths; those behind calls, where jumps lead, too, last. Returns 0 or as
 * solve_certain(). */
int solve_drain(struct solver *s);

/* Pushes a path's work at another byte, with its hints. Returns 0 or -ENOMEM. */
int solve_push_path(struct solver *s, struct work_list *list, const struct path *p, uint32_t at,
		    uint32_t owner);

/* Whether a function certainly, or as a guess, begins at a byte. */
static inline bool solve_is_pinned(const struct solver *s, uint32_t at)
{
	return s->code->marks[at] & CODE_PINNED;
}

/* Whether a path begins where nothing but a call or a pointer leads: for path.is_straight. */
bool solve_begins_straight(const struct solver *s, const struct code_area *area,
			   const struct work *w);

/* Whether a path's instruction, before it is applied, shows that the path began at a function's
 * start, even if that should never return. */
bool solve_shows_function(const struct solver *s, const struct path *p);

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
