/* SPDX-License-Identifier: MIT */
/*
 * HotSpot, the usual Java virtual machine. Instructions show the frames of the code that it
 * compiles, but not those of its interpreter. These are recognised by their words (java_frame.h)
 * and, while a frame is being set up, by the code that does it (arch/java_entry.h). So only user
 * space finds the callers of the interpreter's frames, with a sample's copy of the stack and of the
 * code. It also finds those of code without a frame that jumps to a method (arch/java_dispatch.h).
 * Names and lines of methods are read from the memory of the running machine (vm.h).
 */
#include "arch/java_dispatch.h"
#include "arch/java_entry.h"
#include "runtime/hotspot/java_frame.h"
#include "runtime/hotspot/vm.h"
#include "runtime/runtime.h"

_Static_assert(JAVA_ENTRY_BEFORE <= RUNTIME_ENTRY_BEFORE && JAVA_ENTRY_AFTER <= RUNTIME_ENTRY_AFTER,
	       "enter() is given what java_entry_at() looks at");
_Static_assert(JAVA_DISPATCH_BEFORE <= RUNTIME_ENTRY_BEFORE &&
		       JAVA_DISPATCH_AFTER <= RUNTIME_ENTRY_AFTER,
	       "enter() is given what java_dispatch_at() looks at");

_Static_assert(JAVA_ENTRY_POP_BYTES == RUNTIME_POP_BYTES, "pushed() is java_entry_popped()");

/* Finds the caller of code without a frame, whose return address is on top of the stack. */
static bool leave_dispatch(const struct walk_memory *memory, const uint64_t *r,
			   struct runtime_caller *ret_caller)
{
	uint64_t sp = r[STACKD_REG_SP], pc;

	if (sp & 7 || !walk_memory_read8(memory, sp, &pc))
		return false;
	*ret_caller =
		(struct runtime_caller){.pc = pc, .slot = sp, .sp = sp + 8, .fp = r[STACKD_REG_FP]};
	return true;
}

/* Where the return address and the caller's registers are, by the state of a frame. */
struct made {
	uint64_t slot, pc, sender, saved;
};

/* Finds the caller of a frame that was left. */
static void leave(enum java_entry entry, const struct java_entry_left *left, const uint64_t *r,
		  struct made *made)
{
	made->slot = entry == JAVA_ENTRY_LEFT_ON_TOP ? r[STACKD_REG_SP] : r[STACKD_REG_SP] - 8;
	made->pc = r[left->return_reg];
	made->sender = r[left->sender_reg];
}

/* Finds the caller of a frame that is being set up, or was left. The caller is the interpreter or
 * compiled code; a register has its stack pointer. */
static bool enter(const struct walk_memory *memory, const uint8_t *code, size_t len, size_t at,
		  const uint64_t *r, struct runtime_caller *ret_caller)
{
	struct java_entry_left left;
	enum java_entry entry = java_entry_at(code, len, at, &left);
	uint64_t sp = r[STACKD_REG_SP], fp = r[STACKD_REG_FP];
	bool has_frame = entry == JAVA_ENTRY_MADE || entry == JAVA_ENTRY_HAS_SENDER ||
			 entry == JAVA_ENTRY_RETURNED;
	struct made made = {
		.slot = sp,
		.pc = r[JAVA_ENTRY_RETURN_REG],
		.sender = r[JAVA_ENTRY_SENDER_REG],
		.saved = fp,
	};

	if (entry == JAVA_ENTRY_NONE)
		return java_dispatch_at(code, len, at) && leave_dispatch(memory, r, ret_caller);
	if (entry == JAVA_ENTRY_IN_REGISTER)
		made.slot = sp - 8;
	else if (entry == JAVA_ENTRY_PUSHED)
		made.slot = sp + 8;
	else if (has_frame)
		made.slot = fp + 8;
	else if (entry == JAVA_ENTRY_LEFT_ON_TOP || entry == JAVA_ENTRY_LEFT)
		leave(entry, &left, r, &made);
	else if (entry == JAVA_ENTRY_CALLS)
		made.sender = sp + 8; /* arguments are the caller's own */
	if ((made.slot & 7) || (has_frame && !walk_memory_read8(memory, fp, &made.saved)) ||
	    (has_frame && entry != JAVA_ENTRY_MADE &&
	     !walk_memory_read8(memory, fp - 8, &made.sender)) ||
	    (entry != JAVA_ENTRY_IN_REGISTER && entry != JAVA_ENTRY_LEFT &&
	     !walk_memory_read8(memory, made.slot, &made.pc)))
		return false;
	if (made.sender < made.slot + 8 || made.sender & 7)
		return false;
	*ret_caller = (struct runtime_caller){
		.pc = made.pc, .slot = made.slot, .sp = made.sender, .fp = made.saved};
	return true;
}

static const struct runtime_frames frames = {
	.waits = java_frame_waits,
	.is_called = java_frame_is_called,
	.sender = java_frame_sender,
	.runs = java_frame_runs,
	.enter = enter,
	.starts = java_frame_starts,
};

static const struct runtime_machine machine = {
	.is_file = vm_is_file,
	.open = vm_open,
	.close = vm_close,
	.range = vm_range,
	.piece = vm_piece,
	.is_still = vm_is_still,
	.frames = vm_frames,
	.depth = vm_depth,
	.interpreted = vm_interpreted,
	.interrupted = vm_interrupted,
	.sender_register = vm_sender_register,
	.pushed = java_entry_popped,
	.is_call_stub = java_entry_is_call_stub,
	.function_register = JAVA_ENTRY_METHOD_REG,
	.instruction_register = JAVA_ENTRY_BYTECODE_REG,
	.parts = vm_parts,
	.sender = vm_sender,
	.unloads = vm_unloads,
	.function = vm_function,
	.identity = vm_identity,
	.bytes = vm_bytes,
};

extern const struct runtime runtime_hotspot;
const struct runtime runtime_hotspot = {
	.number = STACKD_RUNTIME_HOTSPOT,
	.name = "Java",
	.frames = &frames,
	.machine = &machine,
};
