/* SPDX-License-Identifier: MIT */
/* Follows code instruction by instruction up to a jump; see entry_frame.h. */
#include "analysis/entry_frame.h"

#include "analysis/frame_state.h"
#include "arch/insn.h"

static bool rule_of(const struct frame_state *state, struct stackd_rule *ret_rule)
{
	enum analysis_abstained why;

	return frame_state_rule(state, ret_rule, &why) && ret_rule->cfa == STACKD_CFA_REG &&
	       ret_rule->reg == STACKD_REG_SP;
}

bool entry_frame_find(const struct elf_file *file, uint64_t start, uint64_t vaddr,
		      struct stackd_rule *ret_rule)
{
	struct frame_state state, wanted;
	struct insn_decoder decoder;
	struct insn insn = {.flow = INSN_STOP};
	uint64_t at = start;

	insn_decoder_init(&decoder);
	frame_state_init(&state);
	frame_state_forget(&wanted);
	for (int i = 0; i < ENTRY_FRAME_INSTRUCTIONS; i++, at += insn.length) {
		uint8_t bytes[INSN_MAX_BYTES];
		int64_t got = elf_file_read(file, at, bytes, sizeof(bytes));

		if (at == vaddr)
			wanted = state;
		if (got <= 0 || !insn_decode(&decoder, bytes, (size_t)got, at, &insn) ||
		    (insn.flow != INSN_NEXT && insn.flow != INSN_JUMP_INDIRECT))
			return false;
		if (insn.flow == INSN_JUMP_INDIRECT)
			break;
		frame_state_apply(&state, &insn);
	}
	if (insn.flow != INSN_JUMP_INDIRECT || !rule_of(&state, ret_rule) ||
	    ret_rule->cfa_offset <= 8)
		return false;
	return vaddr >= at + insn.length || rule_of(&wanted, ret_rule);
}
