/* SPDX-License-Identifier: MIT */
/*
 * Questions about code; see lbr_code.h. Zydis decodes the instructions.
 *
 * Did a call to `to` lead to `pc`? If both are in one function, yes. Else by jumps: a stub of the
 * PLT and a thunk (retpoline) lead anywhere; a function leads where its direct jumps go that leave
 * it (tail calls, and the parts that compilers split off), and so on from there. An indirect jump
 * may lead anywhere too, but most are those of a switch, which stay inside. A switch's jump goes
 * through a register that the instruction before has added a base to, or through a table with a
 * scaled index; those are not counted.
 *
 *   function ──► struct leads {direct jumps out of it, does it have an indirect one} ──► cached
 */
#include "lbr/lbr_code.h"

#include <Zydis/Zydis.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#define MAX_JUMPS 64 /* out of one function; with more, it may lead anywhere */
#define MAX_HOPS  16 /* functions looked at for one answer */
#define MAX_CODE  16 /* bytes of an instruction, and one */

struct place {
	const struct object *object;
	uint64_t offset;
};

struct leads_key {
	uint64_t start; /* file offset */
	uint32_t object;
	uint32_t pad;
};

/* Where a function's jumps lead. */
struct leads {
	struct leads_key key;
	bool anywhere; /* an indirect jump, or too many */
	uint32_t n;
	uint64_t *targets; /* file offsets; owned */
	UT_hash_handle hh;
};

struct lbr_code_files {
	struct dwarf_walk *walk;
	ZydisDecoder decoder;
	struct leads *leads;
	struct walk_frame frames[DWARF_WALK_MAX_FRAMES];
};

int lbr_code_new(struct dwarf_walk *walk, struct lbr_code_files **ret_files)
{
	struct lbr_code_files *files = calloc(1, sizeof(*files));

	if (!files)
		return -ENOMEM;
	files->walk = walk;
	ZydisDecoderInit(&files->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	*ret_files = files;
	return 0;
}

static void forget_leads(struct lbr_code_files *files)
{
	struct leads *leads, *next;

	HASH_ITER (hh, files->leads, leads, next) {
		HASH_DEL(files->leads, leads);
		free(leads->targets);
		free(leads);
	}
}

void lbr_code_free(struct lbr_code_files *files)
{
	if (!files)
		return;
	forget_leads(files);
	free(files);
}

/* --- reading code ---------------------------------------------------------------------------- */

struct instruction {
	ZydisDecodedInstruction is;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

static bool find(const struct lbr_code_view *view, uint64_t address, struct place *ret_place)
{
	return view->in->find(view->in->arg, address, &ret_place->object, &ret_place->offset) &&
	       ret_place->object->elf;
}

static bool decode(const struct lbr_code_files *files, const uint8_t *bytes, size_t len,
		   struct instruction *ret)
{
	return ZYAN_SUCCESS(
		ZydisDecoderDecodeFull(&files->decoder, bytes, len, &ret->is, ret->operands));
}

static bool decode_at(const struct lbr_code_files *files, const struct place *place,
		      struct instruction *ret)
{
	uint8_t bytes[MAX_CODE];
	int64_t got = elf_file_read(place->object->elf, place->offset, bytes, sizeof(bytes));

	return got > 0 && decode(files, bytes, (size_t)got, ret);
}

static bool is_jump(const struct instruction *i)
{
	return i->is.meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
	       i->is.meta.category == ZYDIS_CATEGORY_COND_BR;
}

static bool is_direct(const struct instruction *i)
{
	return i->operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
}

/* Where a direct branch at `offset` goes; in file offsets, since a file's code is one piece. */
static uint64_t target_of(const struct instruction *i, uint64_t offset)
{
	return offset + i->is.length + (uint64_t)i->operands[0].imm.value.s;
}

static uint64_t call_end(void *arg, uint64_t from)
{
	const struct lbr_code_view *view = arg;
	struct instruction i;
	struct place place;

	if (!find(view, from, &place) || !decode_at(view->files, &place, &i) ||
	    i.is.meta.category != ZYDIS_CATEGORY_CALL)
		return 0;
	return from + i.is.length;
}

static enum lbr_kind kind(void *arg, uint64_t from)
{
	const struct lbr_code_view *view = arg;
	struct instruction i;
	struct place place;

	if (!find(view, from, &place) || !decode_at(view->files, &place, &i))
		return LBR_KIND_UNKNOWN;
	switch (i.is.meta.category) {
	case ZYDIS_CATEGORY_CALL:
		return LBR_KIND_CALL;
	case ZYDIS_CATEGORY_RET:
		return LBR_KIND_RETURN;
	default:
		return LBR_KIND_JUMP;
	}
}

/* --- functions ------------------------------------------------------------------------------- */

static bool function_of(const struct lbr_code_view *view, const struct place *place,
			uint64_t *ret_start, uint64_t *ret_end)
{
	return dwarf_walk_function(view->files->walk, place->object, place->offset, ret_start,
				   ret_end);
}

/* Code that jumps on at once: `[endbr64] jmp *x`, `[endbr64] push n; jmp x` (the PLT), or a
 * retpoline, whose first instruction calls over a loop of waiting. */
static bool is_stub(const struct lbr_code_files *files, struct place place)
{
	struct instruction i;

	for (int n = 0; n < 3 && decode_at(files, &place, &i); n++) {
		if (i.is.mnemonic == ZYDIS_MNEMONIC_JMP)
			return n > 1 || !is_direct(&i);
		if (i.is.mnemonic == ZYDIS_MNEMONIC_CALL && n == 0) {
			uint64_t to = target_of(&i, place.offset);

			place.offset += i.is.length;
			if (!is_direct(&i) || to - place.offset > 16 ||
			    !decode_at(files, &place, &i))
				return false;
			return i.is.mnemonic == ZYDIS_MNEMONIC_PAUSE ||
			       i.is.mnemonic == ZYDIS_MNEMONIC_LFENCE ||
			       i.is.mnemonic == ZYDIS_MNEMONIC_INT3;
		}
		if (i.is.mnemonic != ZYDIS_MNEMONIC_ENDBR64 && i.is.mnemonic != ZYDIS_MNEMONIC_PUSH)
			return false;
		if (i.is.mnemonic == ZYDIS_MNEMONIC_PUSH) {
			place.offset += i.is.length;
			return decode_at(files, &place, &i) && i.is.mnemonic == ZYDIS_MNEMONIC_JMP;
		}
		place.offset += i.is.length;
	}
	return false;
}

/* Does an indirect jump look like that of a switch? */
static bool is_switch(const struct instruction *jump, const struct instruction *before)
{
	const ZydisDecodedOperand *to = &jump->operands[0];

	if (to->type == ZYDIS_OPERAND_TYPE_MEMORY)
		return to->mem.scale == 8;
	return before->is.mnemonic == ZYDIS_MNEMONIC_ADD &&
	       before->operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       before->operands[0].reg.value == to->reg.value;
}

static void note_jump(struct leads *leads, const struct instruction *i,
		      const struct instruction *before, uint64_t offset, uint64_t end)
{
	uint64_t target, *grown;

	if (!is_direct(i)) {
		leads->anywhere |= !is_switch(i, before);
		return;
	}
	target = target_of(i, offset);
	if (target >= leads->key.start && target < end)
		return;
	for (uint32_t n = 0; n < leads->n; n++) {
		if (leads->targets[n] == target)
			return;
	}
	grown = leads->n < MAX_JUMPS
			? reallocarray(leads->targets, leads->n + 1, sizeof(*leads->targets))
			: NULL;
	if (!grown) {
		leads->anywhere = true;
		return;
	}
	leads->targets = grown;
	leads->targets[leads->n++] = target;
}

static void scan(const struct lbr_code_files *files, struct leads *leads, const uint8_t *code,
		 size_t len, uint64_t end)
{
	struct instruction i, before = {0};
	size_t at = 0;

	while (at < len && decode(files, code + at, len - at, &i)) {
		if (is_jump(&i))
			note_jump(leads, &i, &before, leads->key.start + at, end);
		at += i.is.length;
		before = i;
	}
	/* Not looked through to its end: it may lead anywhere. */
	leads->anywhere |= at < end - leads->key.start;
}

/* NULL: for lack of memory. */
static struct leads *leads_of(struct lbr_code_files *files, const struct object *object,
			      uint64_t start, uint64_t end)
{
	struct leads_key key = {.start = start, .object = object->number};
	size_t size = end - start < LBR_CODE_MAX_BYTES ? end - start : LBR_CODE_MAX_BYTES;
	struct leads *leads;
	uint8_t *code;
	int64_t got;

	HASH_FIND(hh, files->leads, &key, sizeof(key), leads);
	if (leads)
		return leads;
	if (HASH_COUNT(files->leads) >= LBR_CODE_MAX_FUNCTIONS)
		forget_leads(files);
	leads = calloc(1, sizeof(*leads));
	code = malloc(size + 1);
	if (!leads || !code) {
		free(leads);
		free(code);
		return NULL;
	}
	leads->key = key;
	got = elf_file_read(object->elf, start, code, size);
	scan(files, leads, code, got > 0 ? (size_t)got : 0, end);
	free(code);
	HASH_ADD(hh, files->leads, key, sizeof(key), leads);
	return leads;
}

/* From function to function by direct jumps, until the one that begins at `goal`. */
static enum lbr_fit follow(const struct lbr_code_view *view, struct place at, uint64_t goal)
{
	uint64_t seen[MAX_HOPS], start, end;
	enum lbr_fit fit = LBR_FIT_NO;
	size_t n = 0;

	if (!function_of(view, &at, &seen[n++], &end))
		return LBR_FIT_UNKNOWN;
	for (size_t i = 0; i < n; i++) {
		const struct leads *leads;

		at.offset = seen[i];
		if (!function_of(view, &at, &start, &end))
			continue;
		leads = leads_of(view->files, at.object, start, end);
		if (!leads || leads->anywhere)
			fit = LBR_FIT_MAYBE;
		for (uint32_t j = 0; leads && j < leads->n; j++) {
			size_t k = 0;

			at.offset = leads->targets[j];
			if (is_stub(view->files, at))
				return LBR_FIT_JUMP;
			if (!function_of(view, &at, &start, &end))
				continue;
			if (start == goal)
				return LBR_FIT_JUMP;
			while (k < n && seen[k] != start)
				k++;
			if (k == n && n < MAX_HOPS)
				seen[n++] = start;
		}
	}
	return fit;
}

static enum lbr_fit fit(void *arg, uint64_t to, uint64_t pc)
{
	const struct lbr_code_view *view = arg;
	struct place target, place;
	uint64_t start, end, pc_start, pc_end;

	if (!find(view, to, &target) || !find(view, pc, &place))
		return LBR_FIT_UNKNOWN;
	if (function_of(view, &target, &start, &end) && target.object == place.object &&
	    place.offset >= start && place.offset < end)
		return LBR_FIT_SAME;
	if (is_stub(view->files, target))
		return LBR_FIT_JUMP;
	if (!function_of(view, &place, &pc_start, &pc_end))
		return LBR_FIT_UNKNOWN;
	return follow(view, target, target.object == place.object ? pc_start : UINT64_MAX);
}

/* --- walks ----------------------------------------------------------------------------------- */

static size_t convert(const struct walk_frame *from, size_t n, struct lbr_walked *to)
{
	for (size_t i = 0; i < n; i++)
		to[i] = (struct lbr_walked){.address = from[i].address,
					    .slot = from[i].slot,
					    .is_return = from[i].is_return,
					    .is_guess = from[i].is_guess};
	return n;
}

enum stackd_end_reason lbr_code_walk(struct lbr_code_view *view, struct lbr_walked *frames,
				     size_t max, size_t *ret_count)
{
	struct lbr_code_files *files = view->files;
	enum stackd_end_reason end;
	size_t n;

	if (max > DWARF_WALK_MAX_FRAMES)
		max = DWARF_WALK_MAX_FRAMES;
	end = dwarf_walk_stack(files->walk, view->in, files->frames, max, &n);
	*ret_count = convert(files->frames, n, frames);
	return end;
}

/* The frame itself is walked too, and left out: it is there already. */
static enum stackd_end_reason walk_on(void *arg, uint64_t address, uint64_t slot,
				      struct lbr_walked *frames, size_t max, size_t *ret_count)
{
	const struct lbr_code_view *view = arg;
	struct lbr_code_files *files = view->files;
	struct walk_input in = *view->in;
	enum stackd_end_reason end;
	size_t n;

	in.stack_start = in.stack_start ? in.stack_start : in.regs.r[STACKD_REG_RSP];
	in.known = 1u << STACKD_REG_RSP | 1u << STACKD_REG_RIP;
	in.is_return = true;
	in.regs.r[STACKD_REG_RSP] = slot + 8;
	in.regs.r[STACKD_REG_RIP] = address;
	if (!slot)
		in.stack_bytes = 0;
	if (max > DWARF_WALK_MAX_FRAMES - 1)
		max = DWARF_WALK_MAX_FRAMES - 1;
	end = dwarf_walk_stack(files->walk, &in, files->frames, max + 1, &n);
	*ret_count = n ? convert(files->frames + 1, n - 1, frames) : 0;
	return end;
}

struct lbr_code lbr_code_of(struct lbr_code_view *view)
{
	return (struct lbr_code){
		.fit = fit, .call_end = call_end, .kind = kind, .walk_on = walk_on, .arg = view};
}
