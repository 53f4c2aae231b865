/* SPDX-License-Identifier: MIT */
/* Decodes functions from their first byte to their last; see function_exits.h. */
#include "daemon/regions/function_exits.h"

#include <errno.h>
#include <stdlib.h>

#include "arch/probe_place.h"
#include "analysis/jump_table.h"

#define MOST_BYTES (4u << 20) /* most bytes of a part */

struct finder {
	const struct elf_file *file;
	const struct code_part *parts;
	size_t n_parts;
	struct function_exits *exits;
	struct jump_hints hints;
};

static bool is_inside(const struct finder *f, uint64_t target)
{
	for (size_t i = 0; i < f->n_parts; i++) {
		if (target - f->parts[i].vaddr < f->parts[i].size)
			return true;
	}
	return false;
}

static int add(struct finder *f, uint64_t vaddr, unsigned kind, uint64_t target)
{
	struct function_exit exit = {.kind = (uint8_t)kind, .target = target};

	if (!elf_file_vaddr_to_offset(f->file, vaddr, &exit.offset))
		return -ENOEXEC;
	if (VEC_RESERVE(&f->exits->all, 1))
		return -ENOMEM;
	f->exits->all.items[f->exits->all.count++] = exit;
	return 0;
}

/* Adds a direct jump or branch as an exit, if it leads out of the function. Notes a jump to the
 * first instruction (is_loop). 0 or -ENOMEM. */
static int take_jump(struct finder *f, uint64_t vaddr, const uint8_t *code, const struct insn *i)
{
	int condition;

	if (i->target == f->parts[0].vaddr)
		f->exits->is_loop = true;
	if (is_inside(f, i->target))
		return 0;
	if (i->flow == INSN_JUMP)
		return add(f, vaddr, STACKD_EXIT_JUMP, i->target);
	condition = probe_place_condition(code, i);
	return condition < 0 ? -ENOEXEC
			     : add(f, vaddr, STACKD_EXIT_BRANCH | (unsigned)condition, i->target);
}

static int take_indirect(struct finder *f, uint64_t vaddr, const struct insn *i)
{
	int err = add(f, vaddr, STACKD_EXIT_JUMP, 0);

	if (!err && i->idiom == INSN_SLOT)
		f->exits->all.items[f->exits->all.count - 1].slot = i->target;
	return err;
}

/* Adds an instruction as an exit, if it leaves the function. An indirect jump through a jump table
 * does not. 0; -ENOEXEC: that cannot be decided; -ENOMEM. */
static int take(struct finder *f, uint64_t vaddr, const uint8_t *code, const struct insn *i)
{
	struct jump_table table;

	switch (i->flow) {
	case INSN_RETURN:
		return add(f, vaddr, STACKD_EXIT_RETURN, 0);
	case INSN_JUMP:
	case INSN_BRANCH:
		return take_jump(f, vaddr, code, i);
	case INSN_JUMP_INDIRECT:
		return jump_hints_table(&f->hints, i, &table) ? 0 : take_indirect(f, vaddr, i);
	default:
		return 0;
	}
}

static int decode_part(struct finder *f, const struct code_part *part, const uint8_t *code)
{
	struct insn_decoder decoder;
	int err = 0;

	insn_decoder_init(&decoder);
	jump_hints_init(&f->hints);
	for (uint64_t at = 0; at < part->size && !err;) {
		struct insn i;

		if (!insn_decode(&decoder, code + at, part->size - at, part->vaddr + at, &i))
			return -ENOEXEC;
		err = take(f, part->vaddr + at, code + at, &i);
		jump_hints_apply(&f->hints, &i);
		at += i.length;
	}
	return err;
}

int function_exits_find(const struct elf_file *file, const struct code_part *parts, size_t n_parts,
			struct function_exits *ret_exits)
{
	struct finder f = {.file = file, .parts = parts, .n_parts = n_parts, .exits = ret_exits};
	int err = 0;

	*ret_exits = (struct function_exits){0};
	for (size_t i = 0; i < n_parts && !err; i++) {
		uint64_t offset;
		uint8_t *code = NULL;

		if (!parts[i].size || parts[i].size > MOST_BYTES ||
		    !elf_file_vaddr_to_offset(file, parts[i].vaddr, &offset))
			return -ENOEXEC;
		code = malloc(parts[i].size);
		if (!code)
			return -ENOMEM;
		err = elf_file_read_whole(file, offset, code, parts[i].size)
			      ? decode_part(&f, &parts[i], code)
			      : -ENOEXEC;
		free(code);
	}
	return err;
}

void function_exits_free(struct function_exits *exits)
{
	free(exits->all.items);
	*exits = (struct function_exits){0};
}
