/* SPDX-License-Identifier: MIT */
/*
 * The entries of a call frame section, CIEs and FDEs, and where each one's instructions are.
 * Format: DWARF 5 section 6.4.1, and for .eh_frame the Linux Standard Base, chapter 10.6.
 */
#ifndef CFI_CFI_ENTRY_H
#define CFI_CFI_ENTRY_H

#include "cfi/cfi_reader.h"
#include "cfi/cfi_state.h"
#include "unwind/recipe.h"

/* Any entry, before its kind's fields are read. */
struct cfi_entry {
	uint64_t at; /* offset of the entry in the section */
	bool is_cie;
	bool is_64bit;		/* lengths and CIE pointers have 8 bytes */
	uint64_t cie_at;	/* of an FDE: offset of its CIE; UINT64_MAX if it leads out */
	struct cfi_reader body; /* what follows the CIE pointer */
};

/* A CIE in the form in which its FDEs need it. */
struct cfi_cie {
	uint64_t at;
	uint64_t code_align;
	int64_t data_align;
	uint8_t pointer_encoding; /* of addresses in FDEs: DW_EH_PE_* */
	bool has_augmentation_data;
	bool is_signal_frame;
	enum recipe_refusal refused; /* RECIPE_ACCEPTED; else no FDE of it can be read */
	enum recipe_refusal rows;    /* RECIPE_ACCEPTED; else why its instructions are refused */
	struct cfi_state initial;    /* after its instructions */
};

struct cfi_fde {
	uint64_t start, end; /* vaddr; start < end */
	struct cfi_reader instructions;
};

/* Reads the entry at `*at` and moves `*at` behind it; false at the end. A zero length is skipped:
 * linkers leave terminators in the middle of sections. An entry that leads out of the section
 * ends it, with *ret_refused set. */
bool cfi_next_entry(const struct recipe_section *section, uint64_t *at, struct cfi_entry *ret_entry,
		    enum recipe_refusal *ret_refused);

/* Reads a CIE and runs its instructions. */
void cfi_read_cie(const struct recipe_section *section, const struct cfi_entry *entry,
		  struct cfi_cie *ret_cie);

/* RECIPE_ACCEPTED, or why the FDE is refused. */
enum recipe_refusal cfi_read_fde(const struct recipe_section *section,
				 const struct cfi_entry *entry, const struct cfi_cie *cie,
				 struct cfi_fde *ret_fde);

/* An address in one of the encodings that cfi_read_cie() accepts. */
uint64_t cfi_read_address(const struct recipe_section *section, struct cfi_reader *r,
			  uint8_t encoding);

#endif
