/* SPDX-License-Identifier: MIT */
/* Finds pointers behind calls, and counts them by their alignment; see return_table.h. */
#include "analysis/return_table.h"

/*
 * A table of return addresses has at least LEAST pointers to unaligned addresses, and at least
 * FOR_EACH of these for each pointer to an aligned address. Calls end at any byte, so 15 of 16 are
 * unaligned, as in Coq's programs; the two limits, which allow for other pointers in the file, were
 * chosen by hand.
 */
#define LEAST	   16
#define FOR_EACH   4
#define SHORT_CALL 2 /* bytes of an indirect call by a register */
#define LONG_CALL  8 /* bytes of an indirect call through a word in memory */

/* Returns whether the bytes from `from` up to `at` are a call that the first pass has found. */
static bool is_call(const struct code *c, const struct code_area *area, uint32_t from, uint32_t at)
{
	struct insn i;

	return c->marks[from] & CODE_SWEPT && code_decode(c, area, from, &i) &&
	       (i.flow == INSN_CALL || i.flow == INSN_CALL_INDIRECT) && from + i.length == at;
}

/* Returns whether a pointer is the address after a call, where the code does not begin like a
 * function. */
static bool is_return(const struct code *c, uint64_t pointer)
{
	uint32_t at = code_find(c, pointer);
	const struct code_area *area;

	if (at == CODE_NONE || !(c->marks[at] & CODE_SWEPT) || c->marks[at] & CODE_ENDBR)
		return false;
	area = code_area_of(c, at);
	for (uint32_t n = SHORT_CALL; n <= LONG_CALL && n <= at - area->first; n++) {
		if (is_call(c, area, at - n, at))
			return !code_saves_register(c, at);
	}
	return false;
}

/* Returns whether the pointers to addresses after calls are a table of return addresses. */
static bool is_table(const struct code *c, const uint64_t *pointers, size_t count)
{
	size_t aligned = 0, others = 0;

	for (size_t i = 0; i < count; i++) {
		if (!is_return(c, pointers[i]))
			continue;
		aligned += pointers[i] % CODE_FUNCTION_ALIGN == 0;
		others += pointers[i] % CODE_FUNCTION_ALIGN != 0;
	}
	return others >= LEAST && others / FOR_EACH >= aligned;
}

size_t return_table_remove(const struct code *c, uint64_t *pointers, size_t count)
{
	size_t left = 0;

	if (!is_table(c, pointers, count))
		return count;
	for (size_t i = 0; i < count; i++) {
		if (!is_return(c, pointers[i]))
			pointers[left++] = pointers[i];
	}
	return left;
}
