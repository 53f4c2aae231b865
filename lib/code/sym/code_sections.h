/* SPDX-License-Identifier: MIT */
/*
 * The executable sections of an ELF file. Ranges in DWARF that are outside of them have no code.
 *
 * A linker that discards a function (--gc-sections, COMDAT groups, ICF) leaves its DWARF, and
 * replaces the function's address by a number: GNU ld by 0 (or 1 in .debug_ranges), lld by -1 or
 * -2. Lengths stay the same, so a range that begins at 0 covers low addresses: in a
 * position-independent file, those of its first code.
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

/* Reads the executable sections of a file. Returns 0 or -ENOMEM; the caller frees them in either
 * case. */
int code_sections_read(Elf *elf, struct code_sections *sections);
void code_sections_free(struct code_sections *sections); /* frees its contents */

/* Returns whether [start, end), which is not empty, is within one of the sections. */
bool code_sections_hold(const struct code_sections *sections, uint64_t start, uint64_t end);

/* Moves the line rows of discarded functions to unused addresses, since libdw sorts the rows of a
 * unit by address and does not show to which sequence a row belongs. It overwrites the first
 * address of each of these sequences in libelf's copy of .debug_line, which dwarf_begin_elf() has
 * decompressed. Call it before libdw reads lines. */
void code_sections_move_discarded_lines(const struct code_sections *sections, Elf *elf);

#endif
