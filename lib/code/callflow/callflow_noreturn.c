/* SPDX-License-Identifier: MIT */
/* Reads the entry of the function alone, then its code in order; see callflow_noreturn.h. */
#include "callflow/callflow_noreturn.h"

#include <stdlib.h>

#include "arch/flow_insn.h"
#include "cfi/cfi_entry.h"
#include "cfi/cfi_single.h"

#define MOST_CODE 65536 /* bytes of a function; a longer one counts as returning */

/* Finds the function of two entries, CIE and FDE. Returns false if they do not cover a vaddr, or
 * have exception tables. */
static bool find_in(const struct cfi_section *section, uint64_t vaddr, struct cfi_fde *ret_fde)
{
	struct cfi_entry entry;
	struct cfi_cie cie;
	enum cfi_refusal refused;
	uint64_t at = 0;

	if (!cfi_entry_next(section, &at, &entry, &refused) || !entry.is_cie)
		return false;
	cfi_entry_read_cie(section, &entry, &cie);
	return !cie.has_handlers && !cie.is_signal_frame &&
	       cfi_entry_next(section, &at, &entry, &refused) && !entry.is_cie &&
	       cfi_entry_read_fde(section, &entry, &cie, ret_fde) == CFI_ACCEPTED &&
	       vaddr - ret_fde->start < ret_fde->end - ret_fde->start;
}

/* Returns whether an instruction at `at` may leave a function of `size` bytes for its caller, or
 * for code that is not followed. */
static bool leaves(const struct flow_insn *i, size_t at, size_t size)
{
	switch (i->kind) {
	case FLOW_RETURN:
		return true;
	case FLOW_JUMP:
	case FLOW_BRANCH:
		return !i->is_direct || flow_insn_target(i, at) >= size;
	default:
		return false;
	}
}

/* Returns whether some code, a whole function, stays in itself. */
static bool stays(const uint8_t *code, size_t size)
{
	struct insn_decoder decoder;
	struct flow_insn i;

	insn_decoder_init(&decoder);
	for (size_t at = 0; at < size; at += i.length)
		if (!flow_insn_decode(&decoder, code + at, size - at, &i) || leaves(&i, at, size))
			return false;
	return true;
}

bool callflow_noreturn_is(const struct elf_file *elf, uint64_t offset)
{
	struct cfi_sections sections;
	struct cfi_fde fde;
	uint64_t vaddr, start;
	uint8_t *code;
	size_t size;
	bool is;

	if (!elf_file_offset_to_vaddr(elf, offset, &vaddr) ||
	    cfi_single_read(elf, vaddr, &sections))
		return false;
	is = find_in(&sections.items[0], vaddr, &fde);
	cfi_section_release(&sections);
	if (!is || fde.end - fde.start > MOST_CODE ||
	    !elf_file_vaddr_to_offset(elf, fde.start, &start))
		return false;
	size = (size_t)(fde.end - fde.start);
	code = malloc(size);
	is = code && elf_file_read_whole(elf, start, code, size) && stays(code, size);
	free(code);
	return is;
}
