/* SPDX-License-Identifier: MIT */
/*
 * Follows all paths of a function until one is seen to return; see external_returns.h. Most
 * functions do within a few dozen instructions. Their callees are examined in the same way. A call
 * of a function that is still being examined counts as not returning, so functions that only call
 * each other never return.
 */
#include "analysis/external_returns.h"

#include <string.h>

#include "base/vec.h"

/* Chosen by hand: they bound the time. */
#define MAX_DEPTH  24	/* of calls */
#define FREE_STEPS 4096 /* instructions, plus one for each byte of the analysed code */

enum answer { ASKED = 1, RETURNS, NEVER };

struct walk { /* the search of one function's paths */
	struct external_returns *external;
	VEC(uint64_t) ahead; /* vaddr of the targets of branches that are still to be followed */
	struct int_map seen;
	unsigned depth;
};

static bool may_return(struct external_returns *o, uint64_t vaddr, unsigned depth);

static bool decode(const struct external_returns *o, uint64_t vaddr, struct insn *i)
{
	uint8_t bytes[INSN_MAX_BYTES];
	uint64_t offset;
	int64_t got;

	if (!elf_file_vaddr_to_offset(o->code->elf, vaddr, &offset))
		return false;
	got = elf_file_read(o->code->elf, offset, bytes, sizeof(bytes));
	return got > 0 && insn_decode(&o->code->decoder, bytes, (size_t)got, vaddr, i);
}

/* Returns whether a call may return. */
static bool call_returns(struct walk *w, const struct insn *i)
{
	struct external_returns *o = w->external;

	if (noreturn_is_call(o->noreturn, o->code->elf, i))
		return false;
	if (i->flow != INSN_CALL || code_find(o->code, i->target) != CODE_NONE)
		return true;
	return may_return(o, i->target, w->depth + 1);
}

/* Follows a path to its end. Returns whether it ends at a return, or may end at one. */
static bool path_returns(struct walk *w, uint64_t at)
{
	struct external_returns *o = w->external;
	struct insn i;

	for (;; at += i.length) {
		if (int_map_find(&w->seen, at) != INT_MAP_NONE)
			return false;
		if (o->steps++ >= FREE_STEPS + o->code->size || int_map_set(&w->seen, at, 1) ||
		    !decode(o, at, &i))
			return true;
		switch (i.flow) {
		case INSN_RETURN:
			return true;
		case INSN_STOP:
			return i.is_padding; /* a breakpoint may have been put into running code */
		case INSN_JUMP_INDIRECT:
			return i.idiom != INSN_SLOT || !noreturn_has_slot(o->noreturn, i.target);
		case INSN_JUMP:
			if (noreturn_has_function(o->noreturn, o->code->elf, i.target))
				return false;
			at = i.target;
			i.length = 0;
			break;
		case INSN_BRANCH:
			if (VEC_RESERVE(&w->ahead, 1))
				return true;
			w->ahead.items[w->ahead.count++] = i.target;
			break;
		case INSN_CALL:
		case INSN_CALL_INDIRECT:
			if (!call_returns(w, &i))
				return false;
			break;
		default:
			break;
		}
	}
}

/* Examines a function whose result is not known yet. Returns whether it may return. */
static bool ask(struct external_returns *o, uint64_t vaddr, unsigned depth)
{
	struct walk w = {.external = o, .depth = depth};
	bool returns = path_returns(&w, vaddr);

	while (!returns && w.ahead.count)
		returns = path_returns(&w, w.ahead.items[--w.ahead.count]);
	free(w.ahead.items);
	int_map_fini(&w.seen);
	return returns;
}

static bool may_return(struct external_returns *o, uint64_t vaddr, unsigned depth)
{
	uint32_t known = int_map_find(&o->functions, vaddr);
	uint64_t open = o->open;
	enum answer answer;

	o->open += known == ASKED;
	if (known == ASKED || known == NEVER)
		return false;
	if (known == RETURNS || depth > MAX_DEPTH || int_map_set(&o->functions, vaddr, ASKED))
		return true;
	answer = ask(o, vaddr, depth) ? RETURNS : NEVER;
	/* A negative result that relied on a caller which is still being examined is not kept. */
	if (answer == NEVER && depth && o->open != open)
		answer = 0;
	return int_map_set(&o->functions, vaddr, answer) || answer == RETURNS;
}

bool external_may_return(struct external_returns *o, uint64_t vaddr)
{
	return may_return(o, vaddr, 0);
}

void external_returns_fini(struct external_returns *o)
{
	int_map_fini(&o->functions);
}
