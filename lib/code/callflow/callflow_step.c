/* SPDX-License-Identifier: MIT */
/* Checks the bytes before a return address; see callflow_step.h. */
#include "callflow/callflow_step.h"

#include "arch/call_site.h"
#include "unwind/dwarf_walk.h"
#include "unwind/sigreturn.h"

/* Follows a direct call. Only pieces of JIT code are known, around its addresses, so the target is
 * searched for in the callee's piece. */
static enum callflow_fit follow_direct(struct callflow_reach *reach,
				       const struct callflow_step_pair *pair, const uint8_t *end)
{
	bool is_made = pair->caller.object->kind == OBJECT_JIT;
	const struct object *object = is_made && pair->callee.object->kind == OBJECT_JIT
					      ? pair->callee.object
					      : pair->caller.object;
	uint64_t vaddr = pair->caller.offset;

	if (!object->elf ||
	    (!is_made && !elf_file_offset_to_vaddr(object->elf, pair->caller.offset, &vaddr)))
		return CALLFLOW_FIT_UNKNOWN;
	return callflow_reach(reach, object, call_site_target(end, vaddr + 1), &pair->callee);
}

/* Finds the indirect call that ends at `end`, a file offset. Returns its length; 0: there is none
 * through a word at a fixed address. */
static size_t call_before(const struct insn_decoder *decoder, const struct object *object,
			  uint64_t end)
{
	struct flow_insn i;

	for (size_t n = 2; n <= CALL_SITE_BYTES && n <= end; n++) {
		const struct callflow_location at = {object, end - n};

		if (callflow_decode_at(decoder, &at, &i) && i.length == n && i.kind == FLOW_CALL &&
		    i.has_address)
			return n;
	}
	return 0;
}

/* Follows a call through the linkage table. Which function another file has for it is not known, so
 * any code there counts as that function. */
static enum callflow_fit follow_linked(struct callflow_reach *reach,
				       const struct callflow_step_pair *pair)
{
	struct callflow_location at = pair->caller;
	struct insn_decoder decoder;
	uint64_t target;
	size_t n;

	insn_decoder_init(&decoder);
	n = call_before(&decoder, pair->caller.object, pair->caller.offset + 1);
	at.offset -= n - 1;
	if (!n || !callflow_stub_is_linked_call(&decoder, &at, &target))
		return CALLFLOW_FIT_NO;
	if (target)
		return callflow_reach(reach, pair->caller.object, target, &pair->callee);
	return pair->callee.object != pair->caller.object ? CALLFLOW_FIT_JUMP : CALLFLOW_FIT_NO;
}

/* Checks a caller without a call. The kernel makes a signal handler return to code that follows no
 * call, and the outermost frame of a stack may be made without a call. */
static enum callflow_step without_call(const struct callflow_step_pair *pair)
{
	if (pair->is_entry || sigreturn_is_at(pair->caller.object->elf, pair->caller.offset + 1))
		return CALLFLOW_STEP_PROBABLE;
	if (pair->caller.object->kind == OBJECT_JIT && pair->callee.object->kind == OBJECT_JIT)
		return CALLFLOW_STEP_UNCHECKED; /* the walk has already checked such a frame
						 * (runtime/runtime.h) */
	return CALLFLOW_STEP_WRONG;
}

enum callflow_step callflow_step_check(struct callflow_reach *reach,
				       const struct callflow_step_pair *pair)
{
	const struct elf_file *elf = pair->caller.object->elf;
	uint64_t end = pair->caller.offset + 1;
	size_t len = end < CALL_SITE_BYTES ? (size_t)end : CALL_SITE_BYTES;
	uint8_t bytes[CALL_SITE_BYTES];
	enum callflow_fit fit = CALLFLOW_FIT_NO;
	unsigned kinds;

	if (!elf || !elf_file_read_whole(elf, end - len, bytes, len))
		return CALLFLOW_STEP_UNCHECKED;
	kinds = call_site_kinds(bytes, len);
	if (!kinds)
		return without_call(pair);
	if (!ARCH_DECODES)
		return CALLFLOW_STEP_UNCHECKED;
	if (kinds & CALL_SITE_DIRECT)
		fit = follow_direct(reach, pair, bytes + len);
	else if (pair->is_doubted)
		fit = follow_linked(reach, pair);
	if (fit == CALLFLOW_FIT_JUMP)
		return CALLFLOW_STEP_CONFIRMED;
	if (fit == CALLFLOW_FIT_UNKNOWN && pair->caller.object->kind == OBJECT_JIT)
		return CALLFLOW_STEP_UNCHECKED; /* the target is in another piece, or in a file */
	if (fit == CALLFLOW_FIT_MAYBE)
		return CALLFLOW_STEP_PROBABLE;
	return kinds & CALL_SITE_INDIRECT && !pair->is_doubted ? CALLFLOW_STEP_PROBABLE
							       : CALLFLOW_STEP_WRONG;
}
