/* SPDX-License-Identifier: MIT */
/* Finds the parts of a function that throws, and changes their rules; see eh_return.h. */
#include "unwind/eh_return.h"

#include "arch/insn.h"
#include "arch/target.h"

#define MOST_CODE 4096 /* bytes of such a function; libgcc's have some 900 */

static const uint8_t data_regs[] = {ARCH_LANDING_REGS};

/* Returns whether a row is of such a function, after its prologue: it has saved the registers that
 * bring values to a landing pad, which no other function does. */
static bool is_row(const struct cfi_state *state)
{
	bool is = state->refused == CFI_ACCEPTED && state->cfa == STACKD_CFA_REG;

	for (size_t i = 0; is && i < sizeof(data_regs); i++)
		is = state->regs[data_regs[i]].how == CFI_AT_CFA;
	return is;
}

/* Returns whether a row that follows such a row is where all registers have been loaded: the frame
 * then counts from one that brings the new stack pointer. */
static bool is_end(const struct cfi_state *row, const struct cfi_state *next)
{
	return row->cfa_reg == STACKD_REG_FP && next->cfa_reg < STACKD_REG_PC &&
	       ARCH_VOLATILE_REGS >> next->cfa_reg & 1;
}

/* --- its code --------------------------------------------------------------------------------- */

/* What is known of it while its instructions are read in order. */
struct reading {
	struct eh_return *e;
	const struct cfi_state *end; /* its row where the registers have been loaded */
	uint64_t at, behind;	     /* file offsets: an instruction, and the next one */
	struct value {
		bool is_known; /* it is the frame pointer plus `add` */
		int32_t add;
	} values[INSN_REG_COUNT]; /* of registers, up to the first call */
	bool has_return;	  /* it has loaded its return address */
	bool has_begun;		  /* it has called, jumped or branched */
	uint64_t calls[2];	  /* behind its last two calls in such a frame; 0: none */
	uint64_t stored; /* behind the first store since, to a place that a register gives */
};

/* The first call is that of uw_init_context_1(context, cfa, return address). */
static void take_context(struct reading *r)
{
	const struct value *context = &r->values[INSN_ARGUMENT], *cfa = &r->values[INSN_ARGUMENT_2];

	if (ARCH_CONTEXT_RETURN && context->is_known && context->add < 0 && cfa->is_known &&
	    cfa->add == r->e->last.cfa_offset && r->has_return)
		r->e->context = context->add;
}

/* Follows the addresses of the frame's parts through registers. */
static void follow_value(struct reading *r, const struct insn *i)
{
	struct value value = {.is_known = false};

	if (i->op == INSN_COPY && i->src < INSN_REG_COUNT)
		value = r->values[i->src];
	value.add += i->disp;
	if (i->op == INSN_COPY && i->dst == INSN_FP)
		value = (struct value){.is_known = true};
	if (i->op == INSN_LOAD && i->src == INSN_FP)
		r->has_return |= i->disp == r->e->last.cfa_offset + ARCH_RETURN_SLOT;
	for (unsigned reg = 0; reg < INSN_REG_COUNT; reg++)
		r->values[reg].is_known &= !(i->written >> reg & 1);
	if (i->op == INSN_COPY && i->dst < INSN_REG_COUNT)
		r->values[i->dst] = value;
}

/* Returns whether an instruction writes a register of DWARF's number. */
static bool writes(const struct insn *i, unsigned number)
{
	for (unsigned reg = 0; reg < INSN_REG_COUNT; reg++)
		if (i->written >> reg & 1 && insn_dwarf_number(reg) == number)
			return true;
	return false;
}

/* Returns whether an instruction stores to a place in the frame of which a register gives the
 * distance, as that of the landing pad's address. (Or compares one: then it comes too early.) */
static bool stores_at_distance(const struct insn *i)
{
	return i->flow == INSN_NEXT && !i->written && i->used >> INSN_FP & 1 &&
	       i->used & ~(1u << INSN_FP);
}

static void take(struct reading *r, const struct insn *i)
{
	struct eh_return *e = r->e;
	bool is_call = i->flow == INSN_CALL || i->flow == INSN_CALL_INDIRECT;

	if (is_call && !r->has_begun)
		take_context(r);
	r->has_begun |= i->flow != INSN_NEXT;
	if (!r->has_begun)
		follow_value(r, i);
	if (r->at < e->from)
		return;
	if (is_call) {
		r->calls[0] = r->calls[1];
		r->calls[1] = r->behind;
		r->stored = e->parts[EH_RETURN_LEAVING] = 0;
	} else if (!r->stored) {
		r->stored = stores_at_distance(i) ? r->behind : 0;
	} else if (writes(i, r->end->cfa_reg)) {
		e->parts[EH_RETURN_LEAVING] =
			i->idiom == INSN_SUM && i->src == INSN_FP ? r->behind : 0;
	}
}

/* Finds the parts of a function whose registers have been loaded at file offset `to`. The slots are
 * written by the first of the last two calls. Returns false if the code does not tell. */
static bool find_parts(struct eh_return *e, const struct elf_file *elf, uint64_t to,
		       const struct cfi_state *end)
{
	struct reading r = {.e = e, .end = end};
	struct insn_decoder decoder;
	uint8_t code[MOST_CODE];
	const size_t size = to - e->start;
	struct insn i;

	if (size > sizeof(code) || !elf_file_read_whole(elf, e->start, code, size))
		return false;
	insn_decoder_init(&decoder);
	for (size_t at = 0; at < size; at += i.length) {
		if (!insn_decode(&decoder, code + at, size - at, e->start + at, &i))
			return false;
		r.at = e->start + at;
		r.behind = r.at + i.length;
		take(&r, &i);
	}
	if (!r.calls[1])
		return false;
	e->parts[EH_RETURN_WRITTEN] = (r.calls[0] ? r.calls[0] : r.calls[1]) - 1;
	e->parts[EH_RETURN_BETWEEN] = r.stored ? r.stored : r.calls[1];
	if (!e->parts[EH_RETURN_LEAVING])
		e->parts[EH_RETURN_LEAVING] = to;
	e->parts[EH_RETURN_LEFT] = to;
	e->caught_reg = end->cfa_reg;
	e->caught_add = (int32_t)end->cfa_offset;
	return true;
}

/* --- rows and rules --------------------------------------------------------------------------- */

bool eh_return_add_row(struct eh_return *e, const struct elf_file *elf, uint64_t offset,
		       const struct cfi_state *state)
{
	e->start = e->start ? e->start : offset;
	if (e->is_such || !is_row(state))
		return false;
	e->is_such = e->from && is_end(&e->last, state) && find_parts(e, elf, offset, state);
	e->from = e->from ? e->from : offset;
	e->last = *state;
	return e->is_such;
}

enum eh_return_part eh_return_part_at(const struct eh_return *e, uint64_t offset)
{
	enum eh_return_part part = EH_RETURN_OTHER;

	for (int i = EH_RETURN_WRITTEN; e->is_such && i < EH_RETURN_PARTS; i++)
		if (offset >= e->parts[i])
			part = (enum eh_return_part)i;
	return part;
}

/* Gives each register a slot that has 0 in it, so that a frame that counts from one ends the walk.
 * (Rules cannot state that a register has no value.) */
static void lose_registers(const struct eh_return *e, struct stackd_rule *rule)
{
	for (int i = 0; i < STACKD_SAVED_COUNT; i++)
		rule->saved[i] = (int16_t)(e->context + ARCH_CONTEXT_ZERO);
	rule->saved_reg = STACKD_REG_FP;
	rule->saved_via_reg = (uint8_t)((1u << STACKD_SAVED_COUNT) - 1);
}

/* Makes the caller the function that catches, which has called nothing where it goes on. */
static void leave(const struct eh_return *e, struct stackd_rule *rule)
{
	for (int i = 0; i < STACKD_SAVED_COUNT; i++)
		rule->saved[i] = (int16_t)(rule->saved[i] + rule->cfa_offset);
	rule->cfa = STACKD_CFA_INJECTED;
	rule->saved_reg = STACKD_REG_FP;
	rule->saved_via_reg = (uint8_t)((1u << STACKD_SAVED_COUNT) - 1);
	rule->reg = e->caught_reg;
	rule->cfa_offset = e->caught_add;
}

void eh_return_change(const struct eh_return *e, enum eh_return_part part, struct stackd_rule *rule)
{
	const struct stackd_rule unknown = {.cfa = STACKD_CFA_SWITCH};
	const int64_t slot = e->context + ARCH_CONTEXT_RETURN - (int64_t)rule->cfa_offset;
	bool is_frame = rule->cfa == STACKD_CFA_REG && rule->reg == STACKD_REG_FP;

	for (int i = 0; i < STACKD_SAVED_COUNT; i++)
		is_frame &= rule->saved[i] != 0;
	if (part == EH_RETURN_LEFT && rule->cfa == STACKD_CFA_REG && rule->reg != STACKD_REG_FP &&
	    rule->ra_offset == ARCH_RETURN_SLOT) {
		*rule = (struct stackd_rule){.cfa = STACKD_CFA_INJECTED,
					     .reg = rule->reg,
					     .cfa_offset = rule->cfa_offset,
					     .ra_offset = ARCH_RETURN_SLOT};
	} else if (part == EH_RETURN_LEAVING && is_frame) {
		leave(e, rule);
	} else if (part == EH_RETURN_WRITTEN && is_frame && e->context && slot == (int16_t)slot) {
		rule->ra_offset = (int16_t)slot;
		lose_registers(e, rule);
	} else {
		*rule = unknown;
	}
}

struct search {
	struct eh_return e;
	const struct elf_file *elf;
	uint64_t distance; /* of a file offset from its vaddr */
};

static bool take_row(void *arg, const struct cfi_row *row)
{
	struct search *s = arg;

	return !eh_return_add_row(&s->e, s->elf, row->start + s->distance, &row->state);
}

/* Behind the last load, registers have their values, and call frame information still has slots. */
static void keep_registers(struct walk_rule *rule)
{
	for (unsigned i = 0; i < STACKD_REG_COUNT; i++)
		if (i != ARCH_CFI_RETURN)
			rule->slow->reg[i].rule.how = CFI_SAME;
	rule->is_signal = true;
}

void eh_return_improve(const struct elf_file *elf, const struct cfi_index *index, uint64_t vaddr,
		       uint64_t offset, struct walk_rule *rule)
{
	struct search s = {.elf = elf, .distance = offset - vaddr};
	enum eh_return_part part;
	struct cfi_row row;

	if (!index || rule->provenance != PROVENANCE_CFI || !cfi_index_row(index, vaddr, &row) ||
	    !is_row(&row.state))
		return;
	cfi_index_rows(index, vaddr, take_row, &s);
	part = eh_return_part_at(&s.e, offset);
	if (part == EH_RETURN_OTHER ||
	    (part == EH_RETURN_LEFT && row.state.cfa_reg == STACKD_REG_FP))
		return;
	if (part == EH_RETURN_LEFT && rule->slow) {
		keep_registers(rule);
		return;
	}
	walk_rule_free(rule);
	eh_return_change(&s.e, part, &rule->fast);
	rule->is_signal = rule->fast.cfa == STACKD_CFA_INJECTED;
	rule->provenance = PROVENANCE_ANALYSED;
}
