/* SPDX-License-Identifier: MIT */
/*
 * Searches for where stacks begin; see stack_start.h.
 *
 *        address of finish       taken here: found by its bytes,
 *        store it
 *        return
 *        ...                     decoded from there on,
 *        jump                    up to here: it goes elsewhere, and calls nothing;
 *   finish:
 *        argument = 0
 *        call _exit              straight on to a call
 *        halt                    that does not return
 */
#include "unwind/stack_start.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/code_form.h"
#include "arch/insn.h"
#include "unwind/recipe_layer.h"

#define MOST_FUNCTION 64  /* bytes of a function that begins a stack */
#define MOST_BETWEEN  128 /* bytes from where the address is taken to the code */
#define MOST_CODE     64  /* bytes of that */
#define CHUNK	      65536
#define LEAST_GAP     24 /* bytes: more than padding, and no less than such code takes */
#define ROOM	      (CODE_FORM_ADDRESS + MOST_BETWEEN + MOST_CODE)

bool stack_start_is_function(const struct elf_file *elf, uint32_t start, uint32_t end)
{
	uint8_t code[8];
	int64_t len =
		end - start <= MOST_FUNCTION ? elf_file_read(elf, start, code, sizeof(code)) : 0;

	return len > 0 && code_form_gives_up_stack(code, (size_t)len);
}

/* Whether the code goes straight on to a call that does not return. */
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

/* Whether instructions from `code` on come to an end right before `distance`, with one that goes
 * elsewhere and is no call. */
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

/* Whether a stack begins so far behind an instruction that has its address; `behind` that are
 * ROOM - CODE_FORM_ADDRESS bytes. */
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
	uint64_t last; /* offset of the start that was found last */
};

/* Searches the first `len` bytes that were read, and uses what is behind them. */
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

/* Searches the gaps between rows that lie in a segment. */
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
