/* SPDX-License-Identifier: MIT */
/* Finds the function in whose frame a file's code runs, and steps by its rule; see jump_frame.h. */
#include "unwind/jump_frame.h"

#include "arch/call_site.h"
#include "arch/code_form.h"
#include "arch/insn.h"

#define SEARCHED_WORDS 2560 /* the frame of StgRun has 2054 */
#define FIRST_SEARCHES 16
#define FUNCTION_BYTES 65536 /* from a function's start to code of it */

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

int jump_frame_find(struct jump_frame *frame, const struct object *object,
		    const struct cfi_index *index)
{
	size_t count = index ? cfi_index_count(index) : 0;
	uint64_t start, end;

	frame->is_known = true;
	for (size_t i = 0; i < count; i++) {
		if (!is_of_jumps(index, i, &start, &end))
			continue;
		frame->start = start;
		frame->object = object->number;
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
static bool is_called(const struct walk_run *run, const struct jump_frame *frame)
{
	const struct object *object = NULL;

	return called_before(run, run->at.walk.pc, &object) == frame->start &&
	       object->number == frame->object;
}

#define AHEAD_BYTES 256 /* of code behind a call, in which the stack pointer moves up again */

/* Follows code up to its next jump. Returns how many bytes of the stack it gives back, or -1 if it
 * returns: then it was called. */
static int64_t given_back(const uint8_t *code, size_t len)
{
	struct insn_decoder decoder;
	int64_t height = 0, most = 0;
	struct insn insn;

	insn_decoder_init(&decoder);
	for (size_t at = 0; at < len; at += insn.length) {
		if (!insn_decode(&decoder, code + at, len - at, at, &insn))
			break;
		if (insn.flow == INSN_RETURN)
			return -1;
		if (insn.flow == INSN_JUMP || insn.flow == INSN_JUMP_INDIRECT ||
		    insn.flow == INSN_STOP)
			break;
		if (insn.op == INSN_PUSH)
			height -= 8;
		else if (insn.op == INSN_POP)
			height += 8;
		else if (insn.op == INSN_COPY && insn.dst == INSN_SP && insn.src == INSN_SP)
			height += insn.disp;
		else if (insn.op == INSN_LEAVE || insn.written >> INSN_SP & 1)
			break;
		most = height > most ? height : most;
	}
	return most;
}

/* Returns whether the word on top of the stack is the return address of a call that may have led to
 * the code at `at`: a direct one of code right before it, or an indirect one of code without call
 * frame information. */
static bool may_be_called(const struct walk_run *run, const struct object *own, uint64_t at,
			  const struct jump_frame_rules *rules)
{
	uint8_t call[CALL_SITE_BYTES];
	const struct object *object;
	const struct walk_rule *rule;
	uint64_t pc, offset, target, vaddr;

	if (!walk_memory_read8(&run->at.memory, run->at.walk.r[STACKD_REG_SP], &pc))
		return false;
	target = called_before(run, pc, &object);
	if (target)
		return object == own && elf_file_offset_to_vaddr(own->elf, at, &vaddr) &&
		       vaddr - target < FUNCTION_BYTES;
	if (!walk_run_find(run, pc, true, &object, &offset) || !object->elf ||
	    offset + 1 < sizeof(call) ||
	    !elf_file_read_whole(object->elf, offset + 1 - sizeof(call), call, sizeof(call)) ||
	    !(call_site_kinds(call, sizeof(call)) & CALL_SITE_INDIRECT))
		return false;
	rule = rules->at(rules->arg, object, offset);
	return !rule || rule->provenance != PROVENANCE_CFI;
}

/* Finds the stack pointer as it was before the code moved it for a call of C, to align the stack
 * and to pass arguments. Returns false if the code was called, and so has a frame of its own. */
static bool find_base(const struct walk_run *run, const struct jump_frame_rules *rules,
		      uint64_t *ret_sp)
{
	const struct walk *w = &run->at.walk;
	const struct object *object;
	uint8_t code[AHEAD_BYTES];
	uint64_t offset;
	int64_t got, back;

	if (!walk_run_find(run, w->pc, !w->is_exact, &object, &offset) || !object->elf)
		return false;
	got = elf_file_read(object->elf, offset + !w->is_exact, code, sizeof(code));
	back = got > 0 ? given_back(code, (size_t)got) : -1;
	*ret_sp = w->r[STACKD_REG_SP] + (uint64_t)back;
	return back > 0 || (!back && !may_be_called(run, object, offset, rules));
}

/* Steps from a base of find_base(). */
static bool step_from(struct walk_run *run, const struct jump_frame *frame, uint64_t base)
{
	const struct walk before = run->at.walk;

	run->at.walk.r[STACKD_REG_SP] = base;
	if (walk_step_by_rule(&run->at, &frame->rule) == WALK_GO_ON && is_called(run, frame))
		return true;
	run->at.walk = before;
	return false;
}

bool jump_frame_step(struct walk_run *run, const struct jump_frame *frame,
		     const struct jump_frame_rules *rules)
{
	uint64_t base;

	return frame->start && find_base(run, rules, &base) && step_from(run, frame, base);
}

/* --- frames of other files ---------------------------------------------------------------------
 */

/* Makes *frame the function that begins at an address of a file, if code can run in its frame. */
static bool find_at(struct jump_frame *frame, const struct object *object, uint64_t start)
{
	struct cfi_index *index;
	bool is_found;

	if (cfi_index_new_at(object->elf, start, &index))
		return false;
	is_found = !jump_frame_find(frame, object, index) && frame->start == start;
	cfi_index_free(index);
	if (!is_found)
		jump_frame_drop(frame);
	return is_found;
}

/* Steps by the function of a call whose return address is above `base`, and adds the function. */
static bool search(struct jump_frames *frames, struct walk_run *run, uint64_t base)
{
	struct jump_frame frame = {0};
	const struct object *object;
	uint64_t pc, target;

	for (uint64_t i = 0; i < SEARCHED_WORDS; i++) {
		if (!walk_memory_read8(&run->at.memory, base + 8 * i, &pc))
			continue;
		target = called_before(run, pc, &object);
		if (!target || !find_at(&frame, object, target))
			continue;
		if (step_from(run, &frame, base)) {
			frames->items[frames->count++] = frame;
			return true;
		}
		jump_frame_drop(&frame);
	}
	return false;
}

/* Each search takes up to some milliseconds: after the first ones, the 2nd, 4th, 8th, ... try. */
static bool is_due(uint32_t *tries)
{
	return ++*tries <= FIRST_SEARCHES || !(*tries & (*tries - 1));
}

bool jump_frames_step(struct jump_frames *frames, struct walk_run *run,
		      const struct jump_frame_rules *rules, uint32_t *tries)
{
	uint64_t base;

	if (!find_base(run, rules, &base))
		return false;
	for (size_t i = 0; i < frames->count; i++) {
		if (step_from(run, &frames->items[i], base))
			return true;
	}
	return frames->count < JUMP_FRAMES && is_due(tries) && search(frames, run, base);
}

void jump_frames_drop(struct jump_frames *frames)
{
	for (size_t i = 0; i < frames->count; i++)
		jump_frame_drop(&frames->items[i]);
	frames->count = 0;
}

/* --- interpreters -------------------------------------------------------------------------- */

/* Returns the rule of the interpreter that the call before a return address enters, or NULL. */
static const struct walk_rule *rule_of_call(const struct walk_run *run, uint64_t pc,
					    const struct jump_frame_rules *rules)
{
	const struct object *object;
	const struct walk_rule *rule;
	uint64_t offset, target = called_before(run, pc, &object);

	if (!target || !elf_file_vaddr_to_offset(object->elf, target, &offset))
		return NULL;
	rule = rules->at(rules->arg, object, offset);
	if (!rule || rule->provenance != PROVENANCE_CFI || rule->is_signal ||
	    rule->fast.cfa != STACKD_CFA_REG || rule->fast.reg != STACKD_REG_SP ||
	    rule->fast.cfa_offset <= 8 || rule->fast.ra_offset != -8)
		return NULL;
	return rule;
}

bool jump_frame_leave_interpreter(struct walk_run *run, const struct jump_frame_rules *rules)
{
	const struct walk before = run->at.walk;
	uint64_t sp = before.r[STACKD_REG_SP], pc;

	if (sp & 7)
		return false;
	for (uint64_t above = 8; above <= 8 * JUMP_FRAME_SEARCHED; above += 8) {
		const struct walk_rule *rule;

		if (!walk_memory_read8(&run->at.memory, sp + above, &pc))
			return false;
		rule = rule_of_call(run, pc, rules);
		if (!rule || (uint64_t)rule->fast.cfa_offset > above + 8)
			continue;
		run->at.walk.r[STACKD_REG_SP] += above + 8 - (uint64_t)rule->fast.cfa_offset;
		if (walk_step_by_rule(&run->at, rule) == WALK_GO_ON)
			return true;
		run->at.walk = before;
	}
	return false;
}
