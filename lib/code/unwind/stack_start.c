/* SPDX-License-Identifier: MIT */
/*
 * Searches for code at which stacks begin; see stack_start.h.
 *
 *        address of finish       found by the bytes of this instruction,
 *        store it
 *        return
 *        ...                     decoded from there on,
 *        jump                    up to here: a jump or return right before finish;
 *   finish:
 *        argument = 0
 *        call _exit              the first jump or call is a call
 *        halt                    that does not return
 */
#include "unwind/stack_start.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/call_site.h"
#include "arch/code_form.h"
#include "arch/insn.h"
#include "unwind/recipe_layer.h"

#define MOST_FUNCTION 64 /* bytes of a function that begins a stack */
#define MOST_FIRST    8	 /* bytes of its first instruction */
/* most bytes from behind the instruction with the address to the code */
#define MOST_BETWEEN 128
#define MOST_CODE    64 /* bytes of that code that are decoded */
#define CHUNK	     65536
#define LEAST_GAP    24 /* such code takes at least so many bytes, which is more than padding */
#define ROOM	     (CODE_FORM_ADDRESS + MOST_BETWEEN + MOST_CODE)

/* Returns up to `len` bytes at a file offset; *ret_len is how many there are. */
static const uint8_t *bytes_at(const struct elf_file *elf, struct stack_start_bytes *b,
			       uint64_t offset, size_t len, size_t *ret_len)
{
	int64_t got;

	if (offset < b->first || offset + len > b->first + b->len) {
		got = elf_file_read(elf, offset, b->bytes, sizeof(b->bytes));
		b->first = offset;
		b->len = got > 0 ? (size_t)got : 0;
	}
	*ret_len = b->first + b->len - offset < len ? b->first + b->len - offset : len;
	return b->bytes + (offset - b->first);
}

bool stack_start_is_function(const struct elf_file *elf, struct stack_start_bytes *bytes,
			     uint32_t start, uint32_t end)
{
	const uint8_t *code;
	size_t len;

	if (end - start > MOST_FUNCTION)
		return false;
	code = bytes_at(elf, bytes, start, MOST_FIRST, &len);
	return len > 0 && code_form_gives_up_stack(code, len);
}

/* Returns whether the first jump or call of some code is a call that does not return. */
static bool has_no_way_back(const struct insn_decoder *decoder, const uint8_t *code, size_t len)
{
	struct insn insn;

	for (size_t at = 0; insn_decode(decoder, code + at, len - at, at, &insn);) {
		at += insn.length;
		if (insn.flow == INSN_CALL || insn.flow == INSN_CALL_INDIRECT)
			return at < len && code_form_is_halt(code + at);
		if (insn.flow != INSN_NEXT)
			return false;
	}
	return false;
}

bool stack_start_is_code(const struct elf_file *elf, uint64_t offset)
{
	struct insn_decoder decoder;
	uint8_t before[CALL_SITE_BYTES], code[MOST_CODE];
	int64_t got = elf_file_read(elf, offset, code, sizeof(code));

	if (got <= 0 || offset < sizeof(before) ||
	    !elf_file_read_whole(elf, offset - sizeof(before), before, sizeof(before)) ||
	    call_site_ends(before, sizeof(before)))
		return false;
	insn_decoder_init(&decoder);
	return has_no_way_back(&decoder, code, (size_t)got);
}

/* Returns whether instructions from `code` on end exactly at `distance`, with a jump or a
 * return. */
static bool ends_before(const struct insn_decoder *decoder, const uint8_t *code, size_t distance)
{
	struct insn insn = {0};
	size_t at = 0;

	while (at < distance &&
	       insn_decode(decoder, code + at, ROOM - CODE_FORM_ADDRESS - at, at, &insn))
		at += insn.length;
	return at == distance && (insn.flow == INSN_JUMP || insn.flow == INSN_JUMP_INDIRECT ||
				  insn.flow == INSN_RETURN);
}

/* Returns whether a stack begins at `distance` behind an instruction that takes the address;
 * `behind` has the ROOM - CODE_FORM_ADDRESS bytes behind that instruction. */
static bool is_start(const struct insn_decoder *decoder, const uint8_t *behind, int32_t distance)
{
	return distance > 0 && distance <= MOST_BETWEEN &&
	       ends_before(decoder, behind, (size_t)distance) &&
	       has_no_way_back(decoder, behind + distance, MOST_CODE);
}

struct search {
	const struct elf_file *elf;
	struct insn_decoder decoder;
	uint8_t bytes[CHUNK + ROOM];
	struct recipe_rows layer;
	uint64_t last; /* offset of the last start that was found */
};

/* Searches the first `len` bytes of the chunk; the bytes behind are only decoded. */
static int search_chunk(struct search *s, uint64_t offset, size_t len)
{
	const uint8_t *at = s->bytes, *end = s->bytes + len;
	int32_t distance;
	int err = 0;

	for (; at < end && !err; at++) {
		uint64_t start;

		at = code_form_find_address(at, (size_t)(end - at), &distance);
		if (!at)
			break;
		start = offset + (uint64_t)(at - s->bytes) + CODE_FORM_ADDRESS +
			(uint64_t)(int64_t)distance;
		if (!is_start(&s->decoder, at + CODE_FORM_ADDRESS, distance) || start <= s->last)
			continue;
		s->last = start;
		err = recipe_rows_add(&s->layer, (uint32_t)start - 1, STACKD_RULE_END);
		if (!err)
			err = recipe_rows_add(&s->layer, (uint32_t)start, STACKD_RULE_NONE);
	}
	return err;
}

/* Searches code without rules, from `from` to `to`. */
static int search_gap(struct search *s, uint64_t from, uint64_t to)
{
	int err = 0;

	for (uint64_t at = from; to - at >= LEAST_GAP && !err; at += CHUNK) {
		uint64_t want = to - at < sizeof(s->bytes) ? to - at : sizeof(s->bytes);
		int64_t got = elf_file_read(s->elf, at, s->bytes, want);

		if (got <= 0)
			break;
		memset(s->bytes + got, 0, sizeof(s->bytes) - (size_t)got);
		err = search_chunk(s, at, got < CHUNK ? (size_t)got : CHUNK);
		if (to - at <= CHUNK)
			break;
	}
	return err;
}

/* Searches the ranges of a program header that have no rule. */
static int search_load(struct search *s, const struct recipe_load *load,
		       const struct recipe_rows *rows)
{
	struct recipe_rows_reader reader = recipe_rows_read(rows);
	struct recipe_row row = {.offset = 0, .rule = STACKD_RULE_NONE}, next;
	const uint64_t begin = load->offset, end = load->offset + load->size;
	bool has_next;
	int err = 0;

	do {
		uint64_t from = row.offset > begin ? row.offset : begin, to = end;

		has_next = recipe_rows_next(&reader, &next);
		if (has_next && next.offset < end)
			to = next.offset;
		if (row.rule == STACKD_RULE_NONE && from < to)
			err = search_gap(s, from, to);
		row = next;
	} while (has_next && row.offset < end && !err);
	return err;
}

int stack_start_lay(const struct elf_file *elf, const struct recipe_load *loads, size_t load_count,
		    struct recipe_table *table, struct recipe_rows *rows)
{
	struct search *s = calloc(1, sizeof(*s));
	int err = s ? 0 : -ENOMEM;

	if (err)
		return err;
	s->elf = elf;
	insn_decoder_init(&s->decoder);
	for (size_t i = 0; i < load_count && !err; i++) {
		if (loads[i].offset + loads[i].size <= RECIPE_MAX_OFFSET)
			err = search_load(s, &loads[i], rows);
	}
	if (!err && !recipe_rows_is_empty(&s->layer))
		err = recipe_layer_above(table, rows, &s->layer, PROVENANCE_ANALYSED);
	recipe_rows_free(&s->layer);
	free(s);
	return err;
}
