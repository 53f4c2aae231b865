/* SPDX-License-Identifier: MIT */
/*
 * Recipes: a file's unwind information, compiled into the tables that the kernel half searches.
 *
 * .eh_frame and .debug_frame say, in a byte-coded language, how to find the caller from any code
 * address. The kernel cannot run that language inside a sampling interrupt. So this module runs it
 * once for each file, and keeps only the results: rows, each of which says that a rule holds from a
 * file offset on.
 *
 *   chunks   u32 first row of each 64 KiB chunk of file offsets, and one end entry
 *      |
 *      v
 *   rows     { u16 low, u16 rule } sorted; a chunk's first row has low == 0
 *                        |
 *                        v
 *   rules    struct stackd_rule, each different from all others; the first three are fixed
 *
 * Code that no unwind information covers has rules derived from its instructions
 * (recipe_analysis.h), or rule NONE if these allow none. A rule that struct stackd_rule cannot
 * express becomes DAEMON (the daemon finds the caller), and the reason is counted. There is one
 * exception from NONE and DAEMON: fewer than 16 bytes before a function that is aligned to 16 keep
 * the rule of the function before them. They are padding, which never runs, or the last instruction
 * of assembly whose author ended its description too early. A row for each would make tables a
 * quarter larger. Rules from instructions end where they end.
 *
 * Rules from other sources are merged with those of call frame information, and their provenance is
 * kept (recipe_layer.h).
 *
 * The bytes are hostile: a profiled process controls its files. Time is linear in the size of the
 * sections (n log n in the number of CIEs), memory is bounded by the limits below. Whatever is
 * inconsistent or exceeds a limit is refused, and counted by reason. There is no global state.
 */
#ifndef UNWIND_RECIPE_H
#define UNWIND_RECIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/analysis.h"
#include "cfi/cfi_section.h"
#include "elf/elf_file.h"
#include "stackd_abi.h"
#include "unwind/provenance_map.h"
#include "unwind/recipe_refusal.h"

#define RECIPE_MAX_FDES	  (1u << 22)
#define RECIPE_MAX_ROWS	  (1u << 24)
#define RECIPE_MAX_RULES  (1u << 16) /* as many as a row's 16 bits can name */
#define RECIPE_MAX_LOADS  64
#define RECIPE_MAX_OFFSET (UINT64_C(0xffff) << STACKD_CHUNK_SHIFT) /* nearly 4 GiB */

struct recipe_stats {
	uint64_t fdes;				/* FDEs whose rows are in the table */
	uint64_t cfi_rows;			/* rows that these FDEs state, before merging */
	uint64_t runtime_rows;			/* rows made from a runtime's table (runtime.h) */
	uint64_t refused[RECIPE_REFUSED_COUNT]; /* by enum recipe_refusal */
	uint64_t analysed_bytes;		/* bytes of code whose rules come from its
						 * instructions */
	uint64_t analysed_rows;
	uint64_t is_partial; /* 1: code without call frame information is left out */
};

struct recipe_table;

/* Compiles the call frame information of a file, which is read only during the call, and analyses
 * the code that it does not cover (recipe_analysis.h). A file without call frame information gets
 * only the rules of other sources. Returns 0, -ENOMEM, or an error of elf_file_read(). The caller
 * frees *ret_table, which is unchanged on failure, with recipe_table_free(). */
int recipe_compile(const struct elf_file *file, struct recipe_table **ret_table);

/* Like recipe_compile(), but if the code to be analysed is more than `most_bytes`, leaves out the
 * rules from instructions, since the analysis takes some ten times as much memory as that code. 0:
 * no limit. */
int recipe_compile_within(const struct elf_file *file, uint64_t most_bytes,
			  struct recipe_table **ret_table);

/* Like recipe_compile(), but calls `stop` now and then while it analyses code, and returns
 * -ECANCELED if the callback returns true. */
int recipe_compile_until(const struct elf_file *file, const struct analysis_stop *stop,
			 struct recipe_table **ret_table);

/* Like recipe_compile(), but if there is much code without call frame information, leaves that code
 * out; then recipe_stats.is_partial is 1. The rules of call frame information are the same. It
 * takes up to twenty times less time. */
int recipe_compile_quick(const struct elf_file *file, struct recipe_table **ret_table);

/* Like recipe_compile(), but compiles the call frame information alone, so that it can be compared
 * with other readers, or with the rules from instructions. */
int recipe_compile_cfi(const struct elf_file *file, struct recipe_table **ret_table);

void recipe_table_free(struct recipe_table *table); /* NULL is fine */

/* An executable program header: the bytes vaddr .. vaddr + size are offset .. offset + size of the
 * file. */
struct recipe_load {
	uint64_t vaddr, offset, size;
};

/* Compiles sections that the caller has read; they are borrowed for the call. If two sections cover
 * an address, the earlier in the array wins. Returns 0 or -ENOMEM; *ret_table as for
 * recipe_compile(). */
int recipe_section_compile(const struct cfi_section *sections, size_t section_count,
			   const struct recipe_load *loads, size_t load_count,
			   struct recipe_table **ret_table);

/* Returns the rows, in order of file offset. They, and the results of the next three functions,
 * live as long as the table. */
const struct stackd_row *recipe_table_rows(const struct recipe_table *table, size_t *ret_count);

/* Returns the rules, by number. */
const struct stackd_rule *recipe_table_rules(const struct recipe_table *table, size_t *ret_count);

/* Returns, for each of the `*ret_count` chunks, the number of its first row, and then, as one more
 * entry, the number of all rows. The first chunk begins at file offset *ret_first_chunk <<
 * STACKD_CHUNK_SHIFT. */
const uint32_t *recipe_table_chunks(const struct recipe_table *table, uint32_t *ret_first_chunk,
				    size_t *ret_count);

/* Returns the counts of what was compiled into the table, and of what was refused. */
const struct recipe_stats *recipe_table_stats(const struct recipe_table *table);

/* Returns the facts by which the kernel half reads the frames of the interpreter's functions (if
 * its form says that they are read); NULL if the file has no interpreter. */
const struct stackd_interpreter *recipe_table_interpreter(const struct recipe_table *table);

/* Moves what a runtime's machine needs of the file (struct runtime_layout in runtime/runtime.h) to
 * the caller, who frees it with free(). NULL: nothing. */
struct runtime_layout *recipe_table_take_layout(struct recipe_table *table);

/* Moves the map of the rules' provenances to the caller, who frees it with provenance_map_free().
 * NULL: all rules are of call frame information. */
struct provenance_map *recipe_table_take_provenance(struct recipe_table *table);

/* Returns the rule for a file offset; if no row covers it, the fixed rule NONE. Never NULL. For a
 * return address, pass the offset of the byte before it. */
const struct stackd_rule *recipe_lookup(const struct recipe_table *table, uint64_t offset);

#endif
