/* SPDX-License-Identifier: MIT */
/*
 * Makes rules from a few bytes of code; see cfi_repair.h. There are seven cases, all met in
 * practice:
 *
 *   a return         The return address is on top, and all registers have the caller's values.
 *                    At this point, gcc's CFI of functions that realign the stack still uses the
 *                    frame pointer, which has already been popped. Behind a store of a register
 *                    over the return address, the return is a jump (thunks of retpolines): the
 *                    return address is one word above.
 *   the instruction before it, in such a function
 *                    The same CFI is wrong, and a register has the CFA. (On top of the stack is
 *                    only a copy of the return address; the register has the caller's.)
 *   an epilogue      that the CFI leaves out: see epilogue.h.
 *   system call; ... The C library ends an entry right before the system call that makes a
 *                    thread, since the child returns with another stack. Up to the child's
 *                    entry, which follows within a few instructions, the parent's frame is as
 *                    before the call. The child is at its entry, and the first word of its stack
 *                    is no return address.
 *   mark of an entry If no CFI covers it: the entry of a function such as frame_dummy, which the
 *                    loader calls and often faults in; also right behind the mark.
 *   stub's jump      If no CFI covers it: a linkage stub. Those of static programs, by which the C
 *                    library selects its functions, have no CFI.
 *   start code       _init and _fini, in every program and library, have no CFI; the file's dynamic
 *                    section has their addresses. Nor has __do_global_dtors_aux, before it sets its
 *                    frame pointer, nor a static program's frame_dummy. (de)register_tm_clones
 *                    beside them use no stack at all.
 *
 * The bytes are in arch/code_form.h and arch/start_code.h.
 */
#include "unwind/cfi_repair.h"

#include "arch/code_form.h"
#include "arch/leaf_frame.h"
#include "arch/start_code.h"
#include "elf/elf_init.h"
#include "unwind/epilogue.h"
#include "unwind/stack_switch.h"

#define SYSCALL_GAP 24 /* bytes from the system call to the child's entry, at most */

/* Sets the rule for a return address on top of the stack, or `pushed` bytes above. */
static void set_plain(struct walk_rule *rule, int pushed)
{
	walk_rule_free(rule);
	*rule = (struct walk_rule){.fast = {.cfa = STACKD_CFA_REG,
					    .reg = STACKD_REG_SP,
					    .cfa_offset = (int16_t)(ARCH_CALL_PUSHES + pushed),
					    .ra_offset = ARCH_RETURN_SLOT}};
}

/* Sets a rule whose CFA is in a register. */
static void set_register(struct walk_rule *rule, int reg)
{
	set_plain(rule, 0);
	rule->fast.reg = (uint8_t)reg;
	rule->fast.cfa_offset = 0;
}

bool cfi_repair_is_return(const struct elf_file *elf, uint64_t offset)
{
	uint8_t code[2] = {0};

	return elf_file_read(elf, offset, code, sizeof(code)) > 0 && code_form_is_return(code) &&
	       !stack_switch_target_precedes(elf, offset, 0);
}

static bool is_syscall(const struct elf_file *elf, uint64_t offset)
{
	uint8_t code[CODE_FORM_SYSCALL];

	return elf_file_read_whole(elf, offset, code, sizeof(code)) && code_form_is_syscall(code);
}

/* If the entry of the CFI ends right after a system call, sets the rule from before the call. */
static int after_syscall(const struct elf_file *elf, const struct cfi_index *index, uint64_t vaddr,
			 uint64_t offset, struct walk_rule *rule)
{
	uint64_t start, end, back;
	int err;

	for (back = 1; back <= SYSCALL_GAP && back <= vaddr && back <= offset; back++)
		if (cfi_index_find(index, vaddr - back, &start, &end))
			break;
	if (back > SYSCALL_GAP || back > vaddr || back > offset ||
	    !is_syscall(elf, offset - back + 1))
		return 0;
	err = walk_rule_compile(index, vaddr - back, rule);
	rule->is_entry = true;
	return err;
}

/* Returns whether the offset is at the mark with which a function begins, or right behind it. */
static bool is_at_entry(const struct elf_file *elf, uint64_t offset)
{
	const uint64_t back = offset < CODE_FORM_MARK ? offset : CODE_FORM_MARK;
	uint8_t code[2 * CODE_FORM_MARK] = {0};

	if (elf_file_read(elf, offset - back, code, back + CODE_FORM_MARK) < (int64_t)back)
		return false;
	return code_form_mark(code, sizeof(code)) ||
	       code_form_mark(code + back, sizeof(code) - back);
}

/* --- start code ----------------------------------------------------------------------------- */

/* Code around an offset, for arch/start_code.h. */
struct around {
	uint8_t code[START_CODE_BEFORE + START_CODE_BEHIND];
	size_t len, at;
};

static bool read_around(const struct elf_file *elf, uint64_t offset, struct around *ret)
{
	int64_t len;

	ret->at = offset < START_CODE_BEFORE ? (size_t)offset : START_CODE_BEFORE;
	len = elf_file_read(elf, offset - ret->at, ret->code, ret->at + START_CODE_BEHIND);
	ret->len = len > 0 ? (size_t)len : 0;
	return ret->len > ret->at;
}

/* Sets the rule in the C runtime's _init or _fini. Where calls leave the return address in a
 * register, they have pushed the frame pointer and that. */
static void in_init(const struct elf_file *elf, uint64_t vaddr, struct walk_rule *rule)
{
	uint8_t code[START_CODE_INIT + CODE_FORM_MARK];
	uint64_t start, offset;
	int64_t len;
	int pushed;

	if (!elf_init_find(elf, vaddr, START_CODE_INIT, &start) ||
	    !elf_file_vaddr_to_offset(elf, start, &offset))
		return;
	len = elf_file_read(elf, offset, code, sizeof(code));
	pushed = len > 0 ? start_code_in_init(code, (size_t)len, vaddr - start) : -1;
	if (pushed >= 0)
		set_plain(rule, pushed);
	if (ARCH_HAS_LINK && pushed > 0) {
		rule->fast.saved[0] = (int16_t)-pushed;
		rule->fast.ra_offset = (int16_t)(8 - pushed);
	}
}

/* Sets the rule in the other start code, as long as it has no frame pointer. */
static void in_start_code(const struct elf_file *elf, uint64_t offset, struct walk_rule *rule)
{
	struct around a;
	int pushed;

	if (!read_around(elf, offset, &a))
		return;
	pushed = start_code_in_dtors(a.code, a.len, a.at);
	if (pushed < 0)
		pushed = start_code_in_frame_dummy(a.code, a.len, a.at);
	if (pushed >= 0)
		set_plain(rule, pushed);
}

static bool is_in_tm_clones(const struct elf_file *elf, uint64_t offset)
{
	struct around a;

	return read_around(elf, offset, &a) && start_code_is_tm_clones(a.code, a.len, a.at);
}

/* Mends the rule in an epilogue that the CFI leaves out. */
static void in_epilogue(const struct elf_file *elf, const struct cfi_index *index, uint64_t vaddr,
			uint64_t offset, struct walk_rule *rule)
{
	uint64_t start, end;
	int32_t distance = -1;

	if (index && epilogue_may_be_left_out(&rule->fast) &&
	    walk_rule_stretch(index, vaddr, &start, &end) && vaddr - start <= offset)
		distance = epilogue_cfa(elf, offset - (vaddr - start), offset + (end - vaddr),
					offset, &rule->fast);
	if (distance < 0)
		return;
	rule->fast.reg = STACKD_REG_SP;
	rule->fast.cfa_offset = distance;
}

/* --- all cases ------------------------------------------------------------------------------ */

/* Reads the instructions around an offset; those before the file's start are 0. */
static bool read_words(const struct elf_file *elf, uint64_t offset,
		       uint32_t words[LEAF_FRAME_WORDS])
{
	const uint64_t before = LEAF_FRAME_BEFORE * sizeof(uint32_t);
	const uint64_t back = offset < before ? 0 : before;

	return elf_file_read(elf, offset - back, (uint8_t *)words + before - back,
			     LEAF_FRAME_WORDS * sizeof(uint32_t) - (before - back)) > 0;
}

/* Sets the rule that the instructions around an offset prove, if calls leave the return address in
 * a register. */
static bool as_instructions_prove(const struct elf_file *elf, uint64_t offset,
				  struct walk_rule *rule)
{
	uint32_t words[LEAF_FRAME_WORDS] = {0};

	return ARCH_HAS_LINK && read_words(elf, offset, words) &&
	       leaf_frame_mend(words, &rule->fast);
}

/* Sets the rule behind a load of another stack pointer, if the entry of the information that states
 * the rule began before the load. */
static void behind_switch(const struct elf_file *elf, const struct cfi_index *index, uint64_t vaddr,
			  uint64_t offset, struct walk_rule *rule)
{
	uint64_t start, end;

	if (rule->fast.cfa != STACKD_CFA_REG || rule->fast.reg != STACKD_REG_SP)
		return;
	start = index && cfi_index_find(index, vaddr, &start, &end) ? offset - (vaddr - start) : 0;
	if (stack_switch_precedes(elf, start, offset))
		rule->fast = (struct stackd_rule){.cfa = STACKD_CFA_SWITCH};
}

int cfi_repair_improve(const struct elf_file *elf, const struct cfi_index *index, uint64_t vaddr,
		       uint64_t offset, struct walk_rule *rule)
{
	uint8_t code[12] = {0};
	uint8_t provenance = rule->provenance;
	bool is_entry = rule->is_entry, is_read;
	int realigned, err = 0;

	if (as_instructions_prove(elf, offset, rule))
		return 0;
	is_read = elf_file_read(elf, offset, code, 8) > 0;
	if (is_read && code_form_is_return(code) && stack_switch_target_precedes(elf, offset, 0))
		return 0;
	realigned = is_read ? code_form_realigned_return(code) : -1;
	if (is_read && (code_form_is_return(code) || realigned >= 0)) {
		if (realigned < 0)
			set_plain(rule, 0);
		else
			set_register(rule, realigned);
		rule->is_entry = is_entry;
		rule->is_called = true;
		rule->provenance = provenance;
		return 0;
	}
	in_epilogue(elf, index, vaddr, offset, rule);
	if (rule->fast.cfa == STACKD_CFA_NONE && index)
		err = after_syscall(elf, index, vaddr, offset, rule);
	if (!err && rule->fast.cfa == STACKD_CFA_NONE &&
	    (is_at_entry(elf, offset) || (is_read && code_form_is_stub_jump(code))))
		set_plain(rule, 0);
	if (!err && rule->fast.cfa == STACKD_CFA_NONE)
		in_init(elf, vaddr, rule);
	if (!err && rule->fast.cfa == STACKD_CFA_NONE)
		in_start_code(elf, offset, rule);
	if (!err)
		behind_switch(elf, index, vaddr, offset, rule);
	if (!err && rule->fast.cfa == STACKD_CFA_NONE && is_in_tm_clones(elf, offset))
		set_plain(rule, 0);
	return err;
}

void cfi_repair_return(const struct elf_file *elf, uint64_t vaddr, struct walk_rule *rule)
{
	if (ARCH_HAS_LINK && rule->fast.cfa == STACKD_CFA_NONE)
		in_init(elf, vaddr, rule);
}

/* --- is it start code? ---------------------------------------------------------------------- */

/* Returns whether code is in _init or _fini, up to the first return. */
static bool is_in_init(const struct elf_file *elf, uint64_t vaddr)
{
	uint8_t code[START_CODE_INIT];
	uint64_t start, offset;

	return elf_init_find(elf, vaddr, START_CODE_INIT, &start) &&
	       elf_file_vaddr_to_offset(elf, start, &offset) &&
	       elf_file_read(elf, offset, code, vaddr - start) == (int64_t)(vaddr - start) &&
	       !code_form_may_have_return(code, vaddr - start);
}

/* Returns whether an offset is the entry of a frame_dummy that only jumps to register_tm_clones. */
static bool is_jump_to_tm_clones(const struct elf_file *elf, uint64_t offset,
				 const struct around *a)
{
	int64_t distance;

	return start_code_jumps(a->code + a->at, a->len - a->at, &distance) &&
	       is_in_tm_clones(elf, offset + (uint64_t)distance);
}

bool cfi_repair_is_start(const struct elf_file *elf, uint64_t vaddr, uint64_t offset)
{
	struct around a;

	if (is_in_init(elf, vaddr))
		return true;
	return read_around(elf, offset, &a) &&
	       (start_code_is_tm_clones(a.code, a.len, a.at) ||
		start_code_is_dtors(a.code, a.len, a.at) ||
		start_code_in_frame_dummy(a.code, a.len, a.at) >= 0 ||
		is_jump_to_tm_clones(elf, offset, &a));
}
