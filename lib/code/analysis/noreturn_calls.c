/* SPDX-License-Identifier: MIT */
/* Counts the kinds of code after calls; see noreturn_calls.h. */
#include "analysis/noreturn_calls.h"

#include "arch/code_form.h"

/* If at least one in so many calls of a function is at the end of its caller, the function does not
 * return. Measured in 160 files of Debian 12: for the functions that do not return, at least one in
 * 28 calls in cold sections is at an end, and most calls elsewhere. No other function had such a
 * call, except error(3), which returns or not by its argument. */
#define CALLS_PER_END 32

/* Returns whether the instruction at a byte may be a call, judged by its first bytes. */
static bool may_be_call(const struct code_area *area, uint32_t at)
{
	uint64_t from = at - area->first;

	return code_form_may_be_call(area->bytes + from, area->size - from);
}

/* Counts a call by the code after it. If jumps lead there, too, that code proves nothing, and the
 * call is not counted as one at an end. */
static void count(const struct code *c, const struct code_area *area, uint32_t at,
		  struct noreturn_slot *slot)
{
	struct insn i;

	if (at >= code_end(area) || code_ends_at(c, area, at) || !code_decode(c, area, at, &i) ||
	    i.flow == INSN_STOP)
		slot->ends++;
	else if (!(c->marks[at] & CODE_LEADER) && !code_is_case(c, at))
		slot->others++;
}

static void count_area(struct noreturn *n, const struct code *c, const struct code_area *area)
{
	for (uint32_t at = area->first; at < code_end(area); at++) {
		struct noreturn_slot *slot;
		struct insn i;

		if (!(c->marks[at] & CODE_SWEPT) || !may_be_call(area, at) ||
		    !code_decode(c, area, at, &i))
			continue;
		slot = noreturn_slot_of_call(n, c->elf, &i);
		if (slot && !slot->function)
			count(c, area, at + i.length, slot);
	}
}

void noreturn_count_calls(struct noreturn *n, const struct code *c)
{
	for (size_t k = 0; k < c->area_count && n->slots.count; k++)
		count_area(n, c, &c->areas[k]);
	for (size_t k = 0; k < n->slots.count; k++) {
		struct noreturn_slot *slot = &n->slots.items[k];

		if (slot->ends > slot->others / CALLS_PER_END && !slot->returns && !slot->is_unsure)
			slot->does_not_return = true;
	}
}
