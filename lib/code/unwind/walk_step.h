/* SPDX-License-Identifier: MIT */
/*
 * One step of a walk in user space: applies bpf/walk.h, which both halves share, to the copy of a
 * stack, and adds rules that only user space applies, those with DWARF expressions.
 *
 * Only the copy (stack/walk_memory.h) is read, and the word below the stack pointer, where some
 * functions keep their CFA, their return address or a register. If a step needs a word beyond the
 * copy, the walk ends with a reason that says what is missing.
 */
#ifndef UNWIND_WALK_STEP_H
#define UNWIND_WALK_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stack/walk_memory.h"
#include "stackd_abi.h"
#include "unwind/walk_rule.h"

#define WALK_UNREADABLE(w, rule, address) ((int)walk_step_reason(w, rule, address))
#define WALK_IS_LEAN(w)			  0
#define WALK_KEPT(rule)			  walk_step_kept(rule)

struct walk;

/* Returns the reason for the end of a walk that needs the word at `address`, which cannot be read;
 * `rule` may be NULL. */
enum stackd_end_reason walk_step_reason(const struct walk *w, const struct stackd_rule *rule,
					uint64_t address);

/* Returns the caller-saved registers that the function of a rule preserves (STACKD_KEPT), a bit for
 * each. */
static inline uint32_t walk_step_kept(const struct stackd_rule *rule)
{
	unsigned number = STACKD_KEPT(rule);

	if (number == STACKD_KEPT_TWO)
		return ARCH_KEPT_TWO_REGS;
	return number ? 1u << (number - 1) : 0;
}

#include "walk.h"

/* A walk, and the memory that it reads. */
struct stack_walk {
	struct walk walk; /* first: walk_read() casts its address to this struct */
	struct walk_memory memory;
};

/* Reads a word for bpf/walk.h. Returns 0, or 1 if it is not in the copy. */
static inline int walk_read(struct walk *w, __u64 address, __u64 *ret_word)
{
	const struct stack_walk *s = (const struct stack_walk *)w;
	uint64_t word;

	if (!walk_memory_read_below(&s->memory, address, &word))
		return 1;
	*ret_word = word;
	return 0;
}

/* Copies the registers of a frame, including the program counter. */
static inline void walk_step_registers(const struct walk *w, uint64_t ret_r[STACKD_REG_COUNT])
{
	for (unsigned i = 0; i < WALK_REGS; i++)
		ret_r[i] = w->r[i];
	ret_r[STACKD_REG_PC] = w->pc;
}

/* A bit for each register whose value is known: at the leaf, and after a step by the frame
 * pointer. */
#define WALK_KNOWN_ALL	       WALK_ALL_REGS
#define WALK_KNOWN_AFTER_GUESS (1u << STACKD_REG_FP | 1u << STACKD_REG_SP)

/* Steps to the caller by a rule of any kind. Returns WALK_GO_ON, or the reason why the walk ends
 * there; the walk is then unchanged. */
enum stackd_end_reason walk_step_by_rule(struct stack_walk *s, const struct walk_rule *rule);

#endif
