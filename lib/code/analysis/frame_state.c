/* SPDX-License-Identifier: MIT */
/* Applies instructions to a frame; see frame_state.h. */
#include "analysis/frame_state.h"

#include <string.h>

#define IN_BOTH                                                                                    \
	(FRAME_BOTTOM | FRAME_SP_LOADED |                                                          \
	 FRAME_HAS_TARGET) /* a join keeps these if both states have them */

void frame_state_init(struct frame_state *ret_state)
{
	memset(ret_state, 0, sizeof(*ret_state));
	ret_state->reg[INSN_SP] = (struct frame_value){-ARCH_CALL_PUSHES, FRAME_CFA};
}

void frame_state_forget(struct frame_state *ret_state)
{
	memset(ret_state, 0, sizeof(*ret_state));
	ret_state->changed = ((1u << STACKD_SAVED_COUNT) - 1) | FRAME_FP_KEPT | FRAME_USED_CALLERS;
}

void frame_state_reduce(struct frame_state *s)
{
	for (unsigned r = 0; r < INSN_REG_COUNT; r++) {
		if (r != INSN_SP && r != INSN_FP)
			s->reg[r] = (struct frame_value){0};
	}
	s->changed |= ((1u << STACKD_SAVED_COUNT) - 1) & ~1u;
}

void frame_state_land(struct frame_state *s)
{
	frame_state_reduce(s);
	s->reg[INSN_FP] = (struct frame_value){0};
	s->changed |= 1u;
}

void frame_state_enter(struct frame_state *s)
{
	frame_state_reduce(s);
	s->reg[INSN_SP] = (struct frame_value){0};
}

static struct frame_value moved(struct frame_value v, int64_t by)
{
	int64_t sum = v.offset + by;

	if (v.origin == FRAME_UNKNOWN || sum > INT32_MAX / 2 || sum < INT32_MIN / 2 ||
	    (v.origin == FRAME_RETURN && by))
		return (struct frame_value){0};
	v.offset = (int32_t)sum;
	return v;
}

static bool same(struct frame_value a, struct frame_value b)
{
	return a.origin == b.origin && a.offset == b.offset;
}

/* Gives a register another value. */
static void assign(struct frame_state *s, unsigned reg, struct frame_value v)
{
	int k = insn_saved_index(reg);

	if (reg >= INSN_NO_REG)
		return;
	s->reg[reg] = v;
	if (k >= 0)
		s->changed |= 1u << k;
	if (reg == INSN_FP)
		s->changed &= ~FRAME_BOTTOM;
}

/* Returns the index in s->held of a slot of the realigned stack; -1: it is not there. */
static int held_index(const struct frame_state *s, struct frame_value slot)
{
	for (int k = 0; k < FRAME_HELD_COUNT && slot.origin == FRAME_ALIGNED; k++) {
		if (s->held[k].origin && s->held_at[k] == slot.offset)
			return k;
	}
	return -1;
}

static void forget_held(struct frame_state *s, int k)
{
	s->held[k] = (struct frame_value){0};
	s->held_at[k] = 0;
}

/* Notes a value that is written to a slot of the realigned stack. Slot 0 stays, since prologues
 * write it and epilogues read it; later values replace each other. */
static void hold(struct frame_state *s, struct frame_value v, int32_t at)
{
	int k = 0;

	while (k < FRAME_HELD_COUNT - 1 && s->held[k].origin)
		k++;
	s->held[k] = v;
	s->held_at[k] = at;
}

/* Counts distances from where the CFA is now that the return address is on top of the stack, and
 * not where it was. What the frame had is above it, and slots of saved registers are no more. */
static void begin_again(struct frame_state *s)
{
	const struct frame_value top = s->reg[INSN_SP];

	for (unsigned r = 0; r < INSN_REG_COUNT; r++) {
		if (s->reg[r].origin != FRAME_CFA || top.origin != FRAME_CFA)
			s->reg[r] = (struct frame_value){0};
		else
			s->reg[r] = moved(s->reg[r], ARCH_RETURN_SLOT - (int64_t)top.offset);
	}
	memset(s->saved, 0, sizeof(s->saved));
	for (int k = 0; k < FRAME_HELD_COUNT; k++)
		forget_held(s, k);
	s->copy = (struct frame_value){0};
	s->reg[INSN_SP] = (struct frame_value){ARCH_RETURN_SLOT, FRAME_CFA};
	s->changed &= ~(FRAME_HAS_TARGET | FRAME_SP_LOADED | FRAME_SP_SHARED);
}

/* Writes a register to a slot. */
static void store(struct frame_state *s, unsigned reg, struct frame_value slot)
{
	int k = insn_saved_index(reg), held = held_index(s, slot);

	if (slot.origin == FRAME_UNKNOWN)
		return;
	if (slot.origin == FRAME_CFA && slot.offset == ARCH_RETURN_SLOT) {
		if (s->copy.origin && same(s->copy, s->reg[INSN_SP])) {
			begin_again(s);
			return;
		}
		s->changed |= FRAME_HAS_TARGET;
	}
	if (same(s->copy, slot))
		s->copy = (struct frame_value){0};
	if (held >= 0)
		forget_held(s, held);
	if (reg < INSN_NO_REG && slot.origin == FRAME_ALIGNED && s->reg[reg].origin == FRAME_CFA)
		hold(s, s->reg[reg], slot.offset);
	if (k >= 0 && !(s->changed >> k & 1) && s->saved[k].origin == FRAME_UNKNOWN &&
	    (slot.origin != FRAME_CFA || slot.offset < -8))
		s->saved[k] = slot;
}

/* Reads a register from a slot. */
static void load(struct frame_state *s, unsigned reg, struct frame_value slot)
{
	int k = insn_saved_index(reg), held = held_index(s, slot);

	assign(s, reg, held >= 0 ? s->held[held] : (struct frame_value){0});
	if (k >= 0 && slot.origin && same(s->saved[k], slot)) {
		s->changed &= ~(1u << k);
		s->saved[k] = (struct frame_value){0};
	}
}

/* Returns whether a register is one that code may use for anything. */
static bool is_free(unsigned reg)
{
	return reg < INSN_REG_COUNT && reg != INSN_SP && reg != INSN_FP;
}

static void pop(struct frame_state *s, unsigned reg)
{
	struct frame_value top = s->reg[INSN_SP];

	s->reg[INSN_SP] = moved(top, 8);
	load(s, reg, top);
	if (top.origin == FRAME_CFA && top.offset == ARCH_RETURN_SLOT && is_free(reg) &&
	    !(s->changed & FRAME_HAS_TARGET))
		s->reg[reg] = (struct frame_value){.origin = FRAME_RETURN};
}

/* Returns whether an instruction pushes a copy of the return address, which stays in its slot. */
static bool copies_return(const struct frame_state *s, const struct insn *i)
{
	const struct frame_value *top = &s->reg[INSN_SP];

	return i->idiom == INSN_STACK_WORD && top->origin == FRAME_CFA &&
	       top->offset + i->disp == ARCH_RETURN_SLOT && !(s->changed & FRAME_HAS_TARGET);
}

static void push(struct frame_state *s, const struct insn *i)
{
	const bool is_copy = copies_return(s, i);
	const bool is_return = i->src < INSN_REG_COUNT && s->reg[i->src].origin == FRAME_RETURN;

	s->reg[INSN_SP] = moved(s->reg[INSN_SP], -8);
	if (is_return) {
		begin_again(s);
		return;
	}
	store(s, i->src, s->reg[INSN_SP]);
	if (is_copy)
		s->copy = s->reg[INSN_SP];
}

static void zero(struct frame_state *s, unsigned reg)
{
	bool is_bottom = reg == INSN_FP && !(s->changed & 1) && s->saved[0].origin == FRAME_UNKNOWN;

	assign(s, reg, (struct frame_value){0});
	if (is_bottom)
		s->changed |= FRAME_BOTTOM;
}

/* Returns whether a slot is below the stack pointer, so that it no longer belongs to the frame, and
 * walks do not read it. */
static bool is_below(const struct frame_state *s, struct frame_value slot)
{
	struct frame_value top = s->reg[INSN_SP];

	return slot.origin && slot.origin == top.origin && slot.offset < top.offset;
}

/* Forgets the registers that callees do not preserve, and saved slots below the stack pointer.
 * There is an exception: the CFA in such a register, if the callee is in the same code. A function
 * that has the CFA nowhere else needs it to return, so it calls nothing that changes the register.
 * (If a function also has it elsewhere, its rule uses that: see base_of().) */
static void apply_call(struct frame_state *s, bool is_local)
{
	for (int k = 0; k < STACKD_SAVED_COUNT; k++) {
		if (is_below(s, s->saved[k]))
			s->saved[k] = (struct frame_value){0};
	}
	if (is_below(s, s->copy))
		s->copy = (struct frame_value){0};
	for (unsigned r = 0; r < INSN_REG_COUNT; r++) {
		if (INSN_VOLATILE >> r & 1 && !(is_local && s->reg[r].origin == FRAME_CFA))
			s->reg[r] = (struct frame_value){0};
	}
}

static void apply_other(struct frame_state *s, uint32_t written)
{
	for (unsigned r = 0; r < INSN_REG_COUNT; r++) {
		if (written >> r & 1)
			assign(s, r, (struct frame_value){0});
	}
}

static void align(struct frame_state *s)
{
	for (unsigned r = 0; r < INSN_REG_COUNT; r++) {
		if (s->reg[r].origin == FRAME_ALIGNED)
			s->reg[r] = (struct frame_value){0};
	}
	for (int k = 0; k < STACKD_SAVED_COUNT; k++) {
		if (s->saved[k].origin == FRAME_ALIGNED) {
			s->saved[k] = (struct frame_value){0};
			s->changed |= 1u << k;
		}
	}
	for (int k = 0; k < FRAME_HELD_COUNT; k++)
		forget_held(s, k);
	s->reg[INSN_SP] = (struct frame_value){0, FRAME_ALIGNED};
}

/* Returns whether an instruction uses the caller's value of a callee-saved register. */
static bool uses_callers(const struct frame_state *s, const struct insn *i)
{
	if (s->changed & FRAME_USED_CALLERS)
		return false;
	for (uint32_t left = i->used; left; left &= left - 1) {
		int k = insn_saved_index((unsigned)__builtin_ctz(left));

		if (k >= 0 && !(s->changed >> k & 1))
			return true;
	}
	return false;
}

bool frame_state_ignores(const struct frame_state *s, const struct insn *i)
{
	if (i->op != INSN_OTHER || i->reads_fp || i->flow == INSN_CALL ||
	    i->flow == INSN_CALL_INDIRECT || uses_callers(s, i))
		return false;
	for (uint32_t left = i->written; left; left &= left - 1) {
		unsigned r = (unsigned)__builtin_ctz(left);
		int k = insn_saved_index(r);

		if (s->reg[r].origin || (k >= 0 && !(s->changed >> k & 1)) || r == INSN_FP)
			return false;
	}
	return true;
}

/* Notes that the caller's frame pointer was read, and may have been saved elsewhere. */
static void note_read(struct frame_state *s)
{
	if (!(s->changed & 1) && s->saved[0].origin == FRAME_UNKNOWN)
		s->changed |= FRAME_FP_KEPT;
}

/* Returns whether an instruction loads the stack pointer from memory that is not known to be in the
 * function's frame. */
static bool loads_stack_pointer(const struct frame_state *s, const struct insn *i)
{
	return i->op == INSN_LOAD && i->src < INSN_NO_REG && i->src != INSN_SP &&
	       i->src != INSN_FP && !s->reg[i->src].origin;
}

/* Notes whether the stack pointer is loaded from outside of the frame; and whether an address in
 * the frame is written to memory outside of it, from which the stack pointer can be computed
 * again. */
static void note_stack_pointer(struct frame_state *s, const struct insn *i)
{
	if (i->op == INSN_STORE && i->src < INSN_NO_REG && s->reg[i->src].origin &&
	    s->reg[i->src].origin != FRAME_RETURN && !s->reg[i->dst].origin)
		s->changed |= FRAME_SP_SHARED;
	else if (i->dst == INSN_SP && i->src != INSN_SP &&
		 (i->op == INSN_LOAD || i->op == INSN_COPY))
		s->changed = (s->changed & ~FRAME_SP_LOADED) |
			     (loads_stack_pointer(s, i) ? FRAME_SP_LOADED : 0);
}

static bool is_tracked(const struct frame_state *s, const struct insn *i)
{
	return i->op == INSN_STORE && s->reg[i->dst].origin;
}

void frame_state_apply(struct frame_state *s, const struct insn *i)
{
	if (i->reads_fp && !is_tracked(s, i))
		note_read(s);
	if (uses_callers(s, i))
		s->changed |= FRAME_USED_CALLERS;
	note_stack_pointer(s, i);
	if (i->flow == INSN_CALL || i->flow == INSN_CALL_INDIRECT) {
		apply_call(s, i->is_local);
		return;
	}
	switch (i->op) {
	case INSN_PUSH:
		push(s, i);
		break;
	case INSN_POP:
		pop(s, i->dst);
		break;
	case INSN_LEAVE:
		s->reg[INSN_SP] = s->reg[INSN_FP];
		pop(s, INSN_FP);
		break;
	case INSN_COPY:
		assign(s, i->dst, moved(s->reg[i->src], i->disp));
		if (!is_free(i->dst) && s->reg[i->dst].origin == FRAME_RETURN)
			s->reg[i->dst] = (struct frame_value){0};
		break;
	case INSN_LOAD:
		load(s, i->dst, moved(s->reg[i->src], i->disp));
		break;
	case INSN_STORE:
		store(s, i->src, moved(s->reg[i->dst], i->disp));
		break;
	case INSN_ALIGN:
		align(s);
		break;
	case INSN_ZERO:
		zero(s, i->dst);
		break;
	default:
		apply_other(s, i->written);
		break;
	}
}

void frame_state_set_sp(struct frame_state *s, unsigned reg)
{
	if (s->reg[reg].origin && s->reg[reg].origin != FRAME_RETURN)
		s->reg[INSN_SP] = s->reg[reg];
}

bool frame_state_is_same_frame(const struct frame_state *a, const struct frame_state *b)
{
	return same(a->reg[INSN_SP], b->reg[INSN_SP]) && same(a->reg[INSN_FP], b->reg[INSN_FP]) &&
	       !memcmp(a->saved, b->saved, sizeof(a->saved)) &&
	       !memcmp(a->held, b->held, sizeof(a->held)) &&
	       !memcmp(a->held_at, b->held_at, sizeof(a->held_at));
}

bool frame_state_join(struct frame_state *into, const struct frame_state *other)
{
	struct frame_state before = *into;

	if (!memcmp(into, other, sizeof(*into)))
		return false;
	for (unsigned r = 0; r < INSN_REG_COUNT; r++) {
		if (!same(into->reg[r], other->reg[r]))
			into->reg[r] = (struct frame_value){0};
	}
	if (!same(into->copy, other->copy))
		into->copy = (struct frame_value){0};
	into->changed =
		(into->changed | other->changed) & ~(IN_BOTH & ~(into->changed & other->changed));
	for (int k = 0; k < STACKD_SAVED_COUNT; k++) {
		if (!same(into->saved[k], other->saved[k]))
			into->saved[k] = (struct frame_value){0};
	}
	for (int k = 0; k < FRAME_HELD_COUNT; k++) {
		if (!same(into->held[k], other->held[k]) || into->held_at[k] != other->held_at[k])
			forget_held(into, k);
	}
	return memcmp(&before, into, sizeof(before)) != 0;
}

bool frame_state_is_at_return(const struct frame_state *s)
{
	return s->reg[INSN_SP].origin == FRAME_CFA && s->reg[INSN_SP].offset == -8;
}

uint32_t frame_state_saved_since(const struct frame_state *before, const struct frame_state *after)
{
	uint32_t saved = 0;

	for (unsigned k = 0; k < STACKD_SAVED_COUNT; k++) {
		if (after->saved[k].origin && !before->saved[k].origin)
			saved |= 1u << k;
	}
	return saved;
}

bool frame_state_has_left(const struct frame_state *s)
{
	if (s->reg[INSN_SP].origin || !(s->changed & FRAME_SP_LOADED) ||
	    s->changed & FRAME_SP_SHARED)
		return false;
	for (unsigned r = 0; r < INSN_REG_COUNT; r++) {
		if (s->reg[r].origin)
			return false;
	}
	return true;
}

/* Returns a register of a set that has a known distance from the CFA; INSN_NO_REG: none has. */
static unsigned base_among(const struct frame_state *s, uint32_t registers)
{
	for (unsigned r = 0; r < INSN_REG_COUNT; r++) {
		if (registers >> r & 1 && s->reg[r].origin == FRAME_CFA)
			return r;
	}
	return INSN_NO_REG;
}

bool frame_state_is_framed(const struct frame_state *s)
{
	static const struct frame_value frame = {-16, FRAME_CFA};

	return same(s->reg[INSN_FP], frame) && same(s->saved[0], frame);
}

bool frame_state_uses_frame(const struct frame_state *s, const struct insn *i)
{
	int64_t at = (int64_t)s->reg[INSN_FP].offset + i->disp;

	return i->op == INSN_STORE && i->dst == INSN_FP && i->disp < 0 &&
	       frame_state_is_framed(s) &&
	       (s->reg[INSN_SP].origin != FRAME_CFA || at >= s->reg[INSN_SP].offset);
}

/* Returns the best register to compute the CFA from: the frame pointer if it is set up as in
 * compilers' CFI, then the stack pointer. */
static unsigned base_of(const struct frame_state *s)
{
	if (frame_state_is_framed(s))
		return INSN_FP;
	if (s->reg[INSN_SP].origin == FRAME_CFA)
		return INSN_SP;
	return s->reg[INSN_FP].origin == FRAME_CFA ? INSN_FP : INSN_NO_REG;
}

/* Sets the CFA to the word in a slot of the realigned stack, plus a constant. Returns false if no
 * slot has it. */
static bool set_held_cfa(const struct frame_state *s, struct stackd_rule *rule)
{
	unsigned base = s->reg[INSN_FP].origin == FRAME_ALIGNED ? INSN_FP : INSN_SP;

	if (s->reg[base].origin != FRAME_ALIGNED)
		return false;
	for (int k = 0; k < FRAME_HELD_COUNT; k++) {
		struct frame_value slot = {s->held_at[k], FRAME_ALIGNED};

		if (!s->held[k].origin || s->held[k].offset < -INT16_MAX ||
		    s->held[k].offset > INT16_MAX || is_below(s, slot))
			continue;
		rule->cfa = STACKD_CFA_DEREF;
		rule->reg = (uint8_t)insn_dwarf_number(base);
		rule->cfa_offset = s->held_at[k] - s->reg[base].offset;
		rule->cfa_add = (int16_t)-s->held[k].offset;
		return true;
	}
	return false;
}

unsigned frame_state_lone_register(const struct frame_state *s)
{
	struct stackd_rule unused;

	if (base_of(s) != INSN_NO_REG || set_held_cfa(s, &unused) ||
	    base_among(s, ~INSN_VOLATILE) != INSN_NO_REG)
		return INSN_NO_REG;
	return base_among(s, INSN_VOLATILE);
}

unsigned frame_state_preserved_base(const struct frame_state *s)
{
	return base_of(s) == INSN_NO_REG ? base_among(s, ~INSN_VOLATILE) : INSN_NO_REG;
}

/* Sets a rule's CFA. In compilers' realigned frames, it is in a slot relative to the frame pointer.
 * In assembly code, a callee-saved register is preferred to a slot, which may be overwritten. */
static bool set_cfa(const struct frame_state *s, struct stackd_rule *rule)
{
	unsigned base = base_of(s);
	bool has_fp = s->reg[INSN_FP].origin == FRAME_ALIGNED;

	rule->ra_offset = -8;
	if (base == INSN_NO_REG && has_fp && set_held_cfa(s, rule))
		return true;
	if (base == INSN_NO_REG)
		base = base_among(s, ~INSN_VOLATILE);
	if (base == INSN_NO_REG && set_held_cfa(s, rule))
		return true;
	if (base == INSN_NO_REG)
		base = base_among(s, INSN_VOLATILE);
	if (base == INSN_NO_REG)
		return false;
	rule->cfa = STACKD_CFA_REG;
	rule->reg = (uint8_t)insn_dwarf_number(base);
	rule->cfa_offset = -s->reg[base].offset;
	return base != INSN_SP || rule->cfa_offset >= 8;
}

bool frame_state_releases_callers(const struct frame_state *s, const struct insn *i)
{
	bool sets_sp = i->op == INSN_LEAVE ||
		       (i->op == INSN_COPY && i->dst == INSN_SP && i->src == INSN_FP);

	return sets_sp && !(s->changed & 1) && s->saved[0].origin == FRAME_UNKNOWN;
}

bool frame_state_lost_fp(const struct frame_state *s)
{
	return s->changed & 1 && s->saved[0].origin == FRAME_UNKNOWN;
}

/* Returns whether a saved register has no slot that a walk could read. */
static bool is_slotless(const struct frame_state *s, int k)
{
	return s->saved[k].origin == FRAME_UNKNOWN || is_below(s, s->saved[k]);
}

/* Sets the slots of callee-saved registers. Functions within a file may have a calling convention
 * of their own, and change a register that they have never read, because their callers do not need
 * it or have saved it. Then only its value in the caller's frame is lost, and the rule at such a
 * call never computes the CFA from a register that the callee changes. But the frame pointer, which
 * many rules use, may have been saved at an unknown location. Returns false if the rule cannot be
 * made. */
static bool set_saved(const struct frame_state *s, struct stackd_rule *rule)
{
	unsigned base = s->reg[INSN_FP].origin == FRAME_ALIGNED ? INSN_FP : INSN_SP;

	for (int k = 0; k < STACKD_SAVED_COUNT; k++) {
		int64_t at = s->saved[k].offset;

		if (is_slotless(s, k)) {
			if (!k && s->changed & 1 &&
			    (s->saved[k].origin || s->changed & FRAME_FP_KEPT))
				return false;
			continue;
		}
		if (s->saved[k].origin == FRAME_ALIGNED) {
			if (s->reg[base].origin != FRAME_ALIGNED)
				return false;
			at -= s->reg[base].offset;
			rule->saved_reg = (uint8_t)insn_dwarf_number(base);
			rule->saved_via_reg |= (uint8_t)(1u << k);
		}
		if (at < INT16_MIN || at > INT16_MAX)
			return false;
		rule->saved[k] = (int16_t)at;
	}
	return true;
}

/* Returns whether the frame is the outermost: code has marked it so, and has left no return
 * address. */
static bool is_bottom(const struct frame_state *s)
{
	struct frame_value top = s->reg[INSN_SP];

	return s->changed & FRAME_BOTTOM && !(top.origin == FRAME_CFA && top.offset <= -8);
}

bool frame_state_rule(const struct frame_state *s, struct stackd_rule *ret_rule,
		      enum analysis_abstained *ret_why)
{
	memset(ret_rule, 0, sizeof(*ret_rule));
	if (is_bottom(s)) {
		ret_rule->cfa = STACKD_CFA_END;
		return true;
	}
	*ret_why = ANALYSIS_ABSTAINED_CFA;
	if (frame_state_has_target(s))
		return false;
	if (!set_cfa(s, ret_rule))
		return false;
	*ret_why = ANALYSIS_ABSTAINED_SAVED;
	return set_saved(s, ret_rule);
}
