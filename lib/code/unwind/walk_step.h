/* SPDX-License-Identifier: MIT */
/*
 * One step of a walk: from a frame's registers to its caller's, by a rule.
 */
#ifndef UNWIND_WALK_STEP_H
#define UNWIND_WALK_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "stackd_abi.h"
#include "unwind/walk_rule.h"

/* A step's result when it did not end the walk. */
#define WALK_GOES_ON STACKD_END_COUNT

/* The memory that a walk can read: the copy of the stack. */
struct walk_memory {
	const uint8_t *bytes; /* borrowed */
	uint64_t start;	      /* address of the first */
	size_t len;
	bool is_cut;		    /* there is more above */
	uint64_t holes;		    /* see stack_holes of struct walk_input */
	uint64_t end;		    /* address where the stack ends; 0: not known */
	const uint64_t *more_holes; /* n_more_holes of them, as stack_more_holes; borrowed */
	size_t n_more_holes;
	uint64_t below; /* the word below `start`, if that is the leaf's stack pointer; 0: not known
			 */
};

struct walk_state {
	uint64_t r[STACKD_REG_COUNT];
	uint32_t known;	    /* bit i: r[i] is the frame's value */
	uint64_t slot;	    /* where the return address stood; 0: not in memory */
	bool is_return;	    /* waits for a call to return; else it was interrupted */
	bool may_be_at_cfa; /* the leaf: it can have popped its return address already */
};

/* Which registers have a value: the leaf's, after a call, and after a frame-pointer step. */
#define WALK_KNOWN_ALL	       (((uint32_t)1 << STACKD_REG_COUNT) - 1)
#define WALK_KNOWN_AFTER_CALL  WALK_RULE_PRESERVED
#define WALK_KNOWN_AFTER_GUESS (1u << STACKD_REG_FP | 1u << STACKD_REG_SP | 1u << STACKD_REG_PC)

/* Returns whether an address is in a page whose bytes are not known. */
static inline bool walk_memory_is_hole(const struct walk_memory *m, uint64_t address)
{
	uint64_t page = (address >> 12) - (m->start >> 12);

	if (page < 64)
		return m->holes >> page & 1;
	return page / 64 - 1 < m->n_more_holes && m->more_holes[page / 64 - 1] >> page % 64 & 1;
}

/* Reads the 8 bytes at an address; false: not all of them are there. */
static inline bool walk_memory_read8(const struct walk_memory *m, uint64_t address,
				     uint64_t *ret_value)
{
	uint64_t at = address - m->start;

	if (m->len < 8 || at > m->len - 8 || walk_memory_is_hole(m, address) ||
	    walk_memory_is_hole(m, address + 7))
		return false;
	memcpy(ret_value, m->bytes + at, 8);
	return true;
}

/* As walk_memory_read8(), for a word in which a function keeps its CFA or return address, which may
 * be below the stack pointer (OpenSSL's SHA-512, OCaml's caml_c_call). */
static inline bool walk_memory_read_kept(const struct walk_memory *m, uint64_t address,
					 uint64_t *ret_value)
{
	if (!m->below || address != m->start - 8)
		return walk_memory_read8(m, address, ret_value);
	*ret_value = m->below;
	return true;
}

/* Returns why a read at that address failed. */
enum stackd_end_reason walk_memory_reason(const struct walk_memory *m, uint64_t address);

/* Turns `state` into the caller's. Returns WALK_GOES_ON, or the reason why the walk ends there,
 * with `state` untouched. The rule must lead to a caller: not STACKD_CFA_NONE. */
enum stackd_end_reason walk_step(const struct walk_rule *rule, const struct walk_memory *memory,
				 struct walk_state *state);

#endif
