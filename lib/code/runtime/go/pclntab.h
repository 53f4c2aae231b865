/* SPDX-License-Identifier: MIT */
/*
 * Go's table of functions, .gopclntab, which every Go program has, stripped or not: the runtime
 * itself unwinds by it. For each function it has the name, the file and line of each instruction,
 * and how far the stack pointer is below its value at entry (the stack delta).
 *
 * Formats, by the magic number (Go's src/debug/gosym/pclntab.go, src/runtime/symtab.go and the
 * design document "Go 1.2 Runtime Symbol Information"):
 *
 *   Go 1.2    0xfffffffb   all offsets from the table's start, absolute entries
 *   Go 1.16   0xfffffffa   separate parts for names, files and values; absolute entries
 *   Go 1.18   0xfffffff0   entries are offsets from the start of the text
 *   Go 1.20   0xfffffff1   a function's record has its first line too; the newest known (1.25)
 *
 * The bytes are hostile. The header and the order of the functions are checked when the table is
 * opened, in time linear in their number; the rest is checked when it is read. A walk over all
 * values of all functions is linear in the size of the text, since each value covers at least a
 * byte of its function. All numbers are little-endian; addresses are vaddr (elf_file.h).
 */
#ifndef GO_PCLNTAB_H
#define GO_PCLNTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"

#define PCLNTAB_MAX_BYTES     (UINT64_C(256) << 20)
#define PCLNTAB_MAX_FUNCTIONS (1u << 22)

struct pclntab;

struct pclntab_function {
	uint64_t start, end; /* vaddr; end is the next function's start */
	const char *name;    /* lives as long as the table; NULL: the table does not contain it */
	uint32_t pcsp;	     /* offset of its stack deltas, for pclntab_values_begin(); 0: none */
	uint32_t pcfile;     /* offset of its file numbers, likewise */
	uint32_t pcln;	     /* and for lines */
	uint32_t unit;	     /* first entry of its compilation unit in the table of files */
	uint8_t id, flags;   /* the runtime's funcID and funcFlag; 0 before Go 1.12 (id) and 1.17
			      * (flags) */
};

/* Finds and reads the table of a file, which is borrowed for the call. Finds it by the name of its
 * section, or by its magic number in the program headers without code. Returns 0, -ENOENT (the file
 * has no table), -EINVAL (it is inconsistent), -ENOMEM, or an error of elf_file_read(). The caller
 * frees *ret_table, which is unchanged on failure, with pclntab_free(). */
int pclntab_read(const struct elf_file *file, struct pclntab **ret_table);

/* Opens a table in memory; the bytes are copied. `text` is the vaddr of the text, used if the table
 * does not contain it. Returns 0, -EINVAL or -ENOMEM. The caller frees *ret_table with
 * pclntab_free(). */
int pclntab_open(const uint8_t *bytes, size_t size, uint64_t text, struct pclntab **ret_table);

void pclntab_free(struct pclntab *table); /* NULL is fine */

/* Returns the number of functions. */
size_t pclntab_count(const struct pclntab *table);

/* Returns the bytes of memory that the table takes. */
size_t pclntab_bytes(const struct pclntab *table);

/* Gives a function by its number, in order of address. Returns false if its record is outside of
 * the table. */
bool pclntab_get(const struct pclntab *table, size_t number, struct pclntab_function *ret_function);

/* Finds the function that covers an address, by binary search. Returns false if no function does,
 * or its record is outside of the table. */
bool pclntab_find(const struct pclntab *table, uint64_t vaddr,
		  struct pclntab_function *ret_function);

/* Iterates over one kind of values of a function (stack deltas, file numbers or lines), in order of
 * address. */
struct pclntab_values {
	const uint8_t *at, *limit;
	uint64_t pc, end;
	int32_t value;
	bool is_first;
	bool is_broken; /* invalid bytes have ended the values before the function's end */
};

/* Starts the iteration. `where` is the function's pcsp, pcfile or pcln. */
struct pclntab_values pclntab_values_begin(const struct pclntab *table,
					   const struct pclntab_function *function, uint32_t where);

/* Gives the next value, and the range of addresses, [*ret_start, *ret_end), that have it. Returns
 * false if there are no more values. */
bool pclntab_values_next(struct pclntab_values *values, uint64_t *ret_start, uint64_t *ret_end,
			 int32_t *ret_value);

/* Finds the file and line of an address in a function; in inlined code, those of the inlined
 * function. *ret_file lives as long as the table. Returns false if they are not known. */
bool pclntab_line(const struct pclntab *table, const struct pclntab_function *function,
		  uint64_t vaddr, const char **ret_file, uint32_t *ret_line);

#endif
