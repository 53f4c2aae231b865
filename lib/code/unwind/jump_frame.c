/* SPDX-License-Identifier: MIT */
/* Finds the function in whose frame a file's code runs, and steps by its rule; see jump_frame.h. */
#include "unwind/jump_frame.h"

#include "arch/code_form.h"

/* Returns whether the row at the end of an entry is that of a function that jumps to code without
 * an entry. */
static bool is_of_jumps(const struct cfi_index *index, size_t i, uint64_t *ret_start,
			uint64_t *ret_end)
{
	struct cfi_row row;

	cfi_index_range(index, i, ret_start, ret_end);
	return *ret_end > *ret_start && cfi_index_row(index, *ret_end - 1, &row) &&
	       row.refused == CFI_ACCEPTED && !row.is_signal_frame &&
	       row.state.refused == CFI_ACCEPTED && row.state.cfa == STACKD_CFA_REG &&
	       row.state.cfa_reg == STACKD_REG_SP &&
	       row.state.regs[STACKD_REG_SP].how == CFI_VAL_EXPRESSION;
}

int jump_frame_find(struct jump_frame *frame, const struct cfi_index *index)
{
	size_t count = index ? cfi_index_count(index) : 0;
	uint64_t start, end;

	frame->is_known = true;
	for (size_t i = 0; i < count; i++) {
		if (!is_of_jumps(index, i, &start, &end))
			continue;
		frame->start = start;
		return walk_rule_compile(index, end - 1, &frame->rule);
	}
	return 0;
}

void jump_frame_drop(struct jump_frame *frame)
{
	walk_rule_free(&frame->rule);
	*frame = (struct jump_frame){0};
}

/* Returns the target (vaddr) of the direct call before a return address, or 0. */
static uint64_t called_before(const struct walk_run *run, uint64_t pc,
			      const struct object **ret_object)
{
	const struct object *object;
	uint8_t call[CODE_FORM_CALL];
	uint64_t offset, vaddr, target;

	if (!walk_run_find(run, pc, true, &object, &offset) || !object->elf ||
	    offset < CODE_FORM_CALL ||
	    !elf_file_read_whole(object->elf, offset + 1 - CODE_FORM_CALL, call, CODE_FORM_CALL) ||
	    !elf_file_offset_to_vaddr(object->elf, offset, &vaddr) ||
	    !code_form_call_target(call, vaddr + 1, &target))
		return 0;
	*ret_object = object;
	return target;
}

/* Returns whether the return address that a step has led to follows a call of the function. */
static bool is_called(const struct walk_run *run, const struct jump_frame *frame,
		      const struct object *own)
{
	const struct object *object = NULL;

	return called_before(run, run->at.walk.pc, &object) == frame->start && object == own;
}

/* Code aligns the stack by 8 bytes around calls of C where necessary, so both forms are tried. */
bool jump_frame_step(struct walk_run *run, const struct jump_frame *frame,
		     const struct object *object)
{
	const struct walk before = run->at.walk;

	if (!frame->start)
		return false;
	for (uint64_t aligned = 0; aligned <= 8; aligned += 8) {
		run->at.walk.r[STACKD_REG_SP] += aligned;
		if (walk_step_by_rule(&run->at, &frame->rule) == WALK_GO_ON &&
		    is_called(run, frame, object))
			return true;
		run->at.walk = before;
	}
	return false;
}

/* --- interpreters -------------------------------------------------------------------------- */

/* Returns the rule of the interpreter that the call before a return address enters, or NULL. */
static const struct walk_rule *rule_of_call(const struct walk_run *run, uint64_t pc,
					    jump_frame_rule_fn *rule_at, void *arg)
{
	const struct object *object;
	const struct walk_rule *rule;
	uint64_t offset, target = called_before(run, pc, &object);

	if (!target || !elf_file_vaddr_to_offset(object->elf, target, &offset))
		return NULL;
	rule = rule_at(arg, object, offset);
	if (!rule || rule->provenance != PROVENANCE_CFI || rule->is_signal ||
	    rule->fast.cfa != STACKD_CFA_REG || rule->fast.reg != STACKD_REG_SP ||
	    rule->fast.cfa_offset <= 8 || rule->fast.ra_offset != -8)
		return NULL;
	return rule;
}

bool jump_frame_leave_interpreter(struct walk_run *run, jump_frame_rule_fn *rule_at, void *arg)
{
	const struct walk before = run->at.walk;
	uint64_t sp = before.r[STACKD_REG_SP], pc;

	if (sp & 7)
		return false;
	for (uint64_t above = 8; above <= 8 * JUMP_FRAME_SEARCHED; above += 8) {
		const struct walk_rule *rule;

		if (!walk_memory_read8(&run->at.memory, sp + above, &pc))
			return false;
		rule = rule_of_call(run, pc, rule_at, arg);
		if (!rule || (uint64_t)rule->fast.cfa_offset > above + 8)
			continue;
		run->at.walk.r[STACKD_REG_SP] += above + 8 - (uint64_t)rule->fast.cfa_offset;
		if (walk_step_by_rule(&run->at, rule) == WALK_GO_ON)
			return true;
		run->at.walk = before;
	}
	return false;
}
