/* SPDX-License-Identifier: MIT */
/*
 * Derives recipes from instructions, for code that no unwind information covers.
 *
 * HPCToolkit's unwinder does the same (Tallent, Mellor-Crummey, Fagan, "Binary analysis for
 * measurement and attribution of program performance", PLDI 2009, section 3): it divides a function
 * into intervals of instructions, each with the location of the return address. Here, frames are
 * the values of a data flow problem (frame_state.h), which is solved over all ranges at once
 * (solve.h):
 *
 *   bytes ─► first pass: marks (code.h)
 *   function starts ─► flow, forward: the frame before each instruction
 *                                  └─► at a return, the CFA must be right above the return
 *                                      address; else all frames that flow from the same function
 *                                      start are withdrawn
 *
 * An instruction has no rule if two paths that reach it contradict each other, or no path reaches
 * it. The bytes are hostile: time and memory are linear in the size of the ranges.
 */
#ifndef ANALYSIS_ANALYSIS_H
#define ANALYSIS_ANALYSIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"
#include "stackd_abi.h"

/* Limit of the bytes of all ranges; further bytes are left out. It bounds memory: 15 MB of libx265
 * take 65 MB. */
#define ANALYSIS_MAX_BYTES (24u << 20)

/* A range of executable bytes (vaddr). */
struct analysis_range {
	uint64_t start, end;
	bool is_first; /* no code before the range can continue into it */
};

/* A callback that is called now and then, and returns whether the analysis is to be stopped. */
struct analysis_stop { /* zeroed: never */
	bool (*is_due)(void *arg);
	void *arg;
};

struct analysis_input {
	struct analysis_stop stop;
	const struct elf_file *elf;
	const struct analysis_range *ranges; /* in order, without overlap */
	size_t range_count;
	const uint64_t
		*called; /* addresses that code outside of the ranges seems to call (vaddr) */
	size_t called_count;
	const uint64_t *pointed; /* addresses that code outside of the ranges takes as pointers
				  * (vaddr) */
	size_t pointed_count;
	const uint64_t *certain; /* known starts of functions (vaddr) */
	size_t certain_count;
	bool needs_returns; /* a guessed function gets rules only if it returns, since its bytes
			     * may not be code */
	bool has_starts;    /* symbols and pointers are read for functions' starts; for a few
			     * ranges that costs more than they do */
};

/* Why an instruction that was reached has no rule. */
enum analysis_abstained {
	ANALYSIS_ABSTAINED_CFA,	   /* the paths to it have different frames, or the stack pointer is
					      lost */
	ANALYSIS_ABSTAINED_SAVED,  /* a callee-saved register was changed, and no save of it was
				    * seen */
	ANALYSIS_ABSTAINED_RETURN, /* its function returns where the CFA is not the stack pointer +
				      8 */
	ANALYSIS_ABSTAINED_CODE,   /* its function leads to bytes that are not code */
	ANALYSIS_ABSTAINED_COUNT,
};

struct analysis_stats {
	uint64_t functions;			      /* starts from which flow began */
	uint64_t instructions;			      /* reached by flow */
	uint64_t abstained[ANALYSIS_ABSTAINED_COUNT]; /* instructions, by reason */
	bool is_jumped_into; /* the code has no frames of its own (solve.h), and its rules are
			      * wrong */
	uint64_t left_out; /* bytes beyond ANALYSIS_MAX_BYTES, or that could not be read; all bytes,
			    * if flow takes too long */
};

/* Receives a row: a rule that holds from a file offset to the next row's. Its cfa is
 * STACKD_CFA_NONE if no rule is known. Returns 0, or an error that ends the analysis. */
typedef int analysis_row_fn(void *arg, uint64_t offset, const struct stackd_rule *rule);

/* Analyses the ranges, and calls `emit` for their rows in order of vaddr. Returns 0, -ENOMEM,
 * -ECANCELED: it was stopped, or the result of `emit`. *ret_stats is set on success only. */
int analysis_run(const struct analysis_input *input, analysis_row_fn *emit, void *arg,
		 struct analysis_stats *ret_stats);

#endif
