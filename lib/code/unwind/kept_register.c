/* SPDX-License-Identifier: MIT */
/*
 * Follows the code of a callee; see kept_register.h. Calls are followed like jumps, so one set has
 * all instructions that can run between the call and the return. The results for a few functions
 * are kept, since samples hit the same few.
 */
#include "unwind/kept_register.h"

#include <stdlib.h>
#include <string.h>

#include "arch/code_form.h"
#include "arch/insn.h"
#include "base/vec.h"

#define MAX_INSTRUCTIONS 4096 /* half a millisecond */
#define WINDOW_BYTES	 1024 /* of code that are read at a time */

struct flow {
	const struct elf_file *elf;
	struct insn_decoder decoder;
	struct kept_function *function;
	uint32_t reg_bit;      /* bit of the register, by the processor's number */
	VEC(uint64_t) waiting; /* vaddr of instructions that are still to be decoded */
	uint64_t window;       /* vaddr of bytes[0] */
	size_t window_bytes;
	uint8_t bytes[WINDOW_BYTES];
};

static void drop(struct kept_function *f)
{
	int_map_fini(&f->seen);
	memset(f, 0, sizeof(*f));
}

void kept_register_fini(struct kept_register *kept)
{
	for (int i = 0; i < KEPT_REGISTER_FUNCTIONS; i++)
		drop(&kept->functions[i]);
	kept->next = 0;
}

/* Adds an instruction, unless it was met before. Returns false if memory is lacking. */
static bool enter(struct flow *f, uint64_t vaddr)
{
	uint32_t value;

	if (int_map_find(&f->function->seen, vaddr) != INT_MAP_NONE)
		return true;
	if (int_map_enter(&f->function->seen, vaddr, 1, &value) || VEC_RESERVE(&f->waiting, 1))
		return false;
	f->waiting.items[f->waiting.count++] = vaddr;
	return true;
}

/* Reads code from `vaddr` on into the window. */
static bool read_window(struct flow *f, uint64_t vaddr)
{
	uint64_t offset;
	int64_t got;

	if (!elf_file_vaddr_to_offset(f->elf, vaddr, &offset))
		return false;
	got = elf_file_read(f->elf, offset, f->bytes, sizeof(f->bytes));
	f->window = vaddr;
	f->window_bytes = got > 0 ? (size_t)got : 0;
	return f->window_bytes != 0;
}

static bool decode(struct flow *f, uint64_t vaddr, struct insn *ret_insn)
{
	uint64_t at = vaddr - f->window;

	if ((at >= f->window_bytes || f->window_bytes - at < INSN_MAX_BYTES) &&
	    !read_window(f, vaddr))
		return false;
	at = vaddr - f->window;
	return insn_decode(&f->decoder, f->bytes + at, f->window_bytes - at, vaddr, ret_insn);
}

/* Decodes an instruction, and adds its successors. Returns false if the register may be written. */
static bool look(struct flow *f, uint64_t vaddr)
{
	struct insn i;
	bool leads_on;

	if (!decode(f, vaddr, &i) || i.written & f->reg_bit ||
	    insn_changes_unnamed(&i, f->bytes + (vaddr - f->window)) ||
	    i.flow == INSN_CALL_INDIRECT || i.flow == INSN_JUMP_INDIRECT)
		return false;
	if ((i.flow == INSN_JUMP || i.flow == INSN_BRANCH || i.flow == INSN_CALL) &&
	    !enter(f, i.target))
		return false;
	leads_on = i.flow == INSN_NEXT || i.flow == INSN_BRANCH || i.flow == INSN_CALL;
	return !leads_on || enter(f, vaddr + i.length);
}

static bool follow(struct flow *f)
{
	size_t looked = 0;

	if (!enter(f, f->function->entry))
		return false;
	while (f->waiting.count) {
		if (looked++ >= MAX_INSTRUCTIONS || !look(f, f->waiting.items[--f->waiting.count]))
			return false;
	}
	return true;
}

/* Returns the processor's number of a register, from DWARF's. */
static unsigned number_of(unsigned dwarf)
{
	unsigned number = 0;

	while (number < INSN_REG_COUNT - 1 && insn_dwarf_number(number) != dwarf)
		number++;
	return number;
}

static const struct kept_function *find(struct kept_register *kept, const struct object *object,
					uint64_t entry, unsigned reg)
{
	struct flow flow = {.elf = object->elf};
	struct kept_function *f;

	for (int i = 0; i < KEPT_REGISTER_FUNCTIONS; i++) {
		f = &kept->functions[i];
		if (f->reg == reg + 1 && f->object == object->number && f->entry == entry)
			return f;
	}
	f = &kept->functions[kept->next++ % KEPT_REGISTER_FUNCTIONS];
	drop(f);
	*f = (struct kept_function){.object = object->number, .reg = reg + 1, .entry = entry};
	flow.function = f;
	flow.reg_bit = 1u << number_of(reg);
	insn_decoder_init(&flow.decoder);
	f->keeps = follow(&flow);
	if (!f->keeps)
		int_map_fini(&f->seen);
	free(flow.waiting.items);
	return f;
}

/* Finds the target of a caller's call, if it is a direct one. */
static bool find_target(const struct walk_frame *caller, uint64_t *ret_vaddr)
{
	const struct elf_file *elf = caller->object->elf;
	uint64_t behind = caller->offset + 1, vaddr;
	uint8_t call[CODE_FORM_CALL];

	if (behind < CODE_FORM_CALL ||
	    !elf_file_read_whole(elf, behind - CODE_FORM_CALL, call, CODE_FORM_CALL) ||
	    !elf_file_offset_to_vaddr(elf, caller->offset, &vaddr))
		return false;
	return code_form_call_target(call, vaddr + 1, ret_vaddr);
}

bool kept_register_is_kept(struct kept_register *kept, const struct walk_frame *callee,
			   const struct walk_frame *caller, unsigned reg)
{
	const struct object *object = caller->object;
	const struct kept_function *f;
	uint64_t entry, at;

	if (!caller->is_return || !object || !object->elf || callee->object != object ||
	    !find_target(caller, &entry) ||
	    !elf_file_offset_to_vaddr(object->elf, callee->offset, &at))
		return false;
	f = find(kept, object, entry, reg);
	return f->keeps && int_map_find(&f->seen, at + callee->is_return) != INT_MAP_NONE;
}
