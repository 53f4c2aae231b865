/* SPDX-License-Identifier: MIT */
/* Makes and frees the solver, and makes rules from its states; see solve.h. */
#include "analysis/solve_internal.h"

/* bytes of code for each pair of COMPUTED_JUMPS, since an interpreter may have a label for each
 * word */
#define LABEL_BYTES 4

/* Fewer jumps say nothing about a file; and so many for each return are in no other code than
 * GHC's, which has from 25 on. (A library of functions that each jump to another has 1.2.) */
#define FEW_JUMPS  64
#define MANY_JUMPS 8

/* Returns the number for STACKD_KEPT of a set of kept registers, if that is one register or
 * ARCH_KEPT_TWO_REGS; else 0. */
static unsigned kept_number(uint32_t kept)
{
	if (kept == ARCH_KEPT_TWO_REGS)
		return STACKD_KEPT_TWO;
	if (!kept || kept & (kept - 1))
		return 0;
	return insn_dwarf_number((unsigned)__builtin_ctz(kept)) + 1;
}

/* Drops the slots of registers that no caller needs. Code with a calling convention of its own
 * (OCaml's) gets arguments in callee-saved registers, writes them to its frame, and never restores
 * them. Each such slot would make a row. The slot of the frame pointer, from which frames are
 * computed, stays. */
static void drop_slots(struct stackd_rule *rule, unsigned clobbered)
{
	for (unsigned k = 1; k < STACKD_SAVED_COUNT; k++) {
		if (!(clobbered >> k & 1))
			continue;
		rule->saved[k] = 0;
		rule->saved_via_reg &= (uint8_t) ~(1u << k);
	}
}

/* Returns whether the instruction at a byte is a call of a function of the same code that does not
 * preserve the register from which the state's rule computes the CFA: it keeps the register's value
 * where no walk finds it. */
static bool loses_base(const struct solver *s, uint32_t at, const struct frame_state *state)
{
	int k = insn_saved_index(frame_state_preserved_base(state));
	uint32_t callee;
	struct insn i;

	if (k < 0 || !code_decode(s->code, code_area_of(s->code, at), at, &i) ||
	    i.flow != INSN_CALL)
		return false;
	callee = code_find(s->code, i.target);
	return callee != CODE_NONE && solve_state_at(s, callee) &&
	       returns_clobbered(&s->returns, solve_function_of(s, solve_owner_at(s, callee))) >>
			       k &
		       1;
}

int solve_rule(const struct solver *s, uint32_t at, struct stackd_rule *ret_rule,
	       enum analysis_abstained *ret_why)
{
	const struct frame_state *state;
	const struct flow_item item = flow_map_get(&s->flow, at);
	const struct owner *owner;

	if (!item.state)
		return 0;
	owner = owners_get(&s->owners, item.owner);
	if (owner->is_entry) {
		*ret_rule = (struct stackd_rule){.cfa = STACKD_CFA_END};
		return 1;
	}
	if (owner->failed) {
		*ret_why = (enum analysis_abstained)(owner->failed - 1);
		return 2;
	}
	if (!s->needs_returns && !entered_is(&s->entered, solve_function_of(s, item.owner))) {
		*ret_why = ANALYSIS_ABSTAINED_RETURN;
		return 2;
	}
	state = states_get(&s->states, item.state);
	if (!frame_state_rule(state, ret_rule, ret_why))
		return 2;
	if (loses_base(s, at, state)) {
		*ret_why = ANALYSIS_ABSTAINED_SAVED;
		return 2;
	}
	drop_slots(ret_rule, returns_clobbered(&s->returns, owner->function));
	ret_rule->saved_reg |= (uint8_t)(kept_number(unclobbered_at(s->preserved, at)) << 4);
	/* It is only known that callers do not need the frame pointer if the function returns. */
	if (ret_rule->cfa == STACKD_CFA_END || !frame_state_lost_fp(state) ||
	    returns_does(&s->returns, owner->function))
		return 1;
	*ret_why = ANALYSIS_ABSTAINED_SAVED;
	return 2;
}

uint64_t solve_rule_key(const struct solver *s, uint32_t at)
{
	const struct flow_item item = flow_map_get(&s->flow, at);

	if (!item.state)
		return 0;
	if (unclobbered_at(s->preserved, at) ||
	    frame_state_preserved_base(states_get(&s->states, item.state)) != INSN_NO_REG)
		return SOLVE_NO_KEY;
	return (uint64_t)item.owner << 32 | item.state;
}

uint32_t solve_length(const struct solver *s, uint32_t at)
{
	const struct flow_item item = flow_map_get(&s->flow, at);

	return item.state ? item.visits >> 4 : 0;
}

bool solve_is_full(const struct solver *s)
{
	return s->flow.is_full;
}

bool solve_is_jumped_into(const struct solver *s)
{
	return s->jumped >= FEW_JUMPS && s->jumped > MANY_JUMPS * s->returned;
}

uint64_t solve_function_count(const struct solver *s)
{
	return s->functions;
}

int solve_new(struct code *code, struct noreturn *noreturn, struct unclobbered *preserved,
	      struct solver **ret_solver)
{
	struct solver *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->code = code;
	s->noreturn = noreturn;
	s->preserved = preserved;
	s->external.code = code;
	s->external.noreturn = noreturn;
	s->first_guess = UINT32_MAX;
	s->labels.strong = &s->strong;
	s->labels.late = &s->late;
	s->labels.room = code->size / LABEL_BYTES;
	if (flow_map_init(&s->flow, code->marks, CODE_SWEPT, code->size) ||
	    states_init(&s->states)) {
		solve_free(s);
		return -ENOMEM;
	}
	*ret_solver = s;
	return 0;
}

void solve_free(struct solver *s)
{
	if (!s)
		return;
	external_returns_fini(&s->external);
	flow_map_fini(&s->flow);
	states_fini(&s->states);
	returns_fini(&s->returns);
	entered_fini(&s->entered);
	free(s->begins.items);
	free(s->pointed.items);
	owners_fini(&s->owners);
	free(s->strong.items);
	free(s->weak.items);
	free(s->parked.items);
	free(s->late.items);
	free(s->trapped.items);
	hint_pool_fini(&s->hints);
	computed_jumps_fini(&s->labels);
	free(s);
}
