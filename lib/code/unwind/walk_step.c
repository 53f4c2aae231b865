/* SPDX-License-Identifier: MIT */
/*
 * Applies a rule; see walk_step.h. The fixed form is applied by bpf/walk.h. A row that does not fit
 * it keeps its rules, with DWARF expressions, which are evaluated here. Unknown registers, memory
 * that cannot be read, and limits of a step are treated as in bpf/walk.h.
 *
 * The caller's stack pointer is the CFA, unless the row has a rule for it, as GHC's assembly has
 * (StgRun: the CFA counts from the stack pointer, and the caller's one is an expression).
 */
#include "unwind/walk_step.h"

#include <errno.h>

/* The copy is of one stack: addresses beyond its end are on another stack, and so is the frame to
 * which a rule of kind OTHER leads. */
enum stackd_end_reason walk_step_reason(const struct walk *w, const struct stackd_rule *rule,
					uint64_t address)
{
	const struct walk_memory *m = &((const struct stack_walk *)w)->memory;

	if (rule && rule->cfa == STACKD_CFA_OTHER)
		return STACKD_END_STACK_SWITCH;
	if (walk_memory_is_hole(m, address) || !m->is_cut || address < m->start)
		return STACKD_END_UNREADABLE;
	return m->end && address >= m->end ? STACKD_END_STACK_SWITCH : STACKD_END_STACK_CUT;
}

/* A step by a slow rule. */
struct slow_step {
	struct stack_walk *of;
	const struct slow_rule *rule;
	uint64_t registers[STACKD_REG_COUNT];
	struct dwarf_expr_context context; /* uses `registers` */
	uint64_t failed_at;		   /* address that could not be read */
};

static bool read_watched(void *arg, uint64_t address, size_t bytes, uint64_t *ret_value)
{
	struct slow_step *step = arg;
	const struct walk_memory *m = &step->of->memory;
	uint64_t at = address - m->start, value = 0;

	if (bytes == 8 && walk_memory_read_below(m, address, ret_value))
		return true;
	if (m->len < bytes || at > m->len - bytes || walk_memory_is_hole(m, address) ||
	    walk_memory_is_hole(m, address + bytes - 1)) {
		step->failed_at = address;
		return false;
	}
	memcpy(&value, m->bytes + at, bytes);
	*ret_value = value;
	return true;
}

static enum stackd_end_reason reason_of(int error, const struct slow_step *step)
{
	return error == -EFAULT ? walk_step_reason(&step->of->walk, NULL, step->failed_at)
				: STACKD_END_BAD_RECIPE;
}

/* Gives a register's value in this frame, plus an offset. Returns 0, or -ENODATA if it is not
 * known. */
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

/* Gives the caller's value of a register, and its address if it is in memory (else 0). Returns what
 * locate() returns, or -EFAULT if the address cannot be read. */
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

/* Returns whether a register keeps its value: it has no rule, or the rule "same value". */
static bool is_unchanged(const struct walk_register *reg)
{
	return reg->rule.how == CFI_UNSET || reg->rule.how == CFI_SAME;
}

/* A slot below the stack pointer was popped, so the register already has its value, as in
 * walk_restore_saved(). */
static void restore_registers(const struct slow_step *step, bool is_signal)
{
	struct walk *w = &step->of->walk;
	uint32_t valid = is_signal ? w->valid : w->valid & ARCH_PRESERVED_REGS;

	for (unsigned i = 0; i < WALK_REGS; i++) {
		const struct walk_register *reg = &step->rule->reg[i];
		uint64_t value, slot;

		if (is_unchanged(reg))
			continue;
		if (!restore(step->rule, reg, &step->context, &value, &slot)) {
			w->r[i] = value;
			valid |= 1u << i;
		} else if (!slot || slot >= step->registers[STACKD_REG_SP]) {
			valid &= ~(1u << i);
		}
	}
	w->valid = valid | 1u << STACKD_REG_SP;
}

/* Computes the CFA, by the fixed form or by an expression. */
static enum stackd_end_reason slow_cfa(struct slow_step *step)
{
	const struct slow_rule *rule = step->rule;
	struct dwarf_expr_result result;
	__u64 cfa = 0;
	int err;

	if (rule->cfa.cfa != STACKD_CFA_DAEMON) {
		int end = walk_cfa(&step->of->walk, &rule->cfa, &cfa);

		step->context.cfa = cfa;
		return end ? (enum stackd_end_reason)end : WALK_GO_ON;
	}
	err = dwarf_expr_eval(rule->ops + rule->cfa_ops.first, rule->cfa_ops.count, &step->context,
			      &result);
	if (!err && result.kind == DWARF_EXPR_REGISTER)
		err = -EINVAL;
	if (err)
		return reason_of(err, step);
	step->context.cfa = result.value;
	return WALK_GO_ON;
}

static void begin(struct slow_step *step)
{
	const struct walk *w = &step->of->walk;

	walk_step_registers(w, step->registers);
	step->context = (struct dwarf_expr_context){
		.registers = step->registers,
		.known = w->valid | UINT64_C(1) << STACKD_REG_PC,
		.read = read_watched,
		.arg = step,
	};
}

static enum stackd_end_reason step_slow(struct stack_walk *s, const struct walk_rule *rule)
{
	const struct slow_rule *slow = rule->slow;
	const struct walk_register *caller_sp = &slow->reg[STACKD_REG_SP];
	struct slow_step step = {.of = s, .rule = slow};
	enum stackd_end_reason reason;
	uint64_t pc, slot, unused, sp;
	int err;

	begin(&step);
	reason = slow_cfa(&step);
	if (reason != WALK_GO_ON)
		return reason;
	step.context.has_cfa = true;
	sp = step.context.cfa;
	err = restore(slow, &slow->reg[ARCH_CFI_RETURN], &step.context, &pc, &slot);
	if (!err && !is_unchanged(caller_sp))
		err = restore(slow, caller_sp, &step.context, &sp, &unused);
	if (err)
		return reason_of(err, &step);
	if (!rule->is_signal && !walk_rises(&s->walk, sp))
		return STACKD_END_NO_PROGRESS;
	restore_registers(&step, rule->is_signal);
	walk_arrive(&s->walk, sp, ARCH_CODE_ADDRESS(pc), slot, rule->is_signal);
	return WALK_GO_ON;
}

enum stackd_end_reason walk_step_by_rule(struct stack_walk *s, const struct walk_rule *rule)
{
	return rule->slow ? step_slow(s, rule)
			  : (enum stackd_end_reason)walk_step(&s->walk, &rule->fast);
}
