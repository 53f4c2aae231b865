/* SPDX-License-Identifier: MIT */
/* Follows the flow of functions, one by one; see unclobbered.h. */
#include "analysis/unclobbered.h"

#include <errno.h>
#include <string.h>

/* Chosen by hand: they bound the time. */
#define MAX_FUNCTION 4096u /* instructions */
/* limit of the instructions of all functions together */
#define MAX_FOLLOWED 4000000u
/* a bit in a value of `kept`; the lower bits are the registers that are kept */
#define NOT_KEPT(reg) (1u << 16 << (reg))

void unclobbered_fini(struct unclobbered *k)
{
	int_map_fini(&k->wanted);
	int_map_fini(&k->kept);
	free(k->list.items);
	memset(k, 0, sizeof(*k));
}

int unclobbered_want(struct unclobbered *k, uint32_t at, unsigned reg)
{
	uint64_t key = (uint64_t)at << 4 | reg;
	uint32_t value;

	if (int_map_find(&k->wanted, key) != INT_MAP_NONE)
		return 0;
	if (int_map_enter(&k->wanted, key, 1, &value) || VEC_RESERVE(&k->list, 1))
		return -ENOMEM;
	k->list.items[k->list.count++] = key;
	return 0;
}

struct function {
	const struct code *code;
	struct int_map seen;
	VEC(uint32_t)
	visited; /* bytes of instructions; those from index `next` on are still to
		  * be decoded */
	size_t next;
	unsigned reg;
	bool keeps;
};

static int enter(struct function *f, uint32_t at)
{
	uint32_t value;

	if (at == CODE_NONE || int_map_find(&f->seen, at) != INT_MAP_NONE)
		return 0;
	if (int_map_enter(&f->seen, at, 1, &value) || VEC_RESERVE(&f->visited, 1))
		return -ENOMEM;
	f->visited.items[f->visited.count++] = at;
	return 0;
}

/* Decodes an instruction, and adds the instructions that may follow it. */
static int look(struct function *f, uint32_t at)
{
	const struct code_area *area = code_area_of(f->code, at);
	struct insn i;
	int err = 0;

	if (!code_decode(f->code, area, at, &i)) {
		f->keeps = false;
		return 0;
	}
	if (i.written >> f->reg & 1 || i.flow == INSN_CALL || i.flow == INSN_CALL_INDIRECT ||
	    i.flow == INSN_JUMP_INDIRECT)
		f->keeps = false;
	if (i.flow == INSN_JUMP || i.flow == INSN_BRANCH)
		err = enter(f, code_find(f->code, i.target));
	if (!err && at + i.length < code_end(area) &&
	    (i.flow == INSN_NEXT || i.flow == INSN_BRANCH || i.flow == INSN_CALL ||
	     i.flow == INSN_CALL_INDIRECT))
		err = enter(f, at + i.length);
	return err;
}

/* Adds the result of a function to its instructions. If several functions share an instruction, all
 * must keep the register. */
static int take(struct unclobbered *k, const struct function *f)
{
	for (size_t n = 0; n < f->visited.count; n++) {
		uint32_t at = f->visited.items[n], known = int_map_find(&k->kept, at);
		uint32_t now = f->keeps ? 1u << f->reg : NOT_KEPT(f->reg);

		if (known != INT_MAP_NONE)
			now |= known;
		if (int_map_set(&k->kept, at, now))
			return -ENOMEM;
	}
	return 0;
}

static int follow(struct unclobbered *k, const struct code *code, uint64_t key)
{
	struct function f = {.code = code, .reg = key & 15, .keeps = true};
	int err = enter(&f, (uint32_t)(key >> 4));

	while (!err && f.next < f.visited.count && f.next < MAX_FUNCTION)
		err = look(&f, f.visited.items[f.next++]);
	k->followed += f.next;
	k->is_void |= f.next < f.visited.count || k->followed > MAX_FOLLOWED;
	if (!err)
		err = take(k, &f);
	int_map_fini(&f.seen);
	free(f.visited.items);
	return err;
}

int unclobbered_settle(struct unclobbered *k, const struct code *code)
{
	int err = 0;

	for (size_t i = 0; i < k->list.count && !err && !k->is_void; i++)
		err = follow(k, code, k->list.items[i]);
	return err;
}

uint32_t unclobbered_at(const struct unclobbered *k, uint32_t at)
{
	uint32_t known = k->is_void || !k->list.count ? INT_MAP_NONE : int_map_find(&k->kept, at);

	return known == INT_MAP_NONE ? 0 : known & ~(known >> 16) & 0xffff;
}
