/* SPDX-License-Identifier: MIT */
/*
 * Jump tables: finds, from the instructions of a path, the table from which an indirect jump takes
 * its target.
 *
 *   compare A with 5; above: go to default       bound 5
 *   B = address of the table                     B is an address
 *   A = 4 bytes at B + 4 * A, sign-extended      A is an entry of the table
 *   A = A + B; jump to A                         A is a target: entry + address
 *
 * Entries of 8 bytes are targets themselves. Assembly also calls functions through tables of the
 * same form, several of which may adjoin. A table of unknown bound ends where the next object
 * begins to which code refers.
 */
#ifndef ANALYSIS_JUMP_TABLE_H
#define ANALYSIS_JUMP_TABLE_H

#include <stddef.h>

#include "arch/insn.h"
#include "elf/elf_file.h"

#define JUMP_TABLE_MAX_ENTRIES 4096 /* generated parsers have some thousands */
/* limit of the entries of a table of unknown bound; chosen by hand */
#define JUMP_TABLE_UNBOUNDED 1024

struct jump_table {
	uint64_t address, base; /* vaddr; a target is base + entry */
	uint32_t entry;		/* bytes: 2, 4 or 8 */
	bool is_unsigned;
	int32_t bound;	/* number of the last entry; -1: not known */
	bool is_inside; /* loads are from an entry of unknown number in it, so it is a table of
			 * tables */
};

/* What is known of a register's value. */
struct jump_hint {
	uint8_t kind; /* enum hint_kind in jump_table.c; 0: not known */
	uint8_t entry;
	bool is_unsigned, is_inside;
	int32_t bound; /* highest number of an entry; negative: not known */
	uint64_t address, base;
};

#define JUMP_HINTS_MEMORY (INSN_REG_COUNT < 32 ? 1u << INSN_REG_COUNT % 32 : 0u)

struct jump_hints { /* zeroed by jump_hints_init() */
	struct jump_hint reg[INSN_REG_COUNT];
	int32_t compared, bound;	  /* the values of the last comparison and bound;
					   * negative: none */
	uint32_t compared_in, bounded_in; /* registers that hold the compared number, or are
					   * computed from it; JUMP_HINTS_MEMORY: it was in
					   * memory */
	uint32_t bound_age;		  /* instructions since the bound was tested */
	bool has_any;
};

/* Sets hints in which nothing is known. */
void jump_hints_init(struct jump_hints *ret_hints);

/* Updates the hints by an instruction. */
void jump_hints_apply(struct jump_hints *hints, const struct insn *i);

/* Updates the hints at the end of a path, for the code after it. A register may still hold the
 * address of a table there, but hardly a value that was read from a table. */
void jump_hints_end(struct jump_hints *hints);

/* Forgets the bound, on the branch on which the number exceeds the bound. */
static inline void jump_hints_unbound(struct jump_hints *hints)
{
	hints->bound = hints->compared = -1;
}

/* Gives the address of the table from which an instruction loads. Returns false if it loads from no
 * table, or from an unknown one. */
bool jump_hints_address(const struct jump_hints *hints, const struct insn *i,
			uint64_t *ret_address);

/* Gives the address that a register holds. Returns false if it is not known. */
bool jump_hints_known(const struct jump_hints *hints, unsigned reg, uint64_t *ret_address);

/* Gives the target of an indirect jump, if the path itself has loaded that address into the
 * register. Callers call it before they apply the jump. Returns false if the target is not
 * known. */
bool jump_hints_target(const struct jump_hints *hints, const struct insn *i, uint64_t *ret_target);

/* Gives the table of an indirect jump. Callers call it before they apply the jump. Returns false if
 * the jump takes its target from no known table. */
bool jump_hints_table(const struct jump_hints *hints, const struct insn *i,
		      struct jump_table *ret_table);

/* Returns whether entry `k`, whose target is `target`, is unused, given that no entry before it is
 * used. It is unused if it is zero or, in a table of unknown bound, if it belongs to the table
 * before, which another jump uses. `leads_on`: the target is an instruction after the jump. */
bool jump_table_is_unused(const struct jump_table *table, size_t k, uint64_t target, bool leads_on);

/* Returns the number of the table's entries, counted from its start, of `count` that were read. The
 * first `unused` of them are not used; a table of unknown bound has then as many more entries. */
size_t jump_table_end(const struct jump_table *table, uint64_t end, size_t count, size_t unused);

/* Reads the targets of a table into ret_targets, up to the table's bound or the vaddr `end`, or
 * somewhat beyond `end` if the bound is unknown; at most JUMP_TABLE_MAX_ENTRIES, or
 * JUMP_TABLE_UNBOUNDED if the bound is unknown. Returns their number. */
size_t jump_table_read(const struct jump_table *table, const struct elf_file *elf, uint64_t end,
		       uint64_t *ret_targets);

#endif
