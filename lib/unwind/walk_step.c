/* SPDX-License-Identifier: MIT */
/*
 * Applying a rule; see walk_step.h. Three ways, by what the rule is: the fixed form (fast), the
 * kernel's signal frame (all registers from memory), and libdw's operations (slow).
 *
 * A saved register whose slot cannot be read becomes unknown and ends nothing: most are never
 * asked for. The walk ends where the CFA or the return address needs what is not there.
 *
 * A slot below rsp was popped: compilers do not say so in epilogues, where the rule still tells
 * of the slot. The register has its value back, and the copy of the stack begins above it.
 *
 * The caller's rsp is above the frame's, so that a walk always comes nearer to the stack's end;
 * only a signal frame may lead anywhere, and the limit of frames bounds those. The caller's rsp is
 * the CFA, but for assembly that says otherwise (GHC's StgRun: the CFA is its own rsp).
 */
#include "unwind/walk_step.h"

#include <errno.h>

#include "cfi/dwarf_expr.h"

enum stackd_end_reason walk_memory_reason(const struct walk_memory *m, uint64_t address)
{
	if (walk_memory_is_hole(m, address))
		return STACKD_END_UNREADABLE;
	return m->is_cut && address >= m->start ? STACKD_END_STACK_CUT : STACKD_END_UNREADABLE;
}

static bool makes_progress(const struct walk_state *s, uint64_t cfa, bool is_signal)
{
	uint64_t rsp = s->r[STACKD_REG_RSP];

	return is_signal || cfa > rsp || (s->may_be_at_cfa && cfa == rsp);
}

static void become_caller(struct walk_state *s, uint64_t cfa, uint64_t pc, uint64_t slot,
			  bool is_signal)
{
	s->r[STACKD_REG_RSP] = cfa;
	s->r[STACKD_REG_RIP] = pc;
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
		at += (s->r[STACKD_REG_RIP] & 15) >= (uint64_t)rule->cfa_add ? 8 : 0;
	} else if (rule->cfa == STACKD_CFA_DEREF) {
		if (!walk_memory_read8(m, at, &at))
			return walk_memory_reason(m, at);
		at += (uint64_t)(int64_t)rule->cfa_add;
	}
	*ret_cfa = at;
	return WALK_GOES_ON;
}

/* The caller's value of a register whose slot cannot be read is the one that it has. */
static bool is_popped(const struct walk_state *s, uint64_t slot)
{
	return slot < s->r[STACKD_REG_RSP];
}

static void restore_saved(const struct stackd_rule *rule, const struct walk_memory *m,
			  struct walk_state *s, uint64_t cfa)
{
#define X(name, number) number,
	static const uint8_t registers[] = {STACKD_SAVED_REGS(X)};
#undef X
	for (int i = 0; i < STACKD_SAVED_COUNT; i++) {
		uint64_t slot = cfa + (uint64_t)(int64_t)rule->saved[i];

		if (!rule->saved[i])
			continue;
		if (walk_memory_read8(m, slot, &s->r[registers[i]]))
			s->known |= 1u << registers[i];
		else if (!is_popped(s, slot))
			s->known &= ~(1u << registers[i]);
	}
}

static enum stackd_end_reason step_fast(const struct walk_rule *rule, const struct walk_memory *m,
					struct walk_state *s)
{
	uint64_t cfa = 0, slot, pc;
	enum stackd_end_reason reason = fast_cfa(&rule->fast, m, s, &cfa);

	if (reason != WALK_GOES_ON)
		return reason;
	if (!makes_progress(s, cfa, rule->is_signal))
		return STACKD_END_NO_PROGRESS;
	slot = cfa + (uint64_t)(int64_t)rule->fast.ra_offset;
	if (!walk_memory_read8(m, slot, &pc))
		return walk_memory_reason(m, slot);
	restore_saved(&rule->fast, m, s, cfa);
	s->known &= WALK_KNOWN_AFTER_CALL;
	become_caller(s, cfa, pc, slot, rule->is_signal);
	return WALK_GOES_ON;
}

static enum stackd_end_reason step_signal(const struct walk_rule *rule, const struct walk_memory *m,
					  struct walk_state *s)
{
	uint64_t context = s->r[STACKD_REG_RSP] + (uint64_t)(int64_t)rule->fast.cfa_offset;
	uint64_t r[STACKD_REG_COUNT];

	for (int i = 0; i < STACKD_REG_COUNT; i++) {
		uint64_t slot = context + 8u * walk_sigcontext_slot[i];

		if (!walk_memory_read8(m, slot, &r[i]))
			return walk_memory_reason(m, slot);
	}
	memcpy(s->r, r, sizeof(r));
	s->known = WALK_KNOWN_ALL;
	become_caller(s, r[STACKD_REG_RSP], r[STACKD_REG_RIP],
		      context + 8u * walk_sigcontext_slot[STACKD_REG_RIP], true);
	return WALK_GOES_ON;
}

/* --- libdw's operations -------------------------------------------------------------------- */

/* Memory for the evaluator, which remembers where it failed. */
struct watched_memory {
	const struct walk_memory *memory;
	uint64_t failed_at;
};

static bool read_watched(void *arg, uint64_t address, size_t bytes, uint64_t *ret_value)
{
	struct watched_memory *w = arg;
	uint64_t at = address - w->memory->start, value = 0;

	if (w->memory->len < bytes || at > w->memory->len - bytes) {
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

/* The value of a place, and its address where it is in memory (else 0). 0 or an error of
 * dwarf_expr_eval(). */
static int read_place(const struct slow_rule *slow, const struct walk_place *place,
		      const struct dwarf_expr_context *c, uint64_t *ret_value, uint64_t *ret_slot)
{
	struct dwarf_expr_result result = {.kind = DWARF_EXPR_ADDRESS};
	int r = 0;

	*ret_slot = 0;
	if (place->kind == WALK_PLACE_OPS)
		r = dwarf_expr_eval(slow->ops + place->first, place->count, c, &result);
	else
		result.value = c->cfa + (uint64_t)place->offset;
	if (r)
		return r;
	if (place->kind == WALK_PLACE_CFA || result.kind == DWARF_EXPR_VALUE) {
		*ret_value = result.value;
		return 0;
	}
	if (result.kind == DWARF_EXPR_REGISTER) {
		if (result.value >= STACKD_REG_COUNT || !(c->known >> result.value & 1))
			return -ENODATA;
		*ret_value = c->registers[result.value];
		return 0;
	}
	*ret_slot = result.value;
	return c->read(c->arg, result.value, 8, ret_value) ? 0 : -EFAULT;
}

static void restore_places(const struct walk_rule *rule, const struct dwarf_expr_context *c,
			   struct walk_state *s)
{
	uint64_t r[STACKD_REG_COUNT], slot;
	uint32_t known = s->known;

	memcpy(r, s->r, sizeof(r));
	if (!rule->is_signal)
		known &= WALK_KNOWN_AFTER_CALL;
	for (int i = 0; i < STACKD_REG_COUNT; i++) {
		const struct walk_place *place = &rule->slow->reg[i];

		if (place->kind == WALK_PLACE_SAME || place->kind == WALK_PLACE_UNDEFINED)
			continue;
		if (!read_place(rule->slow, place, c, &r[i], &slot))
			known |= 1u << i;
		else if (!slot || !is_popped(s, slot))
			known &= ~(1u << i);
	}
	memcpy(s->r, r, sizeof(r));
	s->known = known;
}

static enum stackd_end_reason step_slow(const struct walk_rule *rule, const struct walk_memory *m,
					struct walk_state *s)
{
	const struct slow_rule *slow = rule->slow;
	const struct walk_place *rsp = &slow->reg[STACKD_REG_RSP];
	struct watched_memory watched = {.memory = m};
	struct dwarf_expr_context c = {
		.registers = s->r, .known = s->known, .read = read_watched, .arg = &watched};
	struct dwarf_expr_result cfa;
	uint64_t pc, slot, unused, sp;
	int r = dwarf_expr_eval(slow->ops + slow->cfa.first, slow->cfa.count, &c, &cfa);

	if (!r && cfa.kind == DWARF_EXPR_REGISTER)
		r = -EINVAL;
	if (r)
		return reason_of(r, &watched);
	c.cfa = sp = cfa.value;
	c.has_cfa = true;
	r = read_place(slow, &slow->reg[slow->return_column], &c, &pc, &slot);
	if (!r && rsp->kind != WALK_PLACE_SAME && rsp->kind != WALK_PLACE_UNDEFINED)
		r = read_place(slow, rsp, &c, &sp, &unused);
	if (r)
		return reason_of(r, &watched);
	if (!makes_progress(s, sp, rule->is_signal))
		return STACKD_END_NO_PROGRESS;
	restore_places(rule, &c, s);
	s->known |= 1u << STACKD_REG_RSP | 1u << STACKD_REG_RIP;
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
		return step_fast(rule, memory, state);
	case STACKD_CFA_SIGNAL:
		return step_signal(rule, memory, state);
	case STACKD_CFA_END:
		return STACKD_END_ENTRY;
	}
	return rule->slow ? step_slow(rule, memory, state) : STACKD_END_BAD_RECIPE;
}
