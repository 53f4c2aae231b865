/* SPDX-License-Identifier: MIT */
/*
 * The evaluator; see dwarf_expr.h. Every operation is of one of four kinds, each with a function:
 * push() pushes a value, unary() and binary() compute with the top of the stack, shuffle() only
 * moves values. An operation that none of them knows is refused.
 *
 * Arithmetic is on 64-bit words; signed where DWARF says so (abs, div, shra, the comparisons).
 * Branch targets are byte offsets, so a branch searches for the operation with that offset. The CFA
 * that is pushed before a register's expression has the offset UINT64_MAX, and is never a target.
 */
#include "cfi/dwarf_expr.h"

#include <dwarf.h>
#include <errno.h>

struct machine {
	const struct dwarf_expr_context *context;
	uint64_t stack[DWARF_EXPR_MAX_DEPTH];
	size_t depth;
};

enum { NOT_MINE = 1 }; /* result: the operation is of another kind */

static int put(struct machine *m, uint64_t value)
{
	if (m->depth == DWARF_EXPR_MAX_DEPTH)
		return -EINVAL;
	m->stack[m->depth++] = value;
	return 0;
}

static int put_register(struct machine *m, uint64_t number, uint64_t offset)
{
	if (number >= STACKD_REG_COUNT || !(m->context->known >> number & 1))
		return -ENODATA;
	return put(m, m->context->registers[number] + offset);
}

static int push(struct machine *m, const struct dwarf_expr_op *op)
{
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
		return put(m, op->atom - DW_OP_lit0);
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
		return put_register(m, op->atom - DW_OP_breg0, op->number);
	switch (op->atom) {
	case DW_OP_bregx:
		return put_register(m, op->number, op->number2);
	case DW_OP_const1u:
	case DW_OP_const1s:
	case DW_OP_const2u:
	case DW_OP_const2s:
	case DW_OP_const4u:
	case DW_OP_const4s:
	case DW_OP_const8u:
	case DW_OP_const8s:
	case DW_OP_constu:
	case DW_OP_consts:
		return put(m, op->number); /* its sign was extended when it was decoded */
	case DW_OP_call_frame_cfa:
		return m->context->has_cfa ? put(m, m->context->cfa) : -EINVAL;
	case DW_OP_nop:
		return 0;
	}
	return NOT_MINE;
}

static int dereference(struct machine *m, uint64_t *top, uint64_t bytes)
{
	if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
		return -EINVAL;
	return m->context->read(m->context->arg, *top, bytes, top) ? 0 : -EFAULT;
}

static int unary(struct machine *m, const struct dwarf_expr_op *op)
{
	uint64_t unused = 0;
	uint64_t *top = m->depth ? &m->stack[m->depth - 1] : &unused;
	int err = 0;

	switch (op->atom) {
	case DW_OP_deref:
		err = m->depth ? dereference(m, top, 8) : 0;
		break;
	case DW_OP_deref_size:
		err = m->depth ? dereference(m, top, op->number) : 0;
		break;
	case DW_OP_plus_uconst:
		*top += op->number;
		break;
	case DW_OP_abs:
		*top = (int64_t)*top < 0 ? -*top : *top;
		break;
	case DW_OP_neg:
		*top = -*top;
		break;
	case DW_OP_not:
		*top = ~*top;
		break;
	default:
		return NOT_MINE;
	}
	return m->depth ? err : -EINVAL;
}

static uint64_t shift_right_signed(uint64_t a, uint64_t by)
{
	return (uint64_t)((int64_t)a >> (by < 64 ? by : 63));
}

/* Computes a binary operation; a is the value below the top of the stack, b is the top. */
static int combine(unsigned atom, uint64_t a, uint64_t b, uint64_t *ret)
{
	int64_t sa = (int64_t)a, sb = (int64_t)b;

	switch (atom) {
#define CASE(name, expression)                                                                     \
	case DW_OP_##name:                                                                         \
		*ret = (uint64_t)(expression);                                                     \
		return 0
		CASE(and, a & b);
		CASE(or, a | b);
		CASE(xor, a ^ b);
		CASE(plus, a + b);
		CASE(minus, a - b);
		CASE(mul, a * b);
		CASE(shl, b < 64 ? a << b : 0);
		CASE(shr, b < 64 ? a >> b : 0);
		CASE(shra, shift_right_signed(a, b));
		CASE(eq, a == b);
		CASE(ne, a != b);
		CASE(lt, sa < sb);
		CASE(le, sa <= sb);
		CASE(gt, sa > sb);
		CASE(ge, sa >= sb);
#undef CASE
	case DW_OP_mod:
		if (b)
			*ret = a % b;
		return b ? 0 : -EINVAL;
	case DW_OP_div:
		if (!b)
			return -EINVAL;
		*ret = sb == -1 ? -a : (uint64_t)(sa / sb);
		return 0;
	}
	return NOT_MINE;
}

static int binary(struct machine *m, const struct dwarf_expr_op *op)
{
	uint64_t value = 0;
	uint64_t a = m->depth >= 2 ? m->stack[m->depth - 2] : 1;
	uint64_t b = m->depth >= 2 ? m->stack[m->depth - 1] : 1;
	int err = combine(op->atom, a, b, &value);

	if (err)
		return err;
	if (m->depth < 2)
		return -EINVAL;
	m->stack[--m->depth - 1] = value;
	return 0;
}

/* Exchanges the values `i` and `j` below the top. */
static int swap(struct machine *m, size_t i, size_t j)
{
	uint64_t *top = &m->stack[m->depth - 1], value;

	if (m->depth <= j)
		return -EINVAL;
	value = *(top - i);
	*(top - i) = *(top - j);
	*(top - j) = value;
	return 0;
}

static int pick(struct machine *m, uint64_t below_top)
{
	return below_top < m->depth ? put(m, m->stack[m->depth - 1 - below_top]) : -EINVAL;
}

static int shuffle(struct machine *m, const struct dwarf_expr_op *op)
{
	switch (op->atom) {
	case DW_OP_dup:
		return pick(m, 0);
	case DW_OP_over:
		return pick(m, 1);
	case DW_OP_pick:
		return pick(m, op->number);
	case DW_OP_drop:
		return m->depth-- ? 0 : -EINVAL;
	case DW_OP_swap:
		return m->depth < 2 ? -EINVAL : swap(m, 0, 1);
	case DW_OP_rot: /* the top becomes the third from the top */
		return m->depth < 3 ? -EINVAL : (swap(m, 0, 1), swap(m, 1, 2));
	}
	return NOT_MINE;
}

/* Gives the index of the operation at which a branch continues; `count`: the expression ends.
 * Returns 0 or -EINVAL. */
static int branch(const struct dwarf_expr_op *ops, size_t count, size_t from, size_t *ret_next)
{
	uint64_t target = ops[from].offset + 3 + (uint64_t)(int16_t)ops[from].number;

	for (size_t i = 0; i < count; i++) {
		if (ops[i].offset == target && target != UINT64_MAX) {
			*ret_next = i;
			return 0;
		}
	}
	if (target <= ops[count - 1].offset || (int64_t)target < 0)
		return -EINVAL;
	*ret_next = count;
	return 0;
}

static int step(struct machine *m, const struct dwarf_expr_op *ops, size_t count, size_t *next)
{
	const struct dwarf_expr_op *op = &ops[*next];
	int err;

	if (op->atom == DW_OP_skip)
		return branch(ops, count, *next, next);
	if (op->atom == DW_OP_bra) {
		if (!m->depth)
			return -EINVAL;
		if (m->stack[--m->depth])
			return branch(ops, count, *next, next);
		++*next;
		return 0;
	}
	++*next;
	err = push(m, op);
	if (err == NOT_MINE)
		err = unary(m, op);
	if (err == NOT_MINE)
		err = binary(m, op);
	if (err == NOT_MINE)
		err = shuffle(m, op);
	return err == NOT_MINE ? -EINVAL : err;
}

/* Returns whether the expression is a DW_OP_reg, which must be the only operation, except for the
 * CFA that is pushed before it. */
static bool names_register(const struct dwarf_expr_op *ops, size_t count,
			   struct dwarf_expr_result *result)
{
	if (count == 2 && ops[0].atom == DW_OP_call_frame_cfa)
		ops++, count--;
	if (count != 1)
		return false;
	if (ops->atom >= DW_OP_reg0 && ops->atom <= DW_OP_reg31)
		result->value = ops->atom - DW_OP_reg0;
	else if (ops->atom == DW_OP_regx)
		result->value = ops->number;
	else
		return false;
	result->kind = DWARF_EXPR_REGISTER;
	return true;
}

int dwarf_expr_eval(const struct dwarf_expr_op *ops, size_t count,
		    const struct dwarf_expr_context *context, struct dwarf_expr_result *ret_result)
{
	struct machine m = {.context = context};
	struct dwarf_expr_result result = {.kind = DWARF_EXPR_ADDRESS};
	size_t next = 0;

	if (names_register(ops, count, &result)) {
		*ret_result = result;
		return 0;
	}
	for (unsigned steps = 0; next < count; steps++) {
		int err;

		if (steps == DWARF_EXPR_MAX_STEPS)
			return -ELOOP;
		if (ops[next].atom == DW_OP_stack_value) {
			if (next != count - 1)
				return -EINVAL;
			result.kind = DWARF_EXPR_VALUE;
			break;
		}
		err = step(&m, ops, count, &next);
		if (err)
			return err;
	}
	if (!m.depth)
		return -EINVAL;
	result.value = m.stack[m.depth - 1];
	*ret_result = result;
	return 0;
}
