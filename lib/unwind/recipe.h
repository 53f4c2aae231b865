/* SPDX-License-Identifier: MIT */
/*
 * Recipes: a file's unwind information, compiled into the tables that the kernel half searches.
 *
 * .eh_frame and .debug_frame say, in a byte-coded language, how to find the caller from any code
 * address. The kernel cannot run that language inside a sampling interrupt, so it is run here,
 * once per file, and what remains is: from this file offset on, that rule.
 *
 *   chunks   u32 first row of each 64 KiB chunk of file offsets, and one end entry
 *      |
 *      v
 *   rows     { u16 low, u16 rule } sorted; a chunk's first row has low == 0
 *                        |
 *                        v
 *   rules    struct stackd_rule, each different from all others; the first three are fixed
 *
 * A place that no unwind information covers has rule NONE. A rule that struct stackd_rule cannot
 * say has rule DAEMON, and its reason is counted. One exception
 * from both: fewer than 16 bytes before a function that is aligned to 16 keep the rule of the
 * function before them. They are padding, where no program counter ever is, or the last instruction
 * of assembly whose writer ended its description too early; and a row for each would make tables
 * a quarter larger.
 *
 * The bytes are hostile: a profiled process controls its files. Time is linear in the size of the
 * sections (n log n in the number of CIEs), memory is bounded by the limits below, and whatever
 * lies or exceeds a limit is refused and counted by reason. Nothing here keeps global state.
 */
#ifndef UNWIND_RECIPE_H
#define UNWIND_RECIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"
#include "stackd_abi.h"

#define RECIPE_MAX_SECTION_BYTES (UINT64_C(128) << 20) /* libLLVM-14 has 5 MiB */
#define RECIPE_MAX_CIES		 (1u << 16)
#define RECIPE_MAX_FDES		 (1u << 22)
#define RECIPE_MAX_ROWS		 (1u << 24)
#define RECIPE_MAX_RULES	 (1u << 16) /* what a row's 16 bits can name */
#define RECIPE_MAX_SEGMENTS	 64
#define RECIPE_MAX_OFFSET	 (UINT64_C(0xffff) << STACKD_CHUNK_SHIFT) /* nearly 4 GiB */

/*
 * What was refused: X(enumerator, name, unit, meaning). The unit says what is counted: files,
 * sections, FDEs or rows. Files are refused by who opens them. A refused FDE leaves its range to
 * other FDEs (rule NONE if there is none); a refused row has rule DAEMON. Names appear in `stats`.
 */
#define RECIPE_REFUSALS(X)                                                                         \
	X(FILE_HEADERS, "file_headers", FILE, "not an ELF file for x86-64, or its headers lie")    \
	X(FILE_READ, "file_read", FILE, "cannot be opened or read")                                \
	X(SECTION_HEADERS, "section_headers", FILE, "section headers or names out of the file")    \
	X(SECTION_SIZE, "section_size", SECTION, "larger than the limit")                          \
	X(SECTION_READ, "section_read", SECTION, "outside of the file, or does not decompress")    \
	X(SEGMENTS, "segments", SECTION, "the file has more executable segments than the limit")   \
	X(ENTRY_LENGTH, "entry_length", SECTION, "an entry's length leads out of it")              \
	X(CIE_LIMIT, "cie_limit", SECTION, "more CIEs than the limit")                             \
	X(FDE_CIE, "fde_cie", FDE, "its CIE pointer does not lead to a CIE")                       \
	X(CIE_VERSION, "cie_version", FDE, "a CIE of an unknown version or address size")          \
	X(CIE_AUGMENTATION, "cie_augmentation", FDE, "a CIE with an unknown augmentation")         \
	X(CIE_ENCODING, "cie_encoding", FDE, "a CIE with a pointer encoding that is not known")    \
	X(CIE_MALFORMED, "cie_malformed", FDE, "a CIE that is cut short or contradicts itself")    \
	X(FDE_MALFORMED, "fde_malformed", FDE, "cut short, or its range wraps around")             \
	X(FDE_EMPTY, "fde_empty", FDE, "its range has no bytes")                                   \
	X(FDE_SEGMENT, "fde_segment", FDE, "its range is not inside one executable segment")       \
	X(FDE_OFFSET, "fde_offset", FDE, "its range lies beyond the highest file offset")          \
	X(FDE_LIMIT, "fde_limit", FDE, "more FDEs than the limit")                                 \
	X(FDE_OVERLAP, "fde_overlap", FDE,                                                         \
	  "its range, or a part of it, belongs to an earlier one")                                 \
	X(ROW_LIMIT, "row_limit", FDE, "more rows than the limit")                                 \
	X(OPCODE, "opcode", ROW, "a call frame instruction that is not supported")                 \
	X(INSTRUCTION, "instruction", ROW, "a call frame instruction that is cut short or wrong")  \
	X(STATE_DEPTH, "state_depth", ROW, "too many remembered states")                           \
	X(CFA_MISSING, "cfa_missing", ROW, "no rule for the CFA")                                  \
	X(CFA_REGISTER, "cfa_register", ROW, "the CFA's register is not a general purpose one")    \
	X(CFA_EXPRESSION, "cfa_expression", ROW, "the CFA is an expression that is not known")     \
	X(RA_RULE, "ra_rule", ROW, "the return address is not in a stack slot")                    \
	X(RSP_RULE, "rsp_rule", ROW, "the caller's stack pointer is not the CFA")                  \
	X(SAVED_RULE, "saved_rule", ROW, "a callee-saved register is not in a stack slot")         \
	X(SAVED_EXPRESSION, "saved_expression", ROW,                                               \
	  "its slot is an expression that is not known")                                           \
	X(SAVED_BASES, "saved_bases", ROW, "slots relative to more than one register")             \
	X(SIGNAL_FRAME, "signal_frame", ROW, "a signal frame unlike the kernel's")                 \
	X(RANGE, "range", ROW, "an offset does not fit")                                           \
	X(RULE_LIMIT, "rule_limit", ROW, "more different rules than the limit")                    \
	X(RULE_SHARE, "rule_share", ROW,                                                           \
	  "more new rules than the file's share of those that all files have together")

enum recipe_refusal {
#define RECIPE_X(e, name, unit, meaning) RECIPE_REFUSED_##e,
	RECIPE_REFUSALS(RECIPE_X)
#undef RECIPE_X
		RECIPE_REFUSED_COUNT,
	RECIPE_ACCEPTED = RECIPE_REFUSED_COUNT
};

const char *recipe_refusal_name(enum recipe_refusal refusal);
const char *recipe_refusal_unit(enum recipe_refusal refusal); /* "file", "section", "fde", "row" */

struct recipe_stats {
	uint64_t fdes;				/* whose rows are in the table */
	uint64_t cfi_rows;			/* rows that these FDEs state, before merging */
	uint64_t refused[RECIPE_REFUSED_COUNT]; /* by enum recipe_refusal */
};

struct recipe_table;

/* Compiles the call frame information of a file. A file without any yields an empty table.
 * `file` is read only during the call. 0, or -ENOMEM, or what elf_file_read() says; *ret_table is
 * owned by the caller and untouched on failure. */
int recipe_compile(const struct elf_file *file, struct recipe_table **ret_table);

void recipe_table_free(struct recipe_table *table); /* NULL is fine */

/* The same from bytes: what recipe_compile() does after reading the file. */
struct recipe_section {
	const uint8_t *data;
	size_t size;
	uint64_t vaddr;	  /* where the section is linked to: what pcrel pointers count from */
	bool is_eh_frame; /* the format of .eh_frame, else that of .debug_frame */
};
struct recipe_segment { /* executable bytes: vaddr .. vaddr + size are offset .. offset + size */
	uint64_t vaddr, offset, size;
};
/* Where two sections cover a place, the earlier in the array wins. 0 or -ENOMEM. */
int recipe_section_compile(const struct recipe_section *sections, size_t section_count,
			   const struct recipe_segment *segments, size_t segment_count,
			   struct recipe_table **ret_table);

/* The arrays; they live as long as the table. */
const struct stackd_row *recipe_table_rows(const struct recipe_table *table, size_t *ret_count);
const struct stackd_rule *recipe_table_rules(const struct recipe_table *table, size_t *ret_count);
/* `*ret_count` chunks, and one entry more in the array, which is the number of rows; the first
 * belongs to file offsets from *ret_first_chunk << STACKD_CHUNK_SHIFT on. */
const uint32_t *recipe_table_chunks(const struct recipe_table *table, uint32_t *ret_first_chunk,
				    size_t *ret_count);
const struct recipe_stats *recipe_table_stats(const struct recipe_table *table);

/* The rule for a file offset: the fixed rule NONE where nothing covers it. Never NULL. For a
 * return address, ask for the byte before it. */
const struct stackd_rule *recipe_lookup(const struct recipe_table *table, uint64_t offset);

#endif
