/* SPDX-License-Identifier: MIT */
/*
 * Searches for where stacks begin; see stack_start.h.
 *
 *        lea  finish(%rip), %rcx      taken here: found by its bytes,
 *        mov  %rcx, 0x30(%rax)
 *        ret
 *        push %rbp                    decoded from there on,
 *        jmp  *%rbx                   up to here: it goes elsewhere, and calls nothing;
 *   finish:
 *        xor  %rdi, %rdi
 *        call _exit                   straight on to a call
 *        hlt                          that does not return
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
#define LEA_BYTES     7
#define LEAST_GAP     24 /* bytes: more than padding, and no less than such code takes */
#define ROOM	      (LEA_BYTES + MOST_BETWEEN + MOST_CODE)

bool stack_start_leaves(const uint8_t *code, size_t len)
{
	static const uint8_t mov[] = {0x48, 0x89, 0xdc};
	size_t at = code_form_mark(code, len);

	return len - at >= sizeof(mov) && !memcmp(code + at, mov, sizeof(mov));
}

bool stack_start_is_function(const struct elf_file *elf, uint32_t start, uint32_t end)
{
	uint8_t code[8];
	int64_t len =
		end - start <= MOST_FUNCTION ? elf_file_read(elf, start, code, sizeof(code)) : 0;

	return len > 0 && stack_start_leaves(code, (size_t)len);
}

/* Whether the code goes straight on to a call that is followed by hlt, which no program executes.
 */
static bool has_no_way_back(const struct insn_decoder *decoder, const uint8_t *code, size_t len)
{
	static const uint8_t hlt = 0xf4;
	struct insn insn;

	for (size_t at = 0; insn_decode(decoder, code + at, len - at, at, &insn);) {
		at += insn.length;
		if (insn.flow == INSN_CALL || insn.flow == INSN_CALL_INDIRECT)
			return at < len && code[at] == hlt;
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

	while (at < distance && insn_decode(decoder, code + at, ROOM - LEA_BYTES - at, at, &insn))
		at += insn.length;
	return at == distance && (insn.flow == INSN_JUMP || insn.flow == INSN_JUMP_INDIRECT ||
				  insn.flow == INSN_RETURN);
}

/* The distance from behind lea disp(%rip),%reg at `code`, of which ROOM bytes are there, to the
 * start of a stack that it has the address of; 0: it is something else. */
static size_t distance_to_start(const struct insn_decoder *decoder, const uint8_t *code)
{
	const uint8_t *behind = code + LEA_BYTES;
	int32_t distance;

	memcpy(&distance, code + 3, sizeof(distance));
	if ((code[0] & 0xfb) != 0x48 || code[1] != 0x8d || (code[2] & 0xc7) != 0x05 ||
	    distance <= 0 || distance > MOST_BETWEEN)
		return 0;
	return ends_before(decoder, behind, (size_t)distance) &&
			       has_no_way_back(decoder, behind + distance, MOST_CODE)
		       ? (size_t)distance
		       : 0;
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
	int err = 0;

	for (size_t i = 1; i < len && !err; i++) {
		const uint8_t *found = memchr(s->bytes + i, 0x8d, len - i);
		uint64_t start;
		size_t distance;

		if (!found)
			break;
		i = (size_t)(found - s->bytes);
		distance = distance_to_start(&s->decoder, found - 1);
		start = offset + i - 1 + LEA_BYTES + distance;
		if (!distance || start <= s->last)
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
