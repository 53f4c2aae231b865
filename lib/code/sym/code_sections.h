/* SPDX-License-Identifier: MIT */
/*
 * The executable sections of an ELF file. Ranges that DWARF has outside of them are of no code.
 *
 * A linker that discards a function (--gc-sections, COMDAT groups, ICF) leaves its DWARF, and
 * writes a number instead of the function's address: GNU ld 0 (or 1 in .debug_ranges), lld -1, or
 * -2. Lengths stay as they were, so a range that begins at 0 covers what is at low addresses: in a
 * position-independent file, the first of its code.
 */
#ifndef SYM_CODE_SECTIONS_H
#define SYM_CODE_SECTIONS_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_section {
	uint64_t start, end; /* vaddrs */
};

/* Zero-initialised: empty. */
struct code_sections {
	struct code_section *sections; /* owned */
	size_t count, cap;
};

/* Reads the sections of a file. 0 or -ENOMEM; the caller frees them in either case. */
int code_sections_read(Elf *elf, struct code_sections *sections);
void code_sections_free(struct code_sections *sections); /* what it holds */

/* Returns whether [start, end), which is not empty, lies in one of them. */
bool code_sections_hold(const struct code_sections *sections, uint64_t start, uint64_t end);

/* Moves the rows of discarded functions out of the way, since libdw sorts the rows of a unit by
 * address and does not say which sequence a row is from. It overwrites the first addresses of these
 * sequences in libelf's memory of .debug_line, which dwarf_begin_elf() has expanded. To be called
 * before libdw reads lines. */
void code_sections_move_discarded_lines(const struct code_sections *sections, Elf *elf);

#endif
