/* SPDX-License-Identifier: MIT */
/*
 * The machine that runs call frame instructions: each step runs up to the start of the next row.
 * Instructions: DWARF 5 section 6.4.2; GNU extensions as GNU tools emit them.
 */
#ifndef CFI_CFI_MACHINE_H
#define CFI_CFI_MACHINE_H

#include "cfi/cfi_entry.h"

/* Limit of the states that DW_CFA_remember_state keeps at a time; compilers nest one or two. */
#define CFI_MACHINE_DEPTH 32

struct cfi_machine {
	const struct cfi_section *section;
	const struct cfi_cie *cie;
	struct cfi_reader r;
	uint64_t loc, end;	  /* vaddr: start of the state's row; end of the FDE */
	struct cfi_state state;	  /* of the row that the last step returned */
	enum cfi_refusal refused; /* CFI_ACCEPTED; else why the row, which is the last, is
				   * refused */
	bool done;
	unsigned depth;
	struct cfi_state stack[CFI_MACHINE_DEPTH];
};

/* Runs a CIE's instructions, and puts the resulting state into cie->initial. Returns CFI_ACCEPTED,
 * or why the instructions are refused. */
enum cfi_refusal cfi_machine_run_cie(const struct cfi_section *section, struct cfi_cie *cie,
				     struct cfi_reader instructions);

/* Prepares to step through the rows of an FDE. All pointers are borrowed until the last step. */
void cfi_machine_start(struct cfi_machine *m, const struct cfi_section *section,
		       const struct cfi_cie *cie, const struct cfi_fde *fde);

/* Runs to the end of the next row. m->state is that row, valid over [*ret_start, *ret_end), which
 * is not empty. Rows follow one another from the FDE's start to its end. Returns false after the
 * last row. */
bool cfi_machine_step(struct cfi_machine *m, uint64_t *ret_start, uint64_t *ret_end);

#endif
