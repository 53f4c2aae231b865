/* SPDX-License-Identifier: MIT */
/*
 * Jump tables: what a path's instructions say of the table that an indirect jump takes its target
 * from.
 *
 *   compare A with 5; above: go to default       bound 5
 *   B = address of the table                     B is an address
 *   A = 4 bytes at B + 4 * A, sign-extended      A is an entry of the table
 *   A = A + B; jump to A                         A is a target: entry + address
 *
 * Entries of 8 bytes are targets by themselves. Assembly has tables of functions of the same form,
 * and calls instead; there, the table can be one of several that stand together. Where no bound is
 * known, a table ends where the next thing begins that code refers to.
 */
#ifndef ANALYSIS_JUMP_TABLE_H
#define ANALYSIS_JUMP_TABLE_H

#include <stddef.h>

#include "arch/insn.h"
#include "elf/elf_file.h"

#define JUMP_TABLE_MAX_ENTRIES 4096 /* parsers that are made by programs have some thousands */
#define JUMP_TABLE_UNBOUNDED   1024 /* at most, where no bound is known */

struct jump_table {
	uint64_t address, base; /* vaddr; a target is base + entry */
	uint32_t entry;		/* bytes: 2, 4 or 8 */
	bool is_unsigned;
	int32_t bound;	/* number of the last entry; -1: not known */
	bool is_inside; /* loads are from somewhere in it: it is a table of tables */
};

/* What is known of a register. */
struct jump_hint {
	uint8_t kind; /* enum, in jump_table.c; 0: nothing */
	uint8_t entry;
	bool is_unsigned, is_inside;
	int32_t bound; /* of an entry's number; negative: not known */
	uint64_t address, base;
};

#define JUMP_HINTS_MEMORY (1u << INSN_REG_COUNT)

struct jump_hints { /* zeroed by jump_hints_init() */
	struct jump_hint reg[INSN_REG_COUNT];
	int32_t compared, bound;	  /* negative: none */
	uint32_t compared_in, bounded_in; /* registers that the number is in, or was made a part of;
					   * JUMP_HINTS_MEMORY: it was in memory */
	uint32_t bound_age;		  /* instructions since the bound was tested */
	bool has_any;
};

/* Nothing is known. */
void jump_hints_init(struct jump_hints *ret_hints);

/* Follows an instruction. */
void jump_hints_apply(struct jump_hints *hints, const struct insn *i);

/* What follows is not what the path goes on to: a register may hold the address of a table still,
 * but hardly what was read from one. */
void jump_hints_end(struct jump_hints *hints);

/* The number that was compared is not within the bound. */
static inline void jump_hints_unbound(struct jump_hints *hints)
{
	hints->bound = hints->compared = -1;
}

/* The table that an instruction loads from; false: it is none such, or from where is not known. */
bool jump_hints_address(const struct jump_hints *hints, const struct insn *i,
			uint64_t *ret_address);

/* The address that a register holds; false: it is not known. */
bool jump_hints_known(const struct jump_hints *hints, unsigned reg, uint64_t *ret_address);

/* The address that an indirect jump goes to, where the path has it from an instruction; before the
 * jump is applied. */
bool jump_hints_target(const struct jump_hints *hints, const struct insn *i, uint64_t *ret_target);

/* The table of an indirect jump, before the jump is applied. */
bool jump_hints_table(const struct jump_hints *hints, const struct insn *i,
		      struct jump_table *ret_table);

/* Returns whether entry `k`, where none before it is used, is not used itself: zero, or where no
 * bound is known, one of the table before, whose jump is another one. `leads_on`: it leads to an
 * instruction behind the jump. */
bool jump_table_is_unused(const struct jump_table *table, size_t k, uint64_t target, bool leads_on);

/* The number of the last entry that is the table's, plus 1, of `count` that were read. The first
 * `unused` ones are not used; without a bound, the next table has as many, which are this one's. */
size_t jump_table_end(const struct jump_table *table, uint64_t end, size_t count, size_t unused);

/* Reads the targets of a table up to its bound or the vaddr `end`, and without a bound, some more;
 * at most JUMP_TABLE_MAX_ENTRIES, or JUMP_TABLE_UNBOUNDED. Returns how many. */
size_t jump_table_read(const struct jump_table *table, const struct elf_file *elf, uint64_t end,
		       uint64_t *ret_targets);

#endif
