/* SPDX-License-Identifier: MIT */
/*
 * Finds the managed frames of a native frame, at the time of its sample; see machine.h.
 */
#include "daemon/recorder/machine_internal.h"

/* Finds the function that an interpreter's frame runs, and sets frame->instruction to the one that
 * it is at. NULL: it is not known. */
static const struct function *find_run(const struct machine *m, const struct machine_stack *stack,
				       enum runtime_interrupted interrupted, bool is_leaf,
				       struct runtime_activation *frame)
{
	const struct function *f = machine_function_at(m, frame->function, stack->time_ns);
	struct runtime_activation now = *frame;

	now.instruction = stack->regs->r[m->is->instruction_register];
	if (f && is_leaf && interrupted == RUNTIME_RUNS && !frame->waits && f->code_size &&
	    machine_can_run(f, &now))
		*frame = now;
	return f && machine_can_run(f, frame) ? f : NULL;
}

/* Finds the frame of the interpreter. Returns 1; 0: it is not proven; MACHINE_PART; -ENOMEM. */
static int find_interpreted(struct machine *m, const struct machine_stack *stack,
			    const struct machine_frame *frame, enum runtime_interrupted interrupted,
			    struct location *ret_location)
{
	struct runtime_activation is = {0};
	const struct function *f = NULL;
	int err;

	if (interrupted == RUNTIME_LEFT)
		return MACHINE_PART;
	if (interrupted == RUNTIME_ENTERS)
		f = machine_function_at(m, stack->regs->r[m->is->function_register],
					stack->time_ns);
	else if (frame->fp && m->is->interpreted(&stack->memory, frame->fp, &is))
		f = find_run(m, stack, interrupted, frame->is_leaf, &is);
	if (!f)
		return 0;
	if (interrupted == RUNTIME_ENTERS)
		is.instruction = f->code;
	err = managed_locate_line(
		m->managed, f->number,
		frame->is_stale ? 0 : machine_line_of(f, (int64_t)(is.instruction - f->code)),
		ret_location);
	return err ? err : 1;
}

/* Returns whether a frame of the interpreter has the same activation as its caller's, by which it
 * was called directly: functions enter each other by jumps. */
static bool is_part(const struct machine *m, const struct machine_stack *stack,
		    const struct machine_frame *frame, const struct piece *piece)
{
	const struct address *caller = frame->caller && machine_has(m, frame->caller)
					       ? machine_address_at(m, stack, frame->caller, true)
					       : NULL;

	return caller && &m->pieces.items[caller->piece] == piece &&
	       caller->calls - piece->is.start < piece->is.end - piece->is.start;
}

/* If the return address of a frame was replaced, since its code is not to be used any more, gives
 * the original one. */
static uint64_t original(const struct machine_stack *stack, const struct machine_frame *frame,
			 const struct runtime_code_piece *piece)
{
	uint64_t address;

	if (piece->kind == RUNTIME_CODE_COMPILED && frame->sp &&
	    (frame->address == piece->replaced[0] || frame->address == piece->replaced[1]) &&
	    walk_memory_read8(&stack->memory, frame->sp + piece->replaced_at, &address) &&
	    address - piece->start < piece->end - piece->start)
		return address;
	return frame->address;
}

bool machine_is_run(const struct machine *m, const struct machine_stack *stack, uint64_t fp)
{
	struct runtime_activation is;
	const struct function *f;

	if (!m->is->interpreted || !m->is->interpreted(&stack->memory, fp, &is))
		return false;
	f = machine_function_at(m, is.function, stack->time_ns);
	return f && machine_can_run(f, &is);
}

/* Finds the locations of a frame of compiled code. As machine_find(). */
static int find_compiled(struct machine *m, const struct address *a,
			 const struct machine_frame *frame,
			 struct location ret_locations[MACHINE_MOST])
{
	const bool has_line =
		!m->is->is_walked || frame->has_callee || (frame->has_stub && a->calls_function);
	const uint32_t notes = a->begins_thread && a->count < MACHINE_MOST;
	int err = notes ? managed_locate_note(m->managed, MACHINE_THREAD, &ret_locations[0]) : 0;

	for (uint32_t i = 0; i < a->count && !err; i++) {
		const struct frame *f = &m->frames.items[a->frames + i];

		err = managed_locate_line(m->managed, f->function, has_line ? f->line : 0,
					  &ret_locations[notes + i]);
	}
	return err ? err : (int)(notes + a->count);
}

/* Finds what stands for the frames of a thread that are not on the stack. As machine_find(). */
static int find_parted(struct machine *m, struct location ret_locations[MACHINE_MOST])
{
	int err = managed_locate_note(m->managed, MANAGED_UNPROVEN, &ret_locations[0]);

	if (!err)
		err = managed_locate_note(m->managed, MACHINE_THREAD, &ret_locations[1]);
	return err ? err : 2;
}

/* Returns whether a piece is code of the machine's file (give_interpreter()). */
static bool is_file_piece(const struct piece *piece)
{
	return piece->is.kind == RUNTIME_CODE_INTERPRETER && piece->is.is_permanent;
}

bool machine_makes_frames(const struct machine *m, uint64_t address, bool is_return, bool before)
{
	uint32_t index = int_map_find(&m->by_address, machine_key(address, is_return));
	const struct piece *piece;

	if (m->is->is_anywhere || !machine_has(m, address))
		return before;
	if (index == INT_MAP_NONE)
		return true;
	piece = &m->pieces.items[m->addresses.items[index].piece];
	if (!piece->is_there)
		return true;
	return piece->is.kind == RUNTIME_CODE_INTERPRETER ? before : piece->is.makes_frames;
}

int machine_find(struct machine *m, const struct machine_stack *stack,
		 const struct machine_frame *frame, struct location ret_locations[MACHINE_MOST])
{
	const struct address *a = machine_address_at(m, stack, frame->address, frame->is_return);
	const struct piece *piece = a ? &m->pieces.items[a->piece] : NULL;
	uint64_t address = a ? original(stack, frame, &piece->is) : 0;
	int err = 0;

	if (a && address != frame->address)
		a = machine_address_at(m, stack, address, frame->is_return);
	if (!a)
		return 0;
	piece = &m->pieces.items[a->piece];
	/* The file was mapped there before the sample, or after it. */
	if (m->is->is_anywhere && frame->is_of_file != is_file_piece(piece))
		return 0;
	if (piece->is.kind == RUNTIME_CODE_INTERPRETER) {
		if (is_part(m, stack, frame, piece))
			return MACHINE_PART;
		if (!frame->is_made)
			err = find_interpreted(m, stack, frame,
					       (enum runtime_interrupted)a->interrupted,
					       ret_locations);
		if (err)
			return err;
	}
	if (a->parts)
		return find_parted(m, ret_locations);
	if (piece->is.kind != RUNTIME_CODE_COMPILED) {
		if (piece->name == MANAGED_NONE)
			return 0;
		err = managed_locate_line(m->managed, piece->name, 0, ret_locations);
		return err ? err : 1;
	}
	/* The call is the caller's still. */
	if (!frame->is_return && a->is_passed)
		return MACHINE_PART;
	/* Without a call that is known, methods between this one and its callee would be missing.
	 */
	if (frame->has_callee && !a->is_call && !piece->is.is_native)
		return 0;
	return find_compiled(m, a, frame, ret_locations);
}
