/* SPDX-License-Identifier: MIT */
/*
 * Provenances: where unwinding rules come from. Each location has one: the provenance of the rule
 * by which the walk finds the caller of a frame at that location.
 *
 * Unwind information comes from the compiler or the assembly's author. All other rules are weaker,
 * so the daemon checks their steps against the code (callflow/callflow_step.h), and reports show
 * them.
 */
#ifndef STACK_PROVENANCE_H
#define STACK_PROVENANCE_H

#include <stdbool.h>
#include <stdint.h>

/* X(enumerator, name, letters, meaning). Stores and output have the numbers and names: they
 * never change, and new ones go to the end. The letters are those of reports' columns. */
#define PROVENANCES(X)                                                                             \
	X(NONE, "none", "--", "no rule: the kernel's own frames, or a walk ends there")            \
	X(CFI, "cfi", "wa", "unwind information: .eh_frame or .debug_frame")                       \
	X(RUNTIME_TABLE, "runtime_table", "rt", "a table that the program's own runtime uses")     \
	X(ANALYSED, "analysed", "an", "analysis of the instructions")                              \
	X(FRAME_POINTER, "frame_pointer", "fp", "a frame pointer, which the code may not keep")

enum provenance {
#define PROVENANCE_X(e, name, letters, meaning) PROVENANCE_##e,
	PROVENANCES(PROVENANCE_X)
#undef PROVENANCE_X
		PROVENANCE_COUNT
};

/* Returns the name in output: "cfi", ...; "unknown" for numbers that this version does not know. */
const char *provenance_name(uint8_t provenance);

/* Returns the two letters of a report's column; "??" for unknown numbers. */
const char *provenance_letters(uint8_t provenance);

/* Returns whether a step by such a rule must be checked against the code. */
static inline bool provenance_is_weak(uint8_t provenance)
{
	return provenance > PROVENANCE_CFI;
}

#endif
