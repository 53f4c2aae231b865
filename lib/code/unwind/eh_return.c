/* SPDX-License-Identifier: MIT */
/* Finds the last calls before the registers are loaded; see eh_return.h. */
#include "unwind/eh_return.h"

#include "arch/flow_insn.h"
#include "arch/target.h"

#define MOST_CODE 4096 /* bytes of such a function; libgcc's have some 500 */

static const uint8_t data_regs[] = {ARCH_LANDING_REGS};

bool eh_return_is_row(const struct cfi_state *state)
{
	bool is = state->refused == CFI_ACCEPTED && state->cfa == STACKD_CFA_REG;

	for (size_t i = 0; i < sizeof(data_regs); i++)
		is &= state->regs[data_regs[i]].how == CFI_AT_CFA;
	return is;
}

bool eh_return_is_end(const struct cfi_state *row, const struct cfi_state *next)
{
	return eh_return_is_row(row) && row->cfa_reg == STACKD_REG_FP && eh_return_is_row(next) &&
	       next->cfa_reg < STACKD_REG_PC && ARCH_VOLATILE_REGS >> next->cfa_reg & 1;
}

uint64_t eh_return_find(const struct elf_file *elf, uint64_t from, uint64_t to)
{
	struct insn_decoder decoder;
	struct flow_insn i;
	uint8_t code[MOST_CODE];
	size_t size = to - from, last = 0, before = 0;

	if (to <= from || size > sizeof(code) || !elf_file_read_whole(elf, from, code, size))
		return 0;
	insn_decoder_init(&decoder);
	for (size_t at = 0; at < size; at += i.length) {
		if (!flow_insn_decode(&decoder, code + at, size - at, &i))
			return 0;
		if (i.kind == FLOW_CALL) {
			before = last;
			last = at + i.length;
		}
	}
	if (!last)
		return 0;
	return from + (before ? before : last) - 1;
}

/* The slots count from a register that no function finds unchanged after a call, so that their
 * values are not known in a frame that has called. */
void eh_return_lose(struct stackd_rule *rule)
{
	rule->saved_reg = ARCH_RESULT_REG;
	rule->saved_via_reg = (uint8_t)((1u << STACKD_SAVED_COUNT) - 1);
}

/* Returns whether a code address (vaddr and file offset), in the call frame information of
 * `index`, is in the code from the call that writes the slots on. */
static bool is_behind(const struct elf_file *elf, const struct cfi_index *index, uint64_t vaddr,
		      uint64_t offset)
{
	struct cfi_row row, next;
	uint64_t at;

	if (!cfi_index_row(index, vaddr, &row) || !eh_return_is_row(&row.state) ||
	    !cfi_index_row(index, row.end, &next) || !eh_return_is_end(&row.state, &next.state))
		return false;
	at = eh_return_find(elf, offset - (vaddr - row.start), offset + (row.end - vaddr));
	return at && offset >= at;
}

bool eh_return_is_at(const struct elf_file *elf, uint64_t offset)
{
	struct cfi_index *index;
	uint64_t vaddr;
	bool is;

	if (!elf_file_offset_to_vaddr(elf, offset, &vaddr) || cfi_index_new_at(elf, vaddr, &index))
		return false;
	is = is_behind(elf, index, vaddr, offset);
	cfi_index_free(index);
	return is;
}

void eh_return_improve(const struct elf_file *elf, const struct cfi_index *index, uint64_t vaddr,
		       uint64_t offset, struct walk_rule *rule)
{
	if (!index || rule->provenance != PROVENANCE_CFI || rule->slow ||
	    rule->fast.cfa != STACKD_CFA_REG || rule->fast.reg != STACKD_REG_FP ||
	    !rule->fast.saved[STACKD_SAVED_COUNT - 1] || !is_behind(elf, index, vaddr, offset))
		return;
	eh_return_lose(&rule->fast);
	rule->provenance = PROVENANCE_ANALYSED;
}
