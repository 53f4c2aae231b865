/* SPDX-License-Identifier: MIT */
/*
 * The three answers to "who called this frame?", in one form:
 *
 *   kernel   the step that both halves have (bpf/walk.h), with the rule of the kernel half's table
 *   daemon   the same, and the rules of expressions, with the rule that user space makes
 *   libdw    libdw's rule as libdw reads it from the file, register by register, evaluated as DWARF
 *            expressions. It takes no short cut and shares no reader with either
 */
#ifndef AGREE_SIDES_H
#define AGREE_SIDES_H

#include <elfutils/libdw.h>
#include <errno.h>

#include "agree_memory.h"
#include "unwind/recipe.h"
#include "cfi/dwarf_expr.h"
#include "unwind/walk_step.h"

#define SIDE_GOES_ON STACKD_END_COUNT

struct side {
	int end; /* enum stackd_end_reason, or SIDE_GOES_ON */
	bool is_signal;
	uint64_t r[STACKD_REG_COUNT];	 /* the caller's */
	uint64_t slot[STACKD_REG_COUNT]; /* where each was restored from; 0: nowhere */
	uint32_t known;
};

/* The registers that a frame knows: all if it was interrupted, the callee-saved ones if it waits.
 */
#define SIDE_LEAF   0xffffu
#define SIDE_WAITER ARCH_PRESERVED_REGS

/* --- ours ---------------------------------------------------------------------------------- */

static inline struct stack_walk side_walk(const uint64_t *regs, uint32_t known)
{
	struct stack_walk s = {
		.walk = {.pc = regs[STACKD_REG_PC], .valid = known, .is_exact = known == SIDE_LEAF},
		.memory = {.bytes = agree_memory,
			   .start = AGREE_MEMORY_START,
			   .len = AGREE_MEMORY_BYTES,
			   .holes = agree_holes[0],
			   .more_holes = agree_holes + 1,
			   .n_more_holes = sizeof(agree_holes) / 8 - 1},
	};

	for (int i = 0; i < WALK_REGS; i++)
		s.walk.r[i] = regs[i];
	return s;
}

static inline void side_from_walk(const struct walk *w, int end, struct side *ret)
{
	*ret = (struct side){.end = end == WALK_GO_ON ? SIDE_GOES_ON : end};
	for (int i = 0; i < WALK_REGS; i++) {
		ret->r[i] = w->r[i];
		ret->slot[i] = w->origin[i].slot;
	}
	ret->r[STACKD_REG_PC] = w->pc;
	ret->slot[STACKD_REG_PC] = w->slot;
	ret->known = w->valid;
	ret->is_signal = w->is_exact;
}

static inline void side_of_kernel(const struct stackd_rule *rule, const uint64_t *regs,
				  uint32_t known, struct side *ret)
{
	struct stack_walk s = side_walk(regs, known);
	int end = walk_step(&s.walk, rule);

	side_from_walk(&s.walk, end, ret);
}

static inline void side_of_daemon(const struct walk_rule *rule, const uint64_t *regs,
				  uint32_t known, struct side *ret)
{
	struct stack_walk s = side_walk(regs, known);
	int end = (int)walk_step_by_rule(&s, rule);

	side_from_walk(&s.walk, end, ret);
}

/* --- libdw --------------------------------------------------------------------------------- */

static inline bool side_read(void *arg, uint64_t address, size_t bytes, uint64_t *ret_value)
{
	(void)arg;
	return agree_memory_read(address, bytes, ret_value);
}

enum side_found { SIDE_VALUE, SIDE_SAME, SIDE_UNDEFINED, SIDE_FAILED };

#define SIDE_MAX_OPS 4096

/* Evaluates libdw's operations. */
static inline int side_eval(const Dwarf_Op *ops, size_t n, const struct dwarf_expr_context *c,
			    struct dwarf_expr_result *ret_result)
{
	static struct dwarf_expr_op own[SIDE_MAX_OPS];

	if (n > SIDE_MAX_OPS)
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		own[i] = (struct dwarf_expr_op){ops[i].atom, ops[i].number, ops[i].number2,
						ops[i].offset};
	return dwarf_expr_eval(own, n, c, ret_result);
}

/* The caller's value of one register. */
static inline enum side_found side_register(Dwarf_Frame *frame, int reg,
					    const struct dwarf_expr_context *c, struct side *ret)
{
	struct dwarf_expr_result result;
	Dwarf_Op mem[3], *ops;
	size_t n;

	if (dwarf_frame_register(frame, reg, mem, &ops, &n))
		return SIDE_FAILED;
	if (!n)
		return ops ? SIDE_UNDEFINED : SIDE_SAME;
	if (side_eval(ops, n, c, &result))
		return SIDE_FAILED;
	ret->r[reg] = result.value;
	if (result.kind == DWARF_EXPR_REGISTER) {
		if (result.value >= STACKD_REG_COUNT || !(c->known >> result.value & 1))
			return SIDE_FAILED;
		ret->r[reg] = c->registers[result.value];
	} else if (result.kind == DWARF_EXPR_ADDRESS) {
		ret->slot[reg] = result.value;
		if (!agree_memory_read(result.value, 8, &ret->r[reg]))
			return SIDE_FAILED;
	}
	return SIDE_VALUE;
}

/* 0, or -1: libdw has no CFA. */
static inline int side_cfa(Dwarf_Frame *frame, struct dwarf_expr_context *c)
{
	struct dwarf_expr_result result;
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_frame_cfa(frame, &ops, &n) || !n || side_eval(ops, n, c, &result))
		return -1;
	c->cfa = result.value;
	c->has_cfa = true;
	return 0;
}

static inline void side_registers(Dwarf_Frame *frame, const struct dwarf_expr_context *c,
				  struct side *ret)
{
	for (int i = 0; i < WALK_REGS; i++) {
		enum side_found found = side_register(frame, i, c, ret);

		/* libdw 0.188 holds rbx for unspecified where a file says nothing about it: its
		 * table for the ABI names rax there. */
		if (found == SIDE_UNDEFINED && i == 3)
			found = SIDE_SAME;
		if (found == SIDE_VALUE)
			ret->known |= 1u << i;
		else if (found == SIDE_SAME)
			ret->known |= c->known & 1u << i;
	}
	if (!ret->is_signal)
		ret->known &= ARCH_PRESERVED_REGS;
}

static inline void side_of_libdw(Dwarf_Frame *frame, const uint64_t *regs, uint32_t known,
				 struct side *ret)
{
	struct dwarf_expr_context c = {
		.registers = regs, .known = known | 1u << STACKD_REG_PC, .read = side_read};
	int column;

	*ret = (struct side){.end = STACKD_END_NO_RECIPE};
	memcpy(ret->r, regs, sizeof(ret->r));
	if (!frame)
		return;
	column = dwarf_frame_info(frame, NULL, NULL, &ret->is_signal);
	ret->end = STACKD_END_ENTRY;
	if (column == STACKD_REG_PC &&
	    side_register(frame, column, &c, &(struct side){0}) == SIDE_UNDEFINED)
		return;
	ret->end = STACKD_END_BAD_RECIPE;
	if (column != STACKD_REG_PC || side_cfa(frame, &c) ||
	    side_register(frame, column, &c, ret) != SIDE_VALUE)
		return;
	side_registers(frame, &c, ret);
	ret->end = SIDE_GOES_ON;
}

#endif
