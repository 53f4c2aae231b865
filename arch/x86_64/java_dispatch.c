/* SPDX-License-Identifier: MIT */
/* Follows paths to a jump to a method; see java_dispatch.h. */
#include "arch/java_dispatch.h"

#include <string.h>

#include "arch/insn.h"

#define INSTRUCTIONS 64 /* most instructions that are followed; the longest stub has some 30 */
#define JUMP_BYTES   3
#define RBX	     3 /* number in instructions of the register that has the method */

struct paths {
	const uint8_t *code;
	size_t len;
	bool seen[JAVA_DISPATCH_BEFORE + JAVA_DISPATCH_AFTER]; /* by the distance from `first` */
	size_t first;
	size_t todo[INSTRUCTIONS]; /* places where paths go on */
	size_t todo_count;
};

/* Returns whether the bytes before `end` are a load of rbx from memory by another register. */
static bool ends_load(const uint8_t *code, size_t end)
{
	static const struct {
		size_t bytes;
		uint8_t mod;
		bool has_sib;
	} forms[] = {{3, 0, false}, {4, 0, true},  {4, 1, false},
		     {5, 1, true},  {7, 2, false}, {8, 2, true}};

	for (size_t k = 0; k < sizeof(forms) / sizeof(*forms); k++) {
		const uint8_t *at = code + end - forms[k].bytes;
		uint8_t rm;

		if (end < forms[k].bytes)
			continue;
		rm = at[2] & 7;
		if ((at[0] & 0xf8) == 0x48 && !(at[0] & 4) && at[1] == 0x8b &&
		    at[2] >> 6 == forms[k].mod && (at[2] >> 3 & 7) == RBX &&
		    (rm == 4) == forms[k].has_sib && (rm != 5 || forms[k].mod))
			return true;
	}
	return false;
}

/* Returns whether the instruction at `at` jumps by a word of the method that was loaded right
 * before. */
static bool is_to_method(const struct paths *p, size_t at)
{
	static const uint8_t tests_method[] = {0x48, 0x85, 0xdb, 0x0f, 0x84};
	const size_t tests = sizeof(tests_method) + 4; /* bytes, with the branch's distance */
	const uint8_t *jump = p->code + at;

	if (p->len - at < JUMP_BYTES || jump[0] != 0xff || jump[1] != 0x63 || jump[2] & 0x87)
		return false;
	if (at >= tests && !memcmp(jump - tests, tests_method, sizeof(tests_method)))
		return ends_load(p->code, at - tests);
	return ends_load(p->code, at);
}

/* Adds a place to the paths, unless it has been seen, or is not among the bytes. */
static void add(struct paths *p, uint64_t at)
{
	if (at < p->first || at >= p->len || at - p->first >= sizeof(p->seen) ||
	    p->seen[at - p->first] || p->todo_count == INSTRUCTIONS)
		return;
	p->seen[at - p->first] = true;
	p->todo[p->todo_count++] = at;
}

/* Returns whether an instruction changes neither the stack nor the registers that point into it. */
static bool keeps_stack(const struct insn *i)
{
	return i->op != INSN_PUSH && i->op != INSN_POP && i->op != INSN_LEAVE &&
	       i->op != INSN_ALIGN && i->op != INSN_STORE &&
	       !(i->written & (1u << INSN_SP | 1u << INSN_FP));
}

bool java_dispatch_at(const uint8_t *code, size_t len, size_t at)
{
	struct paths p = {.code = code, .len = len};
	struct insn_decoder decoder;
	bool is_found = false;

	insn_decoder_init(&decoder);
	p.first = at > JAVA_DISPATCH_BEFORE ? at - JAVA_DISPATCH_BEFORE : 0;
	add(&p, at);
	for (int n = 0; n < INSTRUCTIONS && p.todo_count; n++) {
		size_t here = p.todo[--p.todo_count];
		struct insn i;

		if (!insn_decode(&decoder, code + here, len - here, here, &i))
			return false;
		if (i.flow == INSN_JUMP_INDIRECT) {
			if (!is_to_method(&p, here))
				return false;
			is_found = true;
			continue;
		}
		if ((i.flow != INSN_NEXT && i.flow != INSN_BRANCH && i.flow != INSN_JUMP) ||
		    !keeps_stack(&i))
			return false;
		if (i.flow != INSN_NEXT)
			add(&p, i.target);
		if (i.flow != INSN_JUMP)
			add(&p, here + i.length);
	}
	return is_found && !p.todo_count;
}
