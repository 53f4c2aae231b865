/* SPDX-License-Identifier: MIT */
/*
 * Reasons for refusing a file's recipes, or parts of them: those of the reader of call frame
 * information (cfi/cfi_refusal.h), and limits of tables and of fixed rules.
 *
 * Whole files are refused by the caller that opens them. The range of a refused FDE gets the rule
 * NONE, unless another FDE covers it. A refused row gets the rule DAEMON.
 */
#ifndef UNWIND_RECIPE_REFUSAL_H
#define UNWIND_RECIPE_REFUSAL_H

#include "cfi/cfi_refusal.h"

/* X(enumerator, name, unit, meaning), as in CFI_REFUSALS. */
#define RECIPE_REFUSALS(X)                                                                         \
	X(FILE_HEADERS, "file_headers", FILE,                                                      \
	  "not an ELF file for this processor, or its headers lie")                                \
	X(FILE_READ, "file_read", FILE, "cannot be opened or read")                                \
	X(FILE_WORKER, "file_worker", FILE, "the worker failed at it")                             \
	CFI_REFUSALS(X)                                                                            \
	X(RUNTIME_TABLE, "go_table", SECTION, "Go's table of functions lies about its parts")      \
	X(PROGRAM_HEADERS, "program_headers", SECTION,                                             \
	  "the file has more executable program headers than the limit")                           \
	X(FDE_PROGRAM_HEADER, "fde_program_header", FDE,                                           \
	  "its range is not inside one executable program header")                                 \
	X(FDE_OFFSET, "fde_offset", FDE, "its range lies beyond the highest file offset")          \
	X(FDE_LIMIT, "fde_limit", FDE, "more FDEs than the limit")                                 \
	X(FDE_OVERLAP, "fde_overlap", FDE,                                                         \
	  "its range, or a part of it, belongs to an earlier one")                                 \
	X(ROW_LIMIT, "row_limit", FDE, "more rows than the limit")                                 \
	X(CFA_REGISTER, "cfa_register", ROW, "the CFA's register is not a general purpose one")    \
	X(RA_RULE, "ra_rule", ROW, "the return address is not in a stack slot")                    \
	X(RSP_RULE, "rsp_rule", ROW, "the caller's stack pointer is not the CFA")                  \
	X(SAVED_RULE, "saved_rule", ROW, "a callee-saved register is not in a stack slot")         \
	X(SAVED_EXPRESSION, "saved_expression", ROW,                                               \
	  "its slot is an expression that is not known")                                           \
	X(SAVED_BASES, "saved_bases", ROW, "slots relative to more than one register")             \
	X(SIGNAL_FRAME, "signal_frame", ROW, "a signal frame unlike the kernel's")                 \
	X(RANGE, "range", ROW, "an offset does not fit")                                           \
	X(ANALYSIS_LIMIT, "analysis_limit", SECTION,                                               \
	  "more code without unwind information than is analysed, or it cannot be read")           \
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

/* Returns the reason's name in the output of `stats`, a constant string; "accepted" for
 * RECIPE_ACCEPTED. */
const char *recipe_refusal_name(enum recipe_refusal refusal);

/* Returns the unit that is counted: "file", "section", "fde" or "row"; "" for RECIPE_ACCEPTED. */
const char *recipe_refusal_unit(enum recipe_refusal refusal);

/* Returns the reason of this list that corresponds to a reason of the CFI reader; RECIPE_ACCEPTED
 * for CFI_ACCEPTED. */
enum recipe_refusal recipe_refusal_of_cfi(enum cfi_refusal refusal);

#endif
