/* SPDX-License-Identifier: MIT */
/*
 * The entries of a call frame section, CIEs and FDEs, and the position of their instructions.
 * Format: DWARF 5 section 6.4.1, and for .eh_frame the Linux Standard Base, chapter 10.6.
 */
#ifndef CFI_CFI_ENTRY_H
#define CFI_CFI_ENTRY_H

#include "cfi/cfi_reader.h"
#include "cfi/cfi_section.h"
#include "cfi/cfi_state.h"

/* Any entry, before the fields of its kind are read. */
struct cfi_entry {
	uint64_t at; /* offset of the entry in the section */
	bool is_cie;
	bool is_64bit;		/* lengths and CIE pointers have 8 bytes */
	uint64_t cie_at;	/* of an FDE: offset of its CIE; UINT64_MAX: outside of the
				 * section */
	struct cfi_reader body; /* the bytes behind the CIE pointer */
};

/* A CIE in the form in which its FDEs need it. */
struct cfi_cie {
	uint64_t at;
	uint64_t code_align;
	int64_t data_align;
	uint8_t pointer_encoding; /* DW_EH_PE_* of the addresses in its FDEs */
	bool has_augmentation_data;
	bool is_signal_frame;
	bool has_handlers;	  /* its FDEs may have exception tables */
	enum cfi_refusal refused; /* CFI_ACCEPTED; else its FDEs cannot be read */
	enum cfi_refusal rows;	  /* CFI_ACCEPTED; else why its instructions (and so the rows of
				   * its FDEs) are refused */
	struct cfi_state initial; /* the state after its instructions */
};

struct cfi_fde {
	uint64_t start, end; /* vaddr; start < end */
	struct cfi_reader instructions;
};

/* Reads the entry at `*at`, an offset in the section, and sets `*at` to the next entry's offset.
 * Skips entries of length zero, since linkers leave terminators in the middle of sections. Returns
 * false at the end. *ret_refused is then CFI_ACCEPTED, or CFI_REFUSED_ENTRY_LENGTH if the reading
 * ends because an entry is longer than the section's rest. *ret_entry points into the section's
 * bytes. */
bool cfi_entry_next(const struct cfi_section *section, uint64_t *at, struct cfi_entry *ret_entry,
		    enum cfi_refusal *ret_refused);

/* Reads a CIE and runs its instructions; ret_cie->refused and ->rows say what was refused. */
void cfi_entry_read_cie(const struct cfi_section *section, const struct cfi_entry *entry,
			struct cfi_cie *ret_cie);

/* Reads an FDE of the given CIE. Returns CFI_ACCEPTED, or why the FDE is refused.
 * ret_fde->instructions points into the section's bytes. */
enum cfi_refusal cfi_entry_read_fde(const struct cfi_section *section,
				    const struct cfi_entry *entry, const struct cfi_cie *cie,
				    struct cfi_fde *ret_fde);

/* Reads an address (vaddr) in one of the encodings (DW_EH_PE_*) that cfi_entry_read_cie() accepts.
 * If the bytes end within the address, the reader fails. */
uint64_t cfi_entry_read_address(const struct cfi_section *section, struct cfi_reader *r,
				uint8_t encoding);

#endif
