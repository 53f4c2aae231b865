/* SPDX-License-Identifier: MIT */
/*
 * Converts a row of the call frame table to a struct stackd_rule; see fixed_rule.h.
 *
 * The kernel half needs the CFA, the slot of the return address, and the slots of the callee-saved
 * registers. Slots count from the CFA. A slot that an expression counts from the CFA's register is
 * converted, since the distance of the two is fixed. A slot that counts from another register keeps
 * it: gcc's functions with a realigned stack save the frame pointer where it then points to, while
 * the CFA comes from another register or from memory.
 *
 * In the kernel's signal frame, all registers are at distances from the stack pointer. These must
 * be exactly those of the kernel's struct sigcontext. Then one number, the distance of its first
 * register, gives them all.
 */
#include "unwind/fixed_rule.h"

static const uint8_t saved_regs[STACKD_SAVED_COUNT] = {
#define STACKD_X(name, dwarf) dwarf,
	STACKD_SAVED_REGS(STACKD_X)
#undef STACKD_X
};

static bool fits_s16(int64_t v)
{
	return v == (int16_t)v;
}

enum recipe_refusal fixed_rule_make_cfa(const struct cfi_state *state, struct stackd_rule *rule)
{
	if (state->refused != CFI_ACCEPTED)
		return recipe_refusal_of_cfi(state->refused);
	if (state->cfa_reg >= STACKD_REG_PC)
		return RECIPE_REFUSED_CFA_REGISTER;
	if (state->cfa_offset != (int32_t)state->cfa_offset || !fits_s16(state->cfa_add))
		return RECIPE_REFUSED_RANGE;
	rule->cfa = (uint8_t)state->cfa;
	rule->reg = state->cfa_reg;
	rule->cfa_offset = (int32_t)state->cfa_offset;
	rule->cfa_add = (int16_t)state->cfa_add;
	return RECIPE_ACCEPTED;
}

/* Gives a slot's distance from the CFA, if it is fixed. */
static bool slot_from_cfa(const struct cfi_state *state, const struct cfi_reg *slot,
			  int64_t *ret_distance)
{
	*ret_distance = slot->offset;
	if (slot->how == CFI_AT_CFA)
		return true;
	*ret_distance -= state->cfa_offset;
	return slot->how == CFI_AT_REG && state->cfa == STACKD_CFA_REG &&
	       slot->reg == state->cfa_reg;
}

static enum recipe_refusal set_return_address(const struct cfi_state *state,
					      struct stackd_rule *rule)
{
	const struct cfi_reg *ra = &state->regs[ARCH_CFI_RETURN];
	int64_t distance;

	if (ARCH_HAS_LINK && (ra->how == CFI_UNSET || ra->how == CFI_SAME)) {
		rule->ra_offset = ARCH_RETURN_SLOT;
		return RECIPE_ACCEPTED;
	}
	if (ra->how == CFI_RANGE)
		return RECIPE_REFUSED_RANGE;
	if (!slot_from_cfa(state, ra, &distance) || (ARCH_HAS_LINK && !distance))
		return RECIPE_REFUSED_RA_RULE;
	rule->ra_offset = (int16_t)distance;
	return fits_s16(distance) ? RECIPE_ACCEPTED : RECIPE_REFUSED_RANGE;
}

/* Sets a slot that counts from a register, which must be the same for all such slots of a rule. */
static enum recipe_refusal set_saved_via_reg(const struct cfi_reg *slot, int i,
					     struct stackd_rule *rule)
{
	if (rule->saved_via_reg && rule->saved_reg != slot->reg)
		return RECIPE_REFUSED_SAVED_BASES;
	rule->saved_reg = slot->reg;
	rule->saved_via_reg |= (uint8_t)(1 << i);
	rule->saved[i] = (int16_t)slot->offset;
	return fits_s16(slot->offset) ? RECIPE_ACCEPTED : RECIPE_REFUSED_RANGE;
}

static enum recipe_refusal set_saved(const struct cfi_state *state, int i, struct stackd_rule *rule)
{
	const struct cfi_reg *slot = &state->regs[saved_regs[i]];
	int64_t distance;

	switch (slot->how) {
	case CFI_UNSET:
	case CFI_SAME:
		return RECIPE_ACCEPTED;
	case CFI_AT_CFA:
	case CFI_AT_REG:
		break;
	case CFI_EXPRESSION:
		return RECIPE_REFUSED_SAVED_EXPRESSION;
	case CFI_RANGE:
		return RECIPE_REFUSED_RANGE;
	default:
		return RECIPE_REFUSED_SAVED_RULE;
	}
	if (!slot_from_cfa(state, slot, &distance))
		return set_saved_via_reg(slot, i, rule);
	if (!distance) /* means "unchanged" to the kernel half */
		return RECIPE_REFUSED_SAVED_RULE;
	rule->saved[i] = (int16_t)distance;
	return fits_s16(distance) ? RECIPE_ACCEPTED : RECIPE_REFUSED_RANGE;
}

/* Returns whether the caller's stack pointer is the CFA, as it is unless a rule says something
 * else. */
static bool sp_is_cfa(const struct cfi_reg *sp)
{
	return sp->how == CFI_UNSET || (sp->how == CFI_IS_CFA && !sp->offset);
}

/* Returns whether a register of a signal frame is in its slot of the sigcontext at sp + base. The
 * walk needs the return address and the callee-saved registers; the rest may have no rule. */
static bool is_in_sigcontext(const struct cfi_state *state, int reg, int64_t base)
{
	const struct cfi_reg *slot = &state->regs[reg];

	if (slot->how == CFI_UNSET) {
		bool needed = reg == STACKD_REG_PC;

		for (int i = 0; i < STACKD_SAVED_COUNT; i++)
			needed |= reg == saved_regs[i];
		return !needed;
	}
	return slot->how == CFI_AT_REG && slot->reg == STACKD_REG_SP &&
	       slot->offset == base + fixed_rule_sigcontext((unsigned)reg);
}

static enum recipe_refusal signal_rule(const struct cfi_state *state, struct stackd_rule *ret_rule)
{
	int64_t base;

	if (state->refused != CFI_ACCEPTED)
		return recipe_refusal_of_cfi(state->refused);
	if (state->cfa != STACKD_CFA_DEREF || state->cfa_reg != STACKD_REG_SP || state->cfa_add)
		return RECIPE_REFUSED_SIGNAL_FRAME;
	if (!fits_s16(state->cfa_offset))
		return RECIPE_REFUSED_RANGE;
	base = state->cfa_offset - 8 * ARCH_SIGCONTEXT_SP;
	for (int reg = 0; reg < CFI_REG_COUNT; reg++) {
		if (!is_in_sigcontext(state, reg, base))
			return RECIPE_REFUSED_SIGNAL_FRAME;
	}
	*ret_rule = (struct stackd_rule){
		.cfa = STACKD_CFA_SIGNAL,
		.reg = STACKD_REG_SP,
		.cfa_offset = (int32_t)base,
	};
	return RECIPE_ACCEPTED;
}

/* A function saves the return address below its CFA. If it is above by a word, the code before the
 * function has pushed two words, and the information leaves that out: glibc's _dl_runtime_resolve
 * counts from the stack pointer behind the first entry of the linkage table. */
static void raise_cfa(struct stackd_rule *rule)
{
	const int16_t pushed = 16;

	if (rule->ra_offset != 8 || rule->saved_via_reg)
		return;
	rule->cfa_offset += pushed;
	rule->ra_offset = (int16_t)(rule->ra_offset - pushed);
	for (int i = 0; i < STACKD_SAVED_COUNT; i++)
		if (rule->saved[i])
			rule->saved[i] = (int16_t)(rule->saved[i] - pushed);
}

enum recipe_refusal fixed_rule_make(const struct cfi_state *state, bool is_signal_frame,
				    struct stackd_rule *ret_rule)
{
	struct stackd_rule rule = {0};
	enum recipe_refusal refused;

	if (state->regs[ARCH_CFI_RETURN].how == CFI_UNDEFINED) {
		*ret_rule = (struct stackd_rule){.cfa = STACKD_CFA_END};
		return RECIPE_ACCEPTED;
	}
	/* The kernel's own information describes no register but two. */
	if (is_signal_frame && ARCH_HAS_LINK) {
		*ret_rule = (struct stackd_rule){.cfa = STACKD_CFA_SIGNAL,
						 .reg = STACKD_REG_SP,
						 .cfa_offset = ARCH_SIGCONTEXT};
		return RECIPE_ACCEPTED;
	}
	if (is_signal_frame)
		return signal_rule(state, ret_rule);
	refused = fixed_rule_make_cfa(state, &rule);
	if (refused == RECIPE_ACCEPTED)
		refused = set_return_address(state, &rule);
	if (refused == RECIPE_ACCEPTED && !sp_is_cfa(&state->regs[STACKD_REG_SP]))
		refused = RECIPE_REFUSED_RSP_RULE;
	for (int i = 0; i < STACKD_SAVED_COUNT && refused == RECIPE_ACCEPTED; i++)
		refused = set_saved(state, i, &rule);
	if (ARCH_HAS_LINK && refused == RECIPE_ACCEPTED)
		raise_cfa(&rule);
	if (refused == RECIPE_ACCEPTED)
		*ret_rule = rule;
	return refused;
}
