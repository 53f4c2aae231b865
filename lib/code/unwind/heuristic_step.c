/* SPDX-License-Identifier: MIT */
/*
 * Steps by frame pointers, in code without a file, and out of the trampoline of uretprobes; see
 * heuristic_step.h.
 *
 * Code without a file is made at run time, or comes from a file that is not an ELF file (SBCL's
 * core). runtime_code.h derives its unwind rules from its bytes in memory.
 */
#include "unwind/heuristic_step.h"

#include <errno.h>

#include "analysis/exit_frame.h"
#include "arch/call_site.h"
#include "arch/call_source.h"
#include "arch/code_form.h"
#include "runtime/runtime.h"
#include "unwind/runtime_code.h"
#include "unwind/stack_switch.h"
#include "unwind/sigreturn.h"

/* --- return addresses ---------------------------------------------------------------------- */

enum answer {
	NO,
	YES,
	UNKNOWN, /* the code cannot be read */
};

static enum answer follows_call_in(const struct elf_file *elf, uint64_t offset)
{
	uint8_t bytes[CALL_SITE_BYTES];

	if (offset < sizeof(bytes) ||
	    elf_file_read(elf, offset - sizeof(bytes), bytes, sizeof(bytes)) != sizeof(bytes))
		return NO;
	return call_site_ends(bytes, sizeof(bytes)) ? YES : NO;
}

/* Does follows_call_in() for code that the process has made at run time. */
static enum answer follows_call_made(const struct walk_run *run, uint64_t pc)
{
	const struct object *object =
		run->code ? runtime_code_at(run->code, run->in->pid, pc - 1) : NULL;

	return object ? follows_call_in(object->elf, pc) : UNKNOWN;
}

/* Returns whether an address follows a call, or is that of sigreturn, which the kernel puts
 * there. */
static enum answer follows_call(const struct walk_run *run, uint64_t pc)
{
	const struct object *object;
	enum answer answer;
	uint64_t offset;

	if (!walk_run_find(run, pc, true, &object, &offset))
		return NO;
	if (object->elf && sigreturn_is_at(object->elf, offset + 1))
		return YES;
	if (object->elf)
		return follows_call_in(object->elf, offset + 1);
	answer = follows_call_made(run, pc);
	if (answer == NO && runtime_code_has_changed(run->code, run->in->pid, pc - 1))
		answer = follows_call_made(run, pc);
	return answer;
}

/* Returns whether a guessed return address can be one. If the caller's code cannot be read, the
 * saved frame pointer must lead upwards as well. */
static bool is_plausible_return(const struct walk_run *run, uint64_t pc, uint64_t fp,
				uint64_t saved)
{
	enum answer answer = follows_call(run, pc);

	if (answer != UNKNOWN)
		return answer == YES;
	return saved > fp && !(saved & 7) && saved - run->at.memory.start < run->at.memory.len;
}

/* Returns whether a return address that follows no call is in a runtime's interpreter, whose frame
 * is at `caller`. `callee` is the frame that is left, if that is the interpreter's too, else 0. */
static bool returns_to_interpreter(const struct walk_run *run, uint64_t pc, uint64_t slot,
				   uint64_t callee, uint64_t caller)
{
	const struct walk *w = &run->at.walk;
	const struct runtime *runtime;
	const struct object *object;
	uint64_t offset, link;

	if (!walk_run_find(run, pc, true, &object, &offset) || object->kind != OBJECT_JIT)
		return false;
	runtime = runtime_frame_waits(&run->at.memory, caller, slot, &link);
	return runtime && (!callee || runtime->frames->is_called(
					      &run->at.memory, callee, link,
					      !w->is_exact && follows_call(run, w->pc) == NO));
}

/* --- frame pointers ------------------------------------------------------------------------ */

/* Returns the caller's stack pointer, which is right above the return address except for
 * interpreters. */
static uint64_t caller_sp(const struct walk_run *run, uint64_t slot, uint64_t fp)
{
	const struct object *object;
	uint64_t offset, sender_sp;

	if (slot != fp &&
	    walk_run_find(run, run->at.walk.pc, !run->at.walk.is_exact, &object, &offset) &&
	    object->kind == OBJECT_JIT && runtime_frame_sender(&run->at.memory, fp, &sender_sp))
		return sender_sp;
	return slot + 8;
}

/* Moves to the caller with the return address `pc`, which is, or was, in `slot`. */
static enum stackd_end_reason enter_caller(struct walk_run *run, uint64_t slot, uint64_t pc,
					   uint64_t sp, uint64_t fp)
{
	struct walk *w = &run->at.walk;

	w->r[STACKD_REG_FP] = fp;
	w->valid = WALK_KNOWN_AFTER_GUESS;
	walk_arrive(w, sp, pc, slot, false);
	return WALK_GO_ON;
}

/* Moves to the caller with the frame pointer `fp`, whose return address is in `slot`; `below` is
 * the address of the callee's saved frame pointer, or `slot` if it has saved none. */
static enum stackd_end_reason step_to(struct walk_run *run, uint64_t below, uint64_t slot,
				      uint64_t fp, enum stackd_end_reason failure)
{
	uint64_t pc;

	if (!walk_memory_read8(&run->at.memory, slot, &pc))
		return failure;
	if (!pc && !fp)
		return walk_run_is_at_end(run, slot) ? STACKD_END_ENTRY : failure;
	if (!is_plausible_return(run, pc, below, fp) &&
	    !returns_to_interpreter(run, pc, slot, slot == below ? 0 : below, fp))
		return failure;
	run->is_guess = true;
	run->guesses++;
	return enter_caller(run, slot, pc, caller_sp(run, slot, below), fp);
}

/* Returns how much of the present frame is set up. A function that waits for a call has set up all;
 * one that a signal has interrupted may be anywhere. */
static enum stackd_leaf leaf_of(const struct walk_run *run)
{
	if (!run->at.walk.is_exact)
		return STACKD_LEAF_MADE;
	return run->at.walk.slot ? STACKD_LEAF_UNTOLD : run->in->leaf;
}

/* Returns whether the interrupted code is a runtime's interpreter, in the middle of a function. */
static bool is_interpreting(const struct walk_run *run)
{
	const struct walk *w = &run->at.walk;

	return runtime_frame_runs(&run->at.memory, w->r[STACKD_REG_FP], w->r[STACKD_REG_SP]);
}

/* Steps out of code that was interrupted while setting up a frame of an interpreter, or choosing a
 * function to jump to. */
static bool step_from_entry(struct walk_run *run)
{
	const struct walk *w = &run->at.walk;
	const uint64_t from = w->pc - RUNTIME_ENTRY_BEFORE;
	const struct object *object =
		run->code ? runtime_code_at(run->code, run->in->pid, w->pc) : NULL;
	uint8_t bytes[RUNTIME_ENTRY_BEFORE + RUNTIME_ENTRY_AFTER];
	uint64_t r[STACKD_REG_COUNT];
	int64_t got = object ? elf_file_read(object->elf, from, bytes, sizeof(bytes)) : 0;
	struct runtime_caller c;

	walk_step_registers(w, r);
	if (got <= RUNTIME_ENTRY_BEFORE ||
	    !runtime_frame_enter(&run->at.memory, bytes, (size_t)got, RUNTIME_ENTRY_BEFORE, r,
				 &c) ||
	    (follows_call(run, c.pc) != YES && !returns_to_interpreter(run, c.pc, c.slot, 0, c.fp)))
		return false;
	run->provenance = PROVENANCE_ANALYSED;
	return enter_caller(run, c.slot, c.pc, c.sp, c.fp) == WALK_GO_ON;
}

static enum stackd_end_reason step_by_frame_pointer(struct walk_run *run,
						    enum stackd_end_reason failure)
{
	const struct walk *w = &run->at.walk;
	enum stackd_leaf leaf = leaf_of(run);
	uint64_t sp = w->r[STACKD_REG_SP], fp = w->r[STACKD_REG_FP], saved;

	if (!(w->valid >> STACKD_REG_FP & 1) ||
	    (leaf == STACKD_LEAF_UNTOLD && !is_interpreting(run)))
		return failure;
	if (leaf == STACKD_LEAF_NONE)
		return step_to(run, sp, sp, fp, failure);
	if (leaf == STACKD_LEAF_PUSHED)
		fp = sp;
	if (fp & 7 || fp < sp || !walk_memory_read8(&run->at.memory, fp, &saved))
		return failure;
	return step_to(run, fp, fp + 8, saved, failure);
}

/* --- code without a file ------------------------------------------------------------------- */

/* Returns why a walk ends in code without rules: either an ELF file could not be read, or there is
 * nothing that could give a rule. */
static enum stackd_end_reason without_rule(const struct object *object)
{
	return object->kind == OBJECT_JIT || object->error == -ENOEXEC ? STACKD_END_RUNTIME_CODE
								       : STACKD_END_NO_OBJECT;
}

/* Returns whether a step by a rule has led to a return address. */
static bool is_return_of(const struct walk_run *run)
{
	const struct walk *w = &run->at.walk;

	return follows_call(run, w->pc) == YES ||
	       (w->valid >> STACKD_REG_FP & 1 &&
		returns_to_interpreter(run, w->pc, w->slot, 0, w->r[STACKD_REG_FP]));
}

/* Steps by a rule from the code's instructions. The bytes may be newer than the sample, so the step
 * is undone if it does not lead to a return address. */
static enum stackd_end_reason step_by_code(struct walk_run *run, const struct stackd_rule *rule)
{
	const struct walk_rule whole = {.fast = *rule};
	const struct walk before = run->at.walk;
	enum stackd_end_reason reason = walk_step_by_rule(&run->at, &whole);

	run->provenance = PROVENANCE_ANALYSED;
	if (reason != WALK_GO_ON || is_return_of(run))
		return reason;
	run->at.walk = before;
	return STACKD_END_BAD_RETURN;
}

/* Returns whether an address of a file follows an indirect call, by which C enters the code. */
static bool follows_entry(const struct walk_run *run, uint64_t pc)
{
	const struct object *object;
	uint8_t bytes[CALL_SITE_BYTES];
	uint64_t offset;

	return walk_run_find(run, pc, true, &object, &offset) && object->elf &&
	       offset + 1 >= sizeof(bytes) &&
	       elf_file_read_whole(object->elf, offset + 1 - sizeof(bytes), bytes, sizeof(bytes)) &&
	       call_site_kinds(bytes, sizeof(bytes)) & CALL_SITE_INDIRECT;
}

/* Steps out of code that is entered by jumps, and may have aligned the stack around calls of C. */
static bool step_by_entry(struct walk_run *run)
{
	const struct walk before = run->at.walk;
	struct walk_rule rule = {.fast.cfa = STACKD_CFA_NONE};

	if (!run->code ||
	    !runtime_code_entry(run->code, run->in->pid, before.pc - !before.is_exact, &rule.fast))
		return false;
	for (uint64_t aligned = 0; aligned <= 8; aligned += 8) {
		run->at.walk.r[STACKD_REG_SP] += aligned;
		if (walk_step_by_rule(&run->at, &rule) == WALK_GO_ON &&
		    follows_entry(run, run->at.walk.pc)) {
			run->provenance = PROVENANCE_ANALYSED;
			return true;
		}
		run->at.walk = before;
	}
	return false;
}

/* Drops callee-saved registers that may be changed at returns: the bits of the rule's cfa_add. */
static void drop_changed(struct walk_run *run, const struct stackd_rule *rule)
{
#define X(name, number) number,
	static const uint8_t registers[] = {STACKD_SAVED_REGS(X)};
#undef X

	for (int i = 0; i < STACKD_SAVED_COUNT; i++) {
		if (rule->cfa_add >> i & 1)
			run->at.walk.valid &= ~(1u << registers[i]);
	}
}

/* Steps by a rule from the code's paths to returns. */
static bool step_by_ways(struct walk_run *run, const struct stackd_rule *rule)
{
	uint8_t before = run->provenance;

	if (step_by_code(run, rule) == WALK_GO_ON) {
		drop_changed(run, rule);
		return true;
	}
	run->provenance = before;
	return false;
}

/* Returns the number of bytes that the callee of the present frame takes off the stack besides its
 * return address, if it is JIT code whose return shows that. Functions of C take none. */
static uint64_t taken_by_callee(const struct walk_run *run)
{
	const struct walk_frame *callee;
	struct stackd_rule rule;

	if (run->at.walk.is_exact || run->count < 2)
		return 0;
	callee = &run->frames[run->count - 2];
	if (!callee->object || callee->object->kind != OBJECT_JIT ||
	    !runtime_code_exit(run->code, run->in->pid, callee->address, &rule))
		return 0;
	return 8 * (uint64_t)EXIT_FRAME_REMOVES(&rule);
}

/* Steps out of code of which only paths to returns are known. From a return address on, they begin
 * with the stack pointer as the callee leaves it. */
static bool step_by_exit(struct walk_run *run)
{
	const struct walk before = run->at.walk;
	struct stackd_rule rule;

	if (!run->code || !runtime_code_exit(run->code, run->in->pid, before.pc, &rule))
		return false;
	run->at.walk.r[STACKD_REG_SP] += taken_by_callee(run);
	if (step_by_ways(run, &rule))
		return true;
	run->at.walk = before;
	return false;
}

/* Returns whether the code around the frame's address is known as it was at the sample. */
static bool is_as_sampled(const struct walk_run *run)
{
	return !run->in->has_code || !run->code ||
	       runtime_code_is_sampled(run->code, run->in->pid, run->at.walk.pc);
}

/* Returns whether the rule from the paths to an instruction contradicts the one from the paths from
 * there to returns: they place the end of the frame at different addresses. */
static bool is_contradicted(const struct walk_run *run, const struct stackd_rule *rule)
{
	const struct walk *w = &run->at.walk;
	struct stackd_rule exit;

	return rule->cfa == STACKD_CFA_REG &&
	       runtime_code_exit(run->code, run->in->pid, w->pc, &exit) &&
	       w->r[rule->reg] + (uint64_t)(int64_t)rule->cfa_offset !=
		       w->r[exit.reg] + (uint64_t)(int64_t)exit.cfa_offset;
}

/* Steps out of code that waits for a call, and whose frame has the words that its runtime's code
 * puts there. Code that calls before it has set up its frame has its caller's words instead, so
 * this is a guess, and it is not made where the callee has no frame: of such code, each call is of
 * a function that has none. machines_correct() proves it, or ends the walk where the code is known
 * not to have made its frame. Where nothing is known (MACHINE_FRAMING_UNKNOWN; the process has no
 * machine, as behind an exec), it stays a guess, and its provenance is that of a frame pointer. */
static bool step_by_words(struct walk_run *run)
{
	struct walk *w = &run->at.walk;
	uint64_t fp = w->r[STACKD_REG_FP], saved, pc;

	if (!run->in->has_words || w->is_exact || !(w->valid >> STACKD_REG_FP & 1) ||
	    w->slot == run->in->regs.r[STACKD_REG_SP] || fp < w->r[STACKD_REG_SP] ||
	    !runtime_frame_is_pointed(&run->at.memory, fp) ||
	    !walk_memory_read8(&run->at.memory, fp, &saved) ||
	    !walk_memory_read8(&run->at.memory, fp + 8, &pc) ||
	    !is_plausible_return(run, pc, fp, saved))
		return false;
	run->is_guess = true;
	run->guesses++;
	enter_caller(run, fp + 8, pc, fp + 16, saved);
	return true;
}

enum stackd_end_reason heuristic_step_without_file(struct walk_run *run,
						   const struct object *object)
{
	const struct walk *w = &run->at.walk;
	struct stackd_rule rule = {.cfa = STACKD_CFA_NONE};

	if (object->kind == OBJECT_JIT && step_by_words(run))
		return WALK_GO_ON;
	if (object->kind == OBJECT_JIT && !is_as_sampled(run))
		return without_rule(object);
	if (run->code)
		runtime_code_rule(run->code, run->in->pid, w->pc - !w->is_exact, !w->is_exact,
				  &rule);
	if (rule.cfa != STACKD_CFA_NONE)
		return w->is_exact && is_contradicted(run, &rule) ? without_rule(object)
								  : step_by_code(run, &rule);
	if (step_by_entry(run))
		return WALK_GO_ON;
	if (step_by_exit(run) || (w->is_exact && !w->slot && step_from_entry(run)))
		return WALK_GO_ON;
	return step_by_frame_pointer(run, without_rule(object));
}

/* --- functions that make the frame of their caller ------------------------------------------- */

/* Returns whether `address` is the return address of the leaf, and the leaf is a function that
 * takes it off the stack: the call before the address must lead to the leaf's function. `reg` is
 * the register that has the address; STACKD_REG_COUNT: it is on top of the stack. */
static bool is_taken(struct walk_run *run, uint64_t address, uint8_t reg)
{
	const struct object *object;
	struct runtime_code_taken taken;
	uint64_t offset;

	if (!walk_run_find(run, address, true, &object, &offset) || object->kind != OBJECT_JIT ||
	    (run->in->has_code && !runtime_code_is_sampled(run->code, run->in->pid, address)) ||
	    !runtime_code_taken(run->code, run->in->pid, address, run->at.walk.pc, &taken) ||
	    taken.where.reg != reg || taken.where.at)
		return false;
	run->next = taken.rule;
	return true;
}

/* Finds the return address of the leaf, if the leaf takes it off the stack. */
static bool find_taken(struct walk_run *run, uint64_t *ret_address)
{
	const struct walk *w = &run->at.walk;

	if (walk_memory_read8(&run->at.memory, w->r[STACKD_REG_SP], ret_address) &&
	    is_taken(run, *ret_address, STACKD_REG_COUNT))
		return true;
	for (uint8_t reg = 0; reg < WALK_REGS; reg++) {
		*ret_address = w->r[reg];
		if (is_taken(run, w->r[reg], reg))
			return true;
	}
	return false;
}

bool heuristic_step_from_taker(struct walk_run *run)
{
	struct walk *w = &run->at.walk;
	uint64_t address;

	if (!run->code || !w->is_exact || w->slot || !find_taken(run, &address))
		return false;
	run->has_next = true;
	run->provenance = PROVENANCE_ANALYSED;
	walk_arrive(w, w->r[STACKD_REG_SP], address, w->r[STACKD_REG_SP], false);
	return true;
}

enum stackd_end_reason heuristic_step_by_next(struct walk_run *run)
{
	run->has_next = false;
	return step_by_ways(run, &run->next) ? WALK_GO_ON : STACKD_END_RUNTIME_CODE;
}

/* --- the trampoline of uretprobes ------------------------------------------------------------ */

/* Returns whether the word that such a rule takes for the return address may have been written
 * there by the code before. */
static bool returns_to_target(const struct walk_run *run, const struct object *object,
			      uint64_t offset, const struct stackd_rule *rule)
{
	return run->at.walk.is_exact && rule->cfa == STACKD_CFA_REG && rule->reg == STACKD_REG_SP &&
	       stack_switch_target_precedes(object->elf, offset,
					    rule->cfa_offset - ARCH_CALL_PUSHES);
}

/* Steps out of code of a file by a rule from its paths to returns. Such a rule is used only if all
 * paths are known: code that jumps lead to, from frames of different sizes, may leave by a jump and
 * return only to one of them. */
static bool step_by_file_exit(struct walk_run *run, const struct object *object, uint64_t offset)
{
	struct stackd_rule rule;

	return run->code &&
	       runtime_code_file_exit(run->code, object, offset + !run->at.walk.is_exact, &rule) &&
	       !(rule.cfa_add & EXIT_FRAME_OPEN) &&
	       !returns_to_target(run, object, offset, &rule) && step_by_ways(run, &rule);
}

/* Returns whether the walk is at a return address in JIT code. */
static bool is_in_made_code(const struct walk_run *run)
{
	const struct object *object;
	uint64_t offset;

	return walk_run_find(run, run->at.walk.pc, true, &object, &offset) &&
	       object->kind == OBJECT_JIT;
}

enum stackd_end_reason heuristic_step_by_frame_pointer(struct walk_run *run,
						       const struct object *object, uint64_t offset)
{
	bool is_framed =
		!run->at.walk.is_exact && stack_switch_frame_precedes(object->elf, offset + 1);
	enum stackd_end_reason reason;
	enum stackd_leaf leaf = leaf_of(run);

	if (leaf == STACKD_LEAF_UNTOLD && step_by_file_exit(run, object, offset))
		return WALK_GO_ON;
	if (leaf == STACKD_LEAF_NONE && stack_switch_target_precedes(object->elf, offset, 0))
		return STACKD_END_NO_RECIPE;
	reason = step_by_frame_pointer(run, STACKD_END_NO_RECIPE);
	/* V8's builtins drop the return address of a check to which the code of a function has
	 * called, and set up a frame, as that function would. */
	if (reason == WALK_GO_ON && is_framed && is_in_made_code(run))
		run->provenance = PROVENANCE_ANALYSED;
	return reason;
}

enum stackd_end_reason heuristic_step_without_recipes(struct walk_run *run,
						      const struct object *object, uint64_t offset)
{
	struct stackd_rule rule;
	bool is_told;

	if (!run->code)
		return heuristic_step_by_frame_pointer(run, object, offset);
	is_told = runtime_code_file_rule(run->code, object, offset, !run->at.walk.is_exact, &rule);
	if (rule.cfa != STACKD_CFA_NONE)
		return step_by_code(run, &rule);
	if (step_by_file_exit(run, object, offset))
		return WALK_GO_ON;
	return is_told ? STACKD_END_NO_RECIPE
		       : heuristic_step_by_frame_pointer(run, object, offset);
}

#define LEAST_MAPPED UINT64_C(65536)	 /* by default, nothing is mapped below it */
#define MOST_MAPPED  (UINT64_C(1) << 47) /* nor at or above it */

/* Returns whether a signal's frame shows that the thread could not execute the code at its program
 * counter. */
static bool could_not_execute(const struct walk_run *run)
{
	const struct walk *w = &run->at.walk;
	uint64_t trap, code, at;

	return w->slot && walk_memory_read8(&run->at.memory, w->slot + ARCH_FAULT_ERROR, &code) &&
	       walk_memory_read8(&run->at.memory, w->slot + ARCH_FAULT_TRAP, &trap) &&
	       walk_memory_read8(&run->at.memory, w->slot + ARCH_FAULT_AT, &at) &&
	       trap == ARCH_FAULT_PAGE && code & ARCH_FAULT_EXECUTION && at == w->pc;
}

/* A bad pointer's low bits can be those of an address in the trampoline. */
bool heuristic_step_leave_trampoline(struct walk_run *run)
{
	struct walk *w = &run->at.walk;
	int above = code_form_trampoline_slot(w->pc);
	uint64_t slot = w->r[STACKD_REG_SP] + (uint64_t)above, pc;

	if (!w->is_exact || !w->slot || above < 0 || w->pc < LEAST_MAPPED ||
	    could_not_execute(run) || !walk_memory_read8(&run->at.memory, slot, &pc) ||
	    follows_call(run, pc) != YES)
		return false;
	walk_arrive(w, slot + 8, pc, slot, false);
	return true;
}

/* --- calls of bad pointers ------------------------------------------------------------------- */

/* Returns whether a branch with this source has led to where the thread is now. UNKNOWN: it is in
 * memory that the copy of the stack does not have. */
static enum answer leads_here(const struct walk_run *run, uint64_t value, bool is_address)
{
	const struct walk *w = &run->at.walk;
	uint64_t word = value;

	if (is_address && !walk_memory_read_below(&run->at.memory, value, &word))
		return UNKNOWN;
	return word == w->pc ? YES : NO;
}

static enum answer either(enum answer a, enum answer b)
{
	if (a == YES || b == YES)
		return YES;
	return a == UNKNOWN || b == UNKNOWN ? UNKNOWN : NO;
}

/* Returns whether a function has, near its start, an indirect jump that has led to where the thread
 * is now. */
static enum answer has_jumped(const struct walk_run *run, uint64_t function)
{
	uint8_t code[JUMP_BYTES + CALL_SOURCE_BYTES] = {0};
	const struct object *object;
	enum answer answer = NO;
	uint64_t offset;

	if (!walk_run_find(run, function, false, &object, &offset) || !object->elf ||
	    !elf_file_read_whole(object->elf, offset, code + CALL_SOURCE_BYTES, JUMP_BYTES))
		return UNKNOWN;
	for (unsigned size = 2; size <= JUMP_BYTES; size++) {
		uint8_t window[CALL_SOURCE_ROOM] = {0};

		memcpy(window, code + size, CALL_SOURCE_BYTES);
		if (jump_source_is_behind(window))
			break;
		for (unsigned form = 0; form < CALL_SOURCE_FORMS; form++) {
			bool is_address;
			__u64 value = 0;

			if (2 + form / 2 + form % 2 <= size &&
			    jump_source(window, form, run->at.walk.r, function + size, &value,
					&is_address))
				answer = either(answer, leads_here(run, value, is_address));
		}
	}
	return answer;
}

/* Returns whether the call before a return address has led to where the thread is now, perhaps by a
 * jump of the function that it has called. */
static enum answer has_called(const struct walk_run *run, uint64_t ra)
{
	uint8_t code[CALL_SOURCE_ROOM] = {0};
	enum answer answer = NO;
	const struct object *object;
	uint64_t offset;
	__u64 target;

	if (!walk_run_find(run, ra, true, &object, &offset) || !object->elf ||
	    offset + 1 < CALL_SOURCE_BYTES ||
	    !elf_file_read_whole(object->elf, offset + 1 - CALL_SOURCE_BYTES, code,
				 CALL_SOURCE_BYTES))
		return UNKNOWN;
	for (unsigned form = 0; form < CALL_SOURCE_FORMS; form++) {
		bool is_address;
		__u64 value = 0;

		if (call_source(code, form, run->at.walk.r, ra, &value, &is_address))
			answer = either(answer, leads_here(run, value, is_address));
	}
	if (answer == YES || !call_target(code, ra, &target))
		return answer;
	return target == run->at.walk.pc ? YES : either(answer, has_jumped(run, target));
}

/* Returns whether a return may have led to where the thread is now: a return leaves the address
 * below the stack pointer. */
static bool may_have_returned(const struct walk_run *run)
{
	const struct walk *w = &run->at.walk;
	uint64_t word;

	return !walk_memory_read_below(&run->at.memory, w->r[STACKD_REG_SP] - 8, &word) ||
	       word == w->pc;
}

static bool is_called(const struct walk_run *run, uint64_t ra)
{
	enum answer answer = has_called(run, ra);

	return answer == YES || (answer == UNKNOWN && !may_have_returned(run));
}

/* After a return or a jump to a bad address, the return address of an earlier call can be on top of
 * the stack, and would pass for the caller's. So this step requires that the call before it leads
 * to the bad address. If the call's operand is in memory that is not in the copy of the stack, the
 * kernel half's answer counts. If that had no tables, and so did not reach the bad address, this
 * step requires only that no return has led here. */
bool heuristic_step_from_nowhere(struct walk_run *run)
{
	struct walk *w = &run->at.walk;
	uint64_t at = w->pc, slot = w->r[STACKD_REG_SP], pc;

	if (!w->is_exact || run->in->is_uncalled ||
	    (at >= LEAST_MAPPED && at < MOST_MAPPED && !could_not_execute(run)) ||
	    !walk_memory_read8(&run->at.memory, slot, &pc) || follows_call(run, pc) != YES ||
	    !is_called(run, pc))
		return false;
	walk_keep(w, 0);
	walk_arrive(w, slot + 8, pc, slot, false);
	return true;
}
