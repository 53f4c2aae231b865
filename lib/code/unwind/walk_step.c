/* SPDX-License-Identifier: MIT */
/*
 * Applying a rule; see walk_step.h. There are three ways, by what the rule is: the fixed form
 * (fast), the kernel's signal frame (all registers from memory), and the row's own rules (slow).
 *
 * A saved register whose slot cannot be read becomes unknown and ends nothing, since most are never
 * needed. The walk ends where the CFA or the return address needs an unknown value.
 *
 * A slot below the stack pointer was popped: compilers do not say so in epilogues, where the rule
 * still has the slot. The register has its value back, and the copy of the stack begins above the
 * slot.
 *
 * The caller's stack pointer must be above the frame's, so that a walk always approaches the
 * stack's end. Only a signal frame may lead anywhere, and so may the vDSO's caller in Go; the limit
 * of frames bounds those. Other ways to another stack end the walk, since the copy is of one stack.
 * The caller's stack pointer is the CFA, unless assembly says otherwise (GHC's StgRun: the CFA is
 * its own stack pointer). its own stack pointer).
 */
#include "unwind/walk_step.h"

#include <errno.h>

#include "unwind/fixed_rule.h"

enum stackd_end_reason walk_memory_reason(const struct walk_memory *m, uint64_t address)
{
	if (walk_memory_is_hole(m, address))
		return STACKD_END_UNREADABLE;
	if (!m->is_cut || address < m->start)
		return STACKD_END_UNREADABLE;
	return m->end && address >= m->end ? STACKD_END_STACK_SWITCH : STACKD_END_STACK_CUT;
}

static bool makes_progress(const struct walk_state *s, uint64_t cfa, bool is_anywhere)
{
	uint64_t sp = s->r[STACKD_REG_SP];

	return is_anywhere || cfa > sp || (s->may_be_at_cfa && cfa == sp);
}

static void become_caller(struct walk_state *s, uint64_t cfa, uint64_t pc, uint64_t slot,
			  bool is_signal)
{
	s->r[STACKD_REG_SP] = cfa;
	s->r[STACKD_REG_PC] = pc;
	s->slot = slot;
	s->is_return = !is_signal;
	s->may_be_at_cfa = is_signal;
}

/* --- the fixed form ------------------------------------------------------------------------ */

static enum stackd_end_reason fast_cfa(const struct stackd_rule *rule, const struct walk_memory *m,
				       const struct walk_state *s, uint64_t *ret_cfa)
{
	uint64_t at = s->r[rule->reg] + (uint64_t)(int64_t)rule->cfa_offset;

	if (!(s->known >> rule->reg & 1))
		return STACKD_END_BAD_RECIPE;
	if (rule->cfa == STACKD_CFA_PLT) {
		at += (s->r[STACKD_REG_PC] & 15) >= (uint64_t)rule->cfa_add ? 8 : 0;
	} else if (rule->cfa == STACKD_CFA_DEREF) {
		if (!walk_memory_read_kept(m, at, &at))
			return walk_memory_reason(m, at);
		at += (uint64_t)(int64_t)rule->cfa_add;
	}
	*ret_cfa = at;
	return WALK_GOES_ON;
}

/* The caller's value of a register whose slot cannot be read is the one that it has. */
static bool is_popped(const struct walk_state *s, uint64_t slot)
{
	return slot < s->r[STACKD_REG_SP];
}

static void restore_saved(const struct stackd_rule *rule, const struct walk_memory *m,
			  struct walk_state *s, uint64_t cfa)
{
#define X(name, number) number,
	static const uint8_t registers[] = {STACKD_SAVED_REGS(X)};
#undef X
	uint64_t base = s->r[STACKD_SAVED_REG(rule)];
	bool has_base = s->known >> STACKD_SAVED_REG(rule) & 1;

	for (int i = 0; i < STACKD_SAVED_COUNT; i++) {
		bool via_reg = rule->saved_via_reg >> i & 1;
		uint64_t slot = (via_reg ? base : cfa) + (uint64_t)(int64_t)rule->saved[i];

		if (!via_reg && !rule->saved[i])
			continue;
		if ((!via_reg || has_base) && walk_memory_read8(m, slot, &s->r[registers[i]]))
			s->known |= 1u << registers[i];
		else if ((via_reg && !has_base) || !is_popped(s, slot))
			s->known &= ~(1u << registers[i]);
	}
}

/* The caller-saved registers that a frame leaves as they are, a bit for each. */
static uint32_t kept_by(const struct stackd_rule *rule)
{
	unsigned number = STACKD_KEPT(rule);

	if (number == STACKD_KEPT_TWO)
		return ARCH_KEPT_TWO_REGS;
	return number ? 1u << (number - 1) : 0;
}

static enum stackd_end_reason step_fast(const struct walk_rule *rule, const struct walk_memory *m,
					struct walk_state *s)
{
	bool is_anywhere = rule->is_signal || rule->fast.cfa == STACKD_CFA_OTHER;
	uint32_t kept = kept_by(&rule->fast);
	uint64_t cfa = 0, slot, pc;
	enum stackd_end_reason reason = fast_cfa(&rule->fast, m, s, &cfa);

	if (reason != WALK_GOES_ON)
		return reason;
	if (!makes_progress(s, cfa, is_anywhere))
		return STACKD_END_NO_PROGRESS;
	slot = cfa + (uint64_t)(int64_t)rule->fast.ra_offset;
	if (!walk_memory_read_kept(m, slot, &pc))
		return is_anywhere && !rule->is_signal ? STACKD_END_STACK_SWITCH
						       : walk_memory_reason(m, slot);
	restore_saved(&rule->fast, m, s, cfa);
	s->known &= WALK_KNOWN_AFTER_CALL | kept;
	become_caller(s, cfa, pc, slot, rule->is_signal);
	return WALK_GOES_ON;
}

static enum stackd_end_reason step_signal(const struct walk_rule *rule, const struct walk_memory *m,
					  struct walk_state *s)
{
	uint64_t context = s->r[STACKD_REG_SP] + (uint64_t)(int64_t)rule->fast.cfa_offset;
	uint64_t r[STACKD_REG_COUNT];

	for (int i = 0; i < STACKD_REG_COUNT; i++) {
		uint64_t slot = context + fixed_rule_sigcontext((unsigned)i);

		if (!walk_memory_read8(m, slot, &r[i]))
			return walk_memory_reason(m, slot);
	}
	memcpy(s->r, r, sizeof(r));
	s->known = WALK_KNOWN_ALL;
	become_caller(s, r[STACKD_REG_SP], r[STACKD_REG_PC],
		      context + fixed_rule_sigcontext(STACKD_REG_PC), true);
	return WALK_GOES_ON;
}

/* --- the row's own rules ------------------------------------------------------------------- */

/* Memory for the evaluator, which remembers where it failed. */
struct watched_memory {
	const struct walk_memory *memory;
	uint64_t failed_at;
};

static bool read_watched(void *arg, uint64_t address, size_t bytes, uint64_t *ret_value)
{
	struct watched_memory *w = arg;
	uint64_t at = address - w->memory->start, value = 0;

	if (bytes == 8 && walk_memory_read_kept(w->memory, address, ret_value))
		return true;
	if (w->memory->len < bytes || at > w->memory->len - bytes ||
	    walk_memory_is_hole(w->memory, address) ||
	    walk_memory_is_hole(w->memory, address + bytes - 1)) {
		w->failed_at = address;
		return false;
	}
	memcpy(&value, w->memory->bytes + at, bytes);
	*ret_value = value;
	return true;
}

static enum stackd_end_reason reason_of(int error, const struct watched_memory *w)
{
	if (!error)
		return WALK_GOES_ON;
	return error == -EFAULT ? walk_memory_reason(w->memory, w->failed_at)
				: STACKD_END_BAD_RECIPE;
}

/* The value of a register that the frame knows, plus an offset. 0 or -ENODATA. */
static int read_register(const struct dwarf_expr_context *c, uint64_t reg, uint64_t offset,
			 uint64_t *ret_value)
{
	if (reg >= STACKD_REG_COUNT || !(c->known >> reg & 1))
		return -ENODATA;
	*ret_value = c->registers[reg] + offset;
	return 0;
}

/* Locates the caller's value of a register: *ret_where is its address, or the value itself. Returns
 * 0, an error of dwarf_expr_eval(), or -ENODATA if the row has no usable rule. */
static int locate(const struct slow_rule *slow, const struct walk_register *reg,
		  const struct dwarf_expr_context *c, bool *ret_is_address, uint64_t *ret_where)
{
	uint64_t offset = (uint64_t)(int64_t)reg->rule.offset;
	struct dwarf_expr_result result;
	int err;

	*ret_is_address = reg->rule.how == CFI_AT_CFA || reg->rule.how == CFI_AT_REG;
	switch (reg->rule.how) {
	case CFI_AT_CFA:
	case CFI_IS_CFA:
		*ret_where = c->cfa + offset;
		return 0;
	case CFI_AT_REG:
		return read_register(c, reg->rule.reg, offset, ret_where);
	case CFI_IN_REG:
		return read_register(c, reg->rule.reg, 0, ret_where);
	case CFI_EXPRESSION:
	case CFI_VAL_EXPRESSION:
		break;
	default:
		return -ENODATA;
	}
	err = dwarf_expr_eval(slow->ops + reg->ops.first, reg->ops.count, c, &result);
	if (err)
		return err;
	if (result.kind == DWARF_EXPR_REGISTER)
		return read_register(c, result.value, 0, ret_where);
	*ret_is_address = result.kind == DWARF_EXPR_ADDRESS;
	*ret_where = result.value;
	return 0;
}

/* The caller's value of a register, and its address where it is in memory (else 0). Errors as
 * locate(); -EFAULT: the address cannot be read. */
static int restore(const struct slow_rule *slow, const struct walk_register *reg,
		   const struct dwarf_expr_context *c, uint64_t *ret_value, uint64_t *ret_slot)
{
	bool is_address;
	uint64_t where;
	int err = locate(slow, reg, c, &is_address, &where);

	*ret_slot = 0;
	if (err)
		return err;
	if (!is_address) {
		*ret_value = where;
		return 0;
	}
	*ret_slot = where;
	return c->read(c->arg, where, 8, ret_value) ? 0 : -EFAULT;
}

/* A register of which the row says nothing, or that it is the same, keeps its value. */
static bool is_unchanged(const struct walk_register *reg)
{
	return reg->rule.how == CFI_UNSET || reg->rule.how == CFI_SAME;
}

static void restore_registers(const struct walk_rule *rule, const struct dwarf_expr_context *c,
			      struct walk_state *s)
{
	uint64_t r[STACKD_REG_COUNT], slot;
	uint32_t known = s->known;

	memcpy(r, s->r, sizeof(r));
	if (!rule->is_signal)
		known &= WALK_KNOWN_AFTER_CALL;
	for (int i = 0; i < STACKD_REG_COUNT; i++) {
		const struct walk_register *reg = &rule->slow->reg[i];

		if (is_unchanged(reg))
			continue;
		if (!restore(rule->slow, reg, c, &r[i], &slot))
			known |= 1u << i;
		else if (!slot || !is_popped(s, slot))
			known &= ~(1u << i);
	}
	memcpy(s->r, r, sizeof(r));
	s->known = known;
}

/* The CFA of a slow rule, by its fixed form or its expression. */
static enum stackd_end_reason slow_cfa(const struct slow_rule *slow,
				       const struct dwarf_expr_context *c,
				       const struct watched_memory *w, const struct walk_state *s,
				       uint64_t *ret_cfa)
{
	struct dwarf_expr_result result;
	int err;

	if (slow->cfa.cfa != STACKD_CFA_DAEMON)
		return fast_cfa(&slow->cfa, w->memory, s, ret_cfa);
	err = dwarf_expr_eval(slow->ops + slow->cfa_ops.first, slow->cfa_ops.count, c, &result);
	if (!err && result.kind == DWARF_EXPR_REGISTER)
		err = -EINVAL;
	if (!err)
		*ret_cfa = result.value;
	return reason_of(err, w);
}

static enum stackd_end_reason step_slow(const struct walk_rule *rule, const struct walk_memory *m,
					struct walk_state *s)
{
	const struct slow_rule *slow = rule->slow;
	const struct walk_register *caller_sp = &slow->reg[STACKD_REG_SP];
	struct watched_memory watched = {.memory = m};
	struct dwarf_expr_context c = {
		.registers = s->r, .known = s->known, .read = read_watched, .arg = &watched};
	enum stackd_end_reason reason = slow_cfa(slow, &c, &watched, s, &c.cfa);
	uint64_t pc, slot, unused, sp = c.cfa;
	int err;

	if (reason != WALK_GOES_ON)
		return reason;
	c.has_cfa = true;
	err = restore(slow, &slow->reg[STACKD_REG_PC], &c, &pc, &slot);
	if (!err && !is_unchanged(caller_sp))
		err = restore(slow, caller_sp, &c, &sp, &unused);
	if (err)
		return reason_of(err, &watched);
	if (!makes_progress(s, sp, rule->is_signal))
		return STACKD_END_NO_PROGRESS;
	restore_registers(rule, &c, s);
	s->known |= 1u << STACKD_REG_SP | 1u << STACKD_REG_PC;
	become_caller(s, sp, pc, slot, rule->is_signal);
	return WALK_GOES_ON;
}

enum stackd_end_reason walk_step(const struct walk_rule *rule, const struct walk_memory *memory,
				 struct walk_state *state)
{
	switch (rule->fast.cfa) {
	case STACKD_CFA_REG:
	case STACKD_CFA_DEREF:
	case STACKD_CFA_PLT:
	case STACKD_CFA_OTHER:
	case STACKD_CFA_SCHEDULER:
	case STACKD_CFA_INJECTED:
		return step_fast(rule, memory, state);
	case STACKD_CFA_SIGNAL:
		return step_signal(rule, memory, state);
	case STACKD_CFA_END:
		return STACKD_END_ENTRY;
	case STACKD_CFA_SWITCH:
	case STACKD_CFA_GOROUTINE:
	case STACKD_CFA_DEPTH:
	case STACKD_CFA_CALLBACK:
		return STACKD_END_STACK_SWITCH;
	}
	return rule->slow ? step_slow(rule, memory, state) : STACKD_END_BAD_RECIPE;
}
