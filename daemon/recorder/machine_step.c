/* SPDX-License-Identifier: MIT */
/*
 * Steps through code that a runtime has made, by what the machine knows of its frames: their sizes,
 * where an interpreter keeps its caller's stack pointer, and which words are return addresses.
 */
#include "daemon/recorder/machine_internal.h"

static const struct runtime_code_piece *piece_at(const struct machine *m,
						 const struct machine_stack *stack,
						 uint64_t address, bool is_return)
{
	const struct address *a = machine_address_at(m, stack, address, is_return);

	return a ? &m->pieces.items[a->piece].is : NULL;
}

/* Returns where the caller of a frame is. A frame has its size where the runtime knows the call;
 * elsewhere its code has been followed. */
static struct runtime_depth depth_of(const struct machine *m, const struct machine_stack *stack,
				     const struct machine_frame *frame)
{
	static const struct runtime_depth unknown, on_top = {.bytes = 8, .keeps_fp = true};
	const struct address *a = machine_address_at(m, stack, frame->address, frame->is_return);
	const struct runtime_code_piece *piece = a ? &m->pieces.items[a->piece].is : NULL;

	if (!piece || m->is->keeps_fp)
		return unknown;
	if (a->is_passed)
		return on_top;
	if (piece->kind == RUNTIME_CODE_COMPILED && frame->is_return &&
	    (a->is_call || frame->address == piece->replaced[0] ||
	     frame->address == piece->replaced[1]))
		return (struct runtime_depth){.bytes = piece->frame_bytes, .saves_fp = true};
	return a->depth;
}

bool machine_is_sized(const struct machine *m, const struct machine_stack *stack,
		      const struct machine_frame *frame)
{
	return (frame->is_return || frame->is_leaf) && depth_of(m, stack, frame).bytes;
}

#define MOST_PUSHED 64 /* bytes of arguments, where code was interrupted */

/* Finds what is known best of an address at a sample: what was there, or else what was read last.
 * NULL: nothing is known. */
static const struct address *find_likely(const struct machine *m, const struct machine_stack *stack,
					 uint64_t address, bool is_return)
{
	const struct address *a = machine_address_at(m, stack, address, is_return);
	uint32_t newest = int_map_find(&m->by_address, machine_key(address, is_return));

	return a || newest == INT_MAP_NONE ? a : &m->addresses.items[newest];
}

/* A step out of code that is not proven is a guess by its bytes; so it counts only if it agrees
 * with what was read of that code. Words that earlier calls have left in a frame look like return
 * addresses, and lead on to right frames. */
bool machine_may_lead(const struct machine *m, const struct machine_stack *stack,
		      const struct machine_frame *frame, uint64_t slot)
{
	const struct address *a = find_likely(m, stack, frame->address, frame->is_return);
	const struct runtime_code_piece *piece = a ? &m->pieces.items[a->piece].is : NULL;
	uint64_t size = slot + 8 - frame->sp;

	if (!m->is->is_anywhere && (!piece || !m->pieces.items[a->piece].is_there))
		return false;
	if (piece && !frame->is_return && a->is_passed)
		return size == 8;
	if (!piece || piece->kind != RUNTIME_CODE_COMPILED || piece->is_native ||
	    !piece->frame_bytes)
		return true;
	if (frame->is_return)
		return size == piece->frame_bytes + a->pushed;
	return size == 8 || size == 16 || /* the frame is not made, or left */
	       (size >= piece->frame_bytes && size <= piece->frame_bytes + MOST_PUSHED);
}

bool machine_saves_fp(const struct machine *m, const struct machine_stack *stack, uint64_t address,
		      bool is_return)
{
	const struct runtime_code_piece *piece =
		is_return && machine_has(m, address) ? piece_at(m, stack, address, true) : NULL;

	return piece && (piece->kind == RUNTIME_CODE_INTERPRETER || piece->frame_bytes);
}

uint64_t machine_leaf_fp(const struct machine *m, const struct machine_stack *stack,
			 uint64_t address)
{
	const struct address *a = machine_address_at(m, stack, address, false);
	const uint64_t fp = stack->regs->r[STACKD_REG_FP];
	struct runtime_activation is;

	if (!a || m->pieces.items[a->piece].is.kind != RUNTIME_CODE_INTERPRETER ||
	    !m->is->interpreted(&stack->memory, fp, &is) || !machine_is_run(m, stack, fp))
		return 0;
	return a->interrupted == RUNTIME_RETURNED || (a->interrupted == RUNTIME_RUNS && !is.waits)
		       ? fp
		       : 0;
}

bool machine_is_part(const struct machine *m, const struct machine_stack *stack, uint64_t outer,
		     uint64_t inner, bool inner_is_return)
{
	const struct address *a =
		machine_has(m, outer) ? machine_address_at(m, stack, outer, true) : NULL;
	const struct runtime_code_piece *piece = a ? &m->pieces.items[a->piece].is : NULL;

	return piece && piece->kind == RUNTIME_CODE_INTERPRETER &&
	       a->calls - piece->start < piece->end - piece->start && machine_has(m, inner) &&
	       piece_at(m, stack, inner, inner_is_return) == piece;
}

enum machine_framing machine_framing(const struct machine *m, const struct machine_stack *stack,
				     uint64_t address)
{
	const struct address *a =
		m->is->keeps_fp ? machine_address_at(m, stack, address, true) : NULL;
	const struct runtime_code_piece *piece = a ? &m->pieces.items[a->piece].is : NULL;

	if (!piece || piece->kind != RUNTIME_CODE_COMPILED)
		return MACHINE_FRAMING_UNKNOWN;
	return a->is_call || piece->is_framed ? MACHINE_FRAMED : MACHINE_UNFRAMED;
}

void machine_sender(const struct machine *m, const struct machine_stack *stack, uint64_t address,
		    bool is_return, bool is_leaf, uint64_t fp, uint64_t *sp)
{
	const struct address *a = machine_address_at(m, stack, address, is_return);
	const uint64_t least = *sp;

	if (!a || m->pieces.items[a->piece].is.kind != RUNTIME_CODE_INTERPRETER)
		return;
	if (is_return || a->sender == RUNTIME_SENDER_NONE)
		m->is->sender(&stack->memory, fp, sp);
	else if (a->sender < STACKD_REG_COUNT)
		*sp = is_leaf ? stack->regs->r[a->sender] : least;
	else if (!walk_memory_read8(&stack->memory, fp - 8, sp))
		*sp = least;
	if (*sp < least || *sp & 7)
		*sp = least;
}

/* Returns whether a word can only be the return address of a call into the machine's code, or of
 * one that the machine's code has made and knows. */
static bool is_return_address(const struct machine *m, const struct machine_stack *stack,
			      uint64_t word)
{
	const struct address *a =
		machine_has(m, word) ? machine_address_at(m, stack, word, true) : NULL;
	const struct runtime_code_piece *piece = a ? &m->pieces.items[a->piece].is : NULL;

	return piece && (a->is_call || piece->kind == RUNTIME_CODE_INTERPRETER ||
			 word == piece->from_native || word == piece->replaced[0] ||
			 word == piece->replaced[1]);
}

#define STUB_WORDS 48 /* most that a stub pushes: all registers */

/* Finds the slot of a return address behind a direct call of a stub. */
static bool find_call_of(const struct machine *m, const struct machine_stack *stack,
			 const struct runtime_code_piece *piece, uint64_t sp, uint64_t *ret_slot)
{
	for (uint64_t slot = sp; slot < sp + STUB_WORDS * 8; slot += 8) {
		const struct address *a;
		uint64_t word;

		if (!walk_memory_read8(&stack->memory, slot, &word) || !machine_has(m, word))
			continue;
		a = machine_address_at(m, stack, word, true);
		if (a && a->calls - piece->start < piece->end - piece->start) {
			*ret_slot = slot;
			return true;
		}
	}
	return false;
}

/* Finds the slot of the return address of a frame of which only that word proves the size: of code
 * that has called without the runtime's knowledge, and of stubs. */
static bool find_slot(const struct machine *m, const struct machine_stack *stack,
		      const struct runtime_code_piece *piece, const struct machine_frame *frame,
		      uint64_t *ret_slot)
{
	const struct address *a = machine_address_at(m, stack, frame->address, frame->is_return);
	const uint64_t size = piece->frame_bytes && a ? piece->frame_bytes + a->pushed : 0;
	const uint64_t slots[] = {
		size && frame->sp ? frame->sp + size - 8 : 0, frame->fp ? frame->fp + 8 : 0,
		frame->fp ? frame->fp + 16 : 0, /* a word was pushed before the frame pointer */
	};

	for (size_t i = 0; i < sizeof(slots) / sizeof(*slots); i++) {
		uint64_t word;

		if (slots[i] && slots[i] >= frame->sp &&
		    walk_memory_read8(&stack->memory, slots[i], &word) &&
		    is_return_address(m, stack, word)) {
			*ret_slot = slots[i];
			return true;
		}
	}
	return piece->kind == RUNTIME_CODE_STUB && frame->sp &&
	       find_call_of(m, stack, piece, frame->sp, ret_slot);
}

/* Returns whether a word is where a call of a piece of code returns, or of what that has jumped to.
 */
static bool may_have_called(const struct machine *m, const struct machine_stack *stack,
			    const struct runtime_code_piece *piece, uint64_t word)
{
	const struct address *a =
		machine_has(m, word) ? machine_address_at(m, stack, word, true) : NULL;

	return a && (a->parts || a->calls - piece->start < piece->end - piece->start ||
		     is_return_address(m, stack, word));
}

/* The place of a return address, and the caller's frame pointer and stack pointer; 0: it is not
 * known, and right above the place. */
struct found {
	uint64_t slot, fp, sp;
};

/* Finds a frame's caller by the depth of its code. What a call that the runtime knows returns to is
 * a frame of a known size. Of other frames, the word there must be a return address as well. */
static bool find_by_depth(const struct machine *m, const struct machine_stack *stack,
			  const struct runtime_code_piece *piece, const struct machine_frame *frame,
			  struct found *ret_found)
{
	const struct runtime_depth depth = depth_of(m, stack, frame);
	const bool is_call =
		frame->is_return && machine_address_at(m, stack, frame->address, true)->is_call;
	uint64_t word;

	if (!depth.bytes || !frame->sp)
		return false;
	*ret_found = (struct found){.slot = frame->sp + depth.bytes - 8};
	if (!walk_memory_read8(&stack->memory, ret_found->slot, &word) ||
	    (!is_call && !may_have_called(m, stack, piece, word)))
		return false;
	if (depth.sender && frame->is_leaf)
		ret_found->sp = stack->regs->r[depth.sender];
	if (depth.sender && (ret_found->sp < ret_found->slot + 8 || ret_found->sp & 7))
		return false;
	if (depth.keeps_fp)
		ret_found->fp = frame->is_leaf ? stack->regs->r[STACKD_REG_FP] : frame->fp;
	return !depth.saves_fp ||
	       walk_memory_read8(&stack->memory, ret_found->slot - 8, &ret_found->fp);
}

/* Finds the caller of a frame whose caller's frame pointer is saved, by other words of it. */
static bool find_saved(const struct machine *m, const struct machine_stack *stack,
		       const struct runtime_code_piece *piece, const struct machine_frame *frame,
		       bool is_lost, struct found *ret_found)
{
	uint64_t slot, saved;

	if (piece->kind == RUNTIME_CODE_INTERPRETER ||
	    (frame->is_return && frame->address == piece->from_native)) {
		slot = frame->fp + 8;
		saved = frame->fp;
		if (!frame->fp)
			return false;
	} else if (is_lost && frame->is_return && find_slot(m, stack, piece, frame, &slot)) {
		saved = slot == frame->fp + 16 ? slot - 16 : slot - 8;
	} else {
		return false;
	}
	ret_found->slot = slot;
	return walk_memory_read8(&stack->memory, saved, &ret_found->fp);
}

bool machine_step(const struct machine *m, const struct machine_stack *stack,
		  struct machine_frame *frame, bool is_lost, uint64_t *ret_slot)
{
	const struct runtime_code_piece *piece =
		piece_at(m, stack, frame->address, frame->is_return);
	struct machine_frame next = {.is_return = true};
	struct found found = {0};

	if (!piece || m->is->keeps_fp) /* machine_framing() says what is known */
		return false;
	if (piece->kind == RUNTIME_CODE_INTERPRETER &&
	    (!frame->fp || !m->is->sender(&stack->memory, frame->fp, &next.sp)))
		return false;
	if (!find_by_depth(m, stack, piece, frame, &found) &&
	    !find_saved(m, stack, piece, frame, is_lost, &found))
		return false;
	if (!next.sp)
		next.sp = found.sp ? found.sp : found.slot + 8;
	next.fp = found.fp;
	if (found.slot < frame->sp || !walk_memory_read8(&stack->memory, found.slot, &next.address))
		return false;
	*frame = next;
	*ret_slot = found.slot;
	return true;
}
