/* SPDX-License-Identifier: MIT */
/*
 * Recipes from instructions, for code that no unwind information covers.
 *
 * The unwinding of HPCToolkit does the same (Tallent, Mellor-Crummey, Fagan, "Binary analysis for
 * measurement and attribution of program performance", PLDI 2009, section 3): intervals of
 * instructions, each with the location of the return address. Here frames are values of a data
 * flow problem (frame_state.h) that is solved over all ranges at once (solve.h):
 *
 *   bytes ─► first pass: marks (code.h)
 *   function starts ─► flow, forward: the frame before each instruction
 *                                  └─► at a return the CFA has to be right above the return
 *                                      address, or all is withdrawn that the same function start
 *                                      led to
 *
 * No rule is given where two ways contradict, or nothing led to. The bytes are hostile: time and
 * memory are linear in the size of the ranges.
 */
#ifndef ANALYSIS_ANALYSIS_H
#define ANALYSIS_ANALYSIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"
#include "stackd_abi.h"

#define ANALYSIS_MAX_BYTES (24u << 20) /* of all ranges; those beyond it are left out */

/* Executable bytes (vaddr). */
struct analysis_range {
	uint64_t start, end;
	bool is_first; /* no code stands before it that could go on into it */
};

/* Whether an analysis is to be given up; asked now and then. */
struct analysis_stop { /* zeroed: never */
	bool (*is_due)(void *arg);
	void *arg;
};

struct analysis_input {
	struct analysis_stop stop;
	const struct elf_file *elf;
	const struct analysis_range *ranges; /* to be analysed; in order, they do not overlap */
	size_t range_count;
	const uint64_t *called; /* what code outside of the ranges seems to call (vaddr) */
	size_t called_count;
	const uint64_t *pointed; /* and what it takes the address of */
	size_t pointed_count;
	const uint64_t *certain; /* where functions are known to begin (vaddr) */
	size_t certain_count;
	bool needs_returns; /* a guess needs a return to be believed: the code may be of any kind */
	bool has_starts;    /* symbols and pointers are read: they cost more than a few ranges do */
};

/* Why an instruction that flow reached has no rule. */
enum analysis_abstained {
	ANALYSIS_ABSTAINED_CFA,	   /* the ways that lead there have different frames, or the stack
				      pointer is lost */
	ANALYSIS_ABSTAINED_SAVED,  /* a callee-saved register was changed and not seen saved */
	ANALYSIS_ABSTAINED_RETURN, /* its function returns where the CFA is not the stack pointer +
				      8 */
	ANALYSIS_ABSTAINED_CODE,   /* its function leads to bytes that are no code */
	ANALYSIS_ABSTAINED_COUNT,
};

struct analysis_stats {
	uint64_t functions;			      /* starts that flow began from */
	uint64_t instructions;			      /* that flow reached */
	uint64_t abstained[ANALYSIS_ABSTAINED_COUNT]; /* instructions, by reason */
	uint64_t left_out; /* bytes beyond ANALYSIS_MAX_BYTES, or that could not be read; all of
			    * them, where the flow of code takes too long */
};

/* Takes a rule that holds from a file offset to the next row's; cfa is STACKD_CFA_NONE where there
 * is none. Returns 0, or an error that ends the analysis. */
typedef int analysis_row_fn(void *arg, uint64_t offset, const struct stackd_rule *rule);

/* Analyses the ranges and gives their rows in order of vaddr. Returns 0, -ENOMEM, -ECANCELED: it
 * was given up, or what `emit` returned. *ret_stats is set on success only. */
int analysis_run(const struct analysis_input *input, analysis_row_fn *emit, void *arg,
		 struct analysis_stats *ret_stats);

#endif
