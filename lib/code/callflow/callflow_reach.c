/* SPDX-License-Identifier: MIT */
/*
 * Searches basic blocks; see callflow_reach.h.
 *
 *   todo ──► block: instruction by instruction ──► its jumps' targets ──► todo
 *              └─ ends: a return, a jump, a trap, or an instruction that was searched already
 *
 * Every call is assumed to return. If a call does not return, the search goes on in the code after
 * it all the same, and can only reach too much. For stubs see callflow_stub.h; a jump through a
 * word in memory that holds a function of another file cannot lead to this file.
 */
#include "callflow/callflow_reach.h"

#include <errno.h>
#include <stdlib.h>

#include "base/int_map.h"
#include "base/vec.h"

#define READ_BYTES    4096 /* bytes of code that are read at once */
#define MAX_RETPOLINE 16   /* limit of the bytes that a retpoline's call skips */
/* limit of the slots of the map `seen` that are kept between searches */
#define KEPT_SLOTS 4096

struct callflow_reach {
	struct insn_decoder decoder;
	struct int_map stubs; /* by offset and object: enum callflow_stub */
	struct int_map own;   /* likewise: result of own_target() */

	/* The present search. */
	const struct object *object;
	const struct callflow_location *goal;
	uint64_t goal_vaddr;	     /* UINT64_MAX: it is in another object */
	struct int_map seen;	     /* instructions, by vaddr */
	VEC(uint64_t) todo;	     /* vaddrs */
	bool is_reached, is_partial; /* is_partial: some jumps could not be followed */

	uint64_t code_vaddr; /* of code[0] */
	size_t code_len;
	uint8_t code[READ_BYTES];
};

int callflow_reach_new(struct callflow_reach **ret_reach)
{
	struct callflow_reach *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	insn_decoder_init(&r->decoder);
	*ret_reach = r;
	return 0;
}

void callflow_reach_free(struct callflow_reach *r)
{
	if (!r)
		return;
	int_map_fini(&r->stubs);
	int_map_fini(&r->own);
	int_map_fini(&r->seen);
	free(r->todo.items);
	free(r);
}

/* --- reading code ---------------------------------------------------------------------------- */

/* Returns whether the code was made at run time. Such code has no linkage tables, and only a piece
 * of it is known. */
static bool is_made(const struct object *object)
{
	return object->kind == OBJECT_JIT;
}

static bool read_code(struct callflow_reach *r, uint64_t vaddr)
{
	uint64_t offset;
	int64_t got;

	r->code_len = 0;
	if (!elf_file_vaddr_to_offset(r->object->elf, vaddr, &offset))
		return false;
	got = elf_file_read(r->object->elf, offset, r->code, sizeof(r->code));
	if (got <= 0)
		return false;
	r->code_vaddr = vaddr;
	r->code_len = (size_t)got;
	return true;
}

/* Decodes the instruction at a vaddr. Returns false if there is no code. */
static bool decode(struct callflow_reach *r, uint64_t vaddr, struct flow_insn *ret)
{
	uint64_t at = vaddr - r->code_vaddr;

	if (at >= r->code_len || (r->code_len - at < INSN_MAX_BYTES && r->code_len == READ_BYTES)) {
		if (!read_code(r, vaddr))
			return false;
		at = 0;
	}
	return flow_insn_decode(&r->decoder, r->code + at, r->code_len - at, ret);
}

/* --- jumps ----------------------------------------------------------------------------------- */

static void follow(struct callflow_reach *r, uint64_t vaddr)
{
	if (int_map_find(&r->seen, vaddr) != INT_MAP_NONE)
		return;
	if (r->todo.count >= CALLFLOW_REACH_MAX_INSTRUCTIONS || VEC_RESERVE(&r->todo, 1)) {
		r->is_partial = true;
		return;
	}
	r->todo.items[r->todo.count++] = vaddr;
}

static enum callflow_stub stub_at(struct callflow_reach *r,
				  const struct callflow_location *location)
{
	uint32_t found = int_map_find_wide(&r->stubs, location->offset, location->object->number);

	if (found != INT_MAP_NONE)
		return found;
	if (r->stubs.used >= CALLFLOW_REACH_MAX_STUBS)
		int_map_clear(&r->stubs);
	found = callflow_stub_at(&r->decoder, location);
	int_map_enter_wide(&r->stubs, location->offset, location->object->number, found, &found);
	return found;
}

/* Returns the vaddr of the function of the same file to which a linkage stub leads; 0: none. */
static uint64_t own_target(struct callflow_reach *r, const struct callflow_location *location)
{
	uint32_t found = int_map_find_wide(&r->own, location->offset, location->object->number);
	uint64_t vaddr;

	if (found != INT_MAP_NONE)
		return found;
	if (r->own.used >= CALLFLOW_REACH_MAX_STUBS)
		int_map_clear(&r->own);
	vaddr = callflow_stub_own_target(&r->decoder, location);
	found = vaddr < INT_MAP_NONE ? (uint32_t)vaddr : 0;
	int_map_enter_wide(&r->own, location->offset, location->object->number, found, &found);
	return found;
}

/* Follows an indirect jump. Through a word of the linkage table, it leads out of the file, or to a
 * function of the file unless another file interposes that function. Until the dynamic linker has
 * bound the word, it leads to where the word points within the file. Any other indirect jump may
 * lead anywhere. */
static void take_indirect(struct callflow_reach *r, uint64_t vaddr, const struct flow_insn *jump)
{
	struct callflow_location location = {.object = r->object};
	bool is_word = !is_made(r->object) && jump->has_address &&
		       elf_file_vaddr_to_offset(r->object->elf, vaddr, &location.offset);
	uint64_t target = is_word ? callflow_stub_unbound_target(&r->decoder, &location) : 0;

	if (target)
		follow(r, target);
	if (is_word && stub_at(r, &location) == CALLFLOW_STUB_OUTSIDE) {
		r->is_reached |= r->goal->object != r->object && !is_made(r->goal->object);
		r->is_partial |= is_made(r->goal->object);
		return;
	}
	target = is_word ? own_target(r, &location) : 0;
	if (target)
		follow(r, target);
	r->is_partial = true;
}

/* Follows a call only if it may be a retpoline's, which is an indirect jump: a call over a few
 * bytes. */
static void take_call(struct callflow_reach *r, uint64_t vaddr, const struct flow_insn *call)
{
	struct callflow_location location = {.object = r->object};
	uint64_t skipped = call->is_direct ? (uint64_t)call->distance : 0;

	if (is_made(r->object))
		r->is_partial |= skipped && skipped <= MAX_RETPOLINE;
	else if (skipped && skipped <= MAX_RETPOLINE &&
		 elf_file_vaddr_to_offset(r->object->elf, vaddr, &location.offset))
		r->is_partial |= stub_at(r, &location) == CALLFLOW_STUB_ANYWHERE;
}

/* Follows the jumps of an instruction. Returns whether the next instruction can run after it. */
static bool take(struct callflow_reach *r, uint64_t vaddr, const struct flow_insn *i)
{
	switch (i->kind) {
	case FLOW_CALL:
		take_call(r, vaddr, i);
		return true;
	case FLOW_BRANCH:
		follow(r, flow_insn_target(i, vaddr));
		return true;
	case FLOW_JUMP:
		if (i->is_direct)
			follow(r, flow_insn_target(i, vaddr));
		else
			take_indirect(r, vaddr, i);
		return false;
	default:
		return i->kind == FLOW_NEXT;
	}
}

/* --- the search ------------------------------------------------------------------------------ */

/* Notes an instruction as seen. Returns false if it was seen before, or there is no more room. */
static bool enter(struct callflow_reach *r, uint64_t vaddr)
{
	uint32_t number = (uint32_t)r->seen.used, found;

	if (int_map_find(&r->seen, vaddr) != INT_MAP_NONE)
		return false;
	if (number < CALLFLOW_REACH_MAX_INSTRUCTIONS &&
	    !int_map_enter(&r->seen, vaddr, number, &found))
		return true;
	r->is_partial = true;
	return false;
}

static void walk_block(struct callflow_reach *r, uint64_t vaddr)
{
	struct flow_insn i;
	bool goes_on = true;

	while (goes_on && enter(r, vaddr)) {
		if (!decode(r, vaddr, &i)) {
			r->is_partial |= is_made(r->object);
			return;
		}
		if (r->goal_vaddr - vaddr < i.length) {
			r->is_reached = true;
			return;
		}
		goes_on = take(r, vaddr, &i);
		vaddr += i.length;
	}
}

static void prepare(struct callflow_reach *r, const struct object *object,
		    const struct callflow_location *goal)
{
	if (r->seen.slots > KEPT_SLOTS)
		int_map_fini(&r->seen);
	int_map_clear(&r->seen);
	r->todo.count = 0;
	r->is_reached = r->is_partial = false;
	if (r->object != object || is_made(object))
		r->code_len = 0;
	r->object = object;
	r->goal = goal;
	r->goal_vaddr = UINT64_MAX;
}

enum callflow_fit callflow_reach(struct callflow_reach *r, const struct object *object,
				 uint64_t vaddr, const struct callflow_location *goal)
{
	struct flow_insn first;

	prepare(r, object, goal);
	if ((goal->object == object &&
	     !elf_file_offset_to_vaddr(object->elf, goal->offset, &r->goal_vaddr)) ||
	    !decode(r, vaddr, &first))
		return CALLFLOW_FIT_UNKNOWN;
	follow(r, vaddr);
	while (r->todo.count && !r->is_reached)
		walk_block(r, r->todo.items[--r->todo.count]);
	if (r->is_reached)
		return CALLFLOW_FIT_JUMP;
	return r->is_partial ? CALLFLOW_FIT_MAYBE : CALLFLOW_FIT_NO;
}
