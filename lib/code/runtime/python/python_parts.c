/* SPDX-License-Identifier: MIT */
/*
 * A compiler gives each part of a divided function an entry of its own in the call frame
 * information. The function jumps to many places of such a part; to another function it jumps, in a
 * tail call, only where that begins. So a part is what an entry covers, to whose middle the
 * function jumps.
 */
#include "runtime/python/python_parts.h"

#include <stdlib.h>

#include "arch/flow_insn.h"
#include "cfi/eh_frame_hdr.h"

#define MAX_BYTES (1u << 20) /* of the function; CPython's have some 60,000 */

struct search {
	const struct eh_frame_hdr *entries;
	const struct elf_file *file;
	uint64_t vaddr; /* of the function */
	struct runtime_interpreter *found;
};

static bool is_known(const struct search *s, uint64_t start)
{
	for (size_t i = 0; i < s->found->n_evals; i++) {
		if (s->found->evals[i].start == start)
			return true;
	}
	return false;
}

/* Adds the part that a jump's target is in, if it is a part. */
static void take_target(struct search *s, uint64_t target)
{
	struct eh_frame_hdr_row row;
	size_t rank = eh_frame_hdr_rank(s->entries, target);
	struct runtime_interpreter *found = s->found;
	uint64_t start;
	uint32_t bytes;

	if (found->n_evals == RUNTIME_EVALS || !rank ||
	    !eh_frame_hdr_row(s->entries, rank - 1, &row) || target == row.start)
		return;
	bytes = eh_frame_hdr_code_bytes(s->entries, &row);
	if (target - row.start >= bytes || !elf_file_vaddr_to_offset(s->file, row.start, &start) ||
	    is_known(s, start))
		return;
	found->evals[found->n_evals].start = start;
	found->evals[found->n_evals++].end = start + bytes;
}

static void search_code(struct search *s, const uint8_t *code, size_t size)
{
	struct insn_decoder decoder;
	struct flow_insn insn;

	insn_decoder_init(&decoder);
	for (size_t at = 0; at < size; at += insn.length) {
		uint64_t target;

		if (!flow_insn_decode(&decoder, code + at, size - at, &insn) || !insn.length)
			return;
		target = flow_insn_target(&insn, s->vaddr + at);
		if ((insn.kind == FLOW_JUMP || insn.kind == FLOW_BRANCH) && insn.is_direct &&
		    target - s->vaddr >= size)
			take_target(s, target);
	}
}

void python_parts_add(const struct elf_file *file, uint64_t vaddr,
		      struct runtime_interpreter *interpreter)
{
	uint64_t size = interpreter->evals[0].end - interpreter->evals[0].start;
	uint8_t *code = size <= MAX_BYTES ? malloc(size) : NULL;
	struct eh_frame_hdr *entries = NULL;
	struct search search = {.file = file, .vaddr = vaddr, .found = interpreter};

	if (code && elf_file_read_whole(file, interpreter->evals[0].start, code, size) &&
	    eh_frame_hdr_new(file, &entries) == 0) {
		search.entries = entries;
		search_code(&search, code, size);
	}
	eh_frame_hdr_free(entries);
	free(code);
}

/* --- linking ---------------------------------------------------------------------------------- */

#define LINKING 512 /* bytes in which that is looked for */

void python_parts_linking(const struct elf_file *file, struct runtime_interpreter *interpreter)
{
	struct stackd_interpreter *facts = &interpreter->facts;
	struct insn_decoder decoder;
	uint8_t code[LINKING + INSN_MAX_BYTES];
	size_t from = 0;
	struct insn insn;

	facts->linked_from = 0;
	facts->linked_to = facts->form == STACKD_INTERPRETER_OWNER ? 0 : 160;
	if (!facts->linked_to || !elf_file_read_whole(file, facts->eval, code, sizeof(code)))
		return;
	insn_decoder_init(&decoder);
	for (size_t at = 0; at < LINKING; at += insn.length) {
		if (!insn_decode(&decoder, code + at, sizeof(code) - at, at, &insn))
			return;
		if (from && insn.flow != INSN_NEXT) {
			facts->linked_from = (uint16_t)from;
			facts->linked_to = (uint16_t)(at + insn.length);
			return;
		}
		if (!from && insn.op == INSN_STORE && insn.disp == facts->thread_frame &&
		    insn.dst != INSN_SP)
			from = at + insn.length;
	}
}

/* --- one frame for each activation ------------------------------------------------------------ */

#define EPILOGUE 64 /* bytes from where a function's ways out come together up to its return */

struct leaving {
	struct stackd_interpreter *facts;
	const uint8_t *code;
	size_t size;
	struct insn_decoder decoder;
	uint8_t reg; /* the register with the thread's state */
	uint32_t n;
};

static bool decode_at(struct leaving *l, size_t at, struct insn *ret_insn)
{
	return at < l->size && insn_decode(&l->decoder, l->code + at, l->size - at, at, ret_insn) &&
	       ret_insn->length;
}

static void add_left(struct leaving *l, size_t from, size_t to)
{
	for (uint32_t i = 0; i < l->n; i++) {
		if (l->facts->left_from[i] == from)
			return;
	}
	if (l->n == STACKD_INTERPRETER_LEFT)
		return;
	l->facts->left_from[l->n] = (uint32_t)from;
	l->facts->left_to[l->n++] = (uint32_t)to;
}

/* Returns the address behind the first return or jump from `from` on; 0: `most` bytes have none.
 * *ret_target is the jump's target; 0: it is a return. */
static size_t straight_end(struct leaving *l, size_t from, size_t most, uint64_t *ret_target)
{
	struct insn insn;

	for (size_t at = from; at - from < most && decode_at(l, at, &insn); at += insn.length) {
		if (insn.flow != INSN_RETURN && insn.flow != INSN_JUMP)
			continue;
		*ret_target = insn.flow == INSN_JUMP ? insn.target : 0;
		return at + insn.length;
	}
	return 0;
}

/* Adds the code behind a store with which the function takes its frame out of the chain. */
static void take_leaving(struct leaving *l, size_t from)
{
	uint64_t target, end_target;
	size_t end = straight_end(l, from, LINKING, &target);

	if (!end)
		return;
	add_left(l, from, end);
	if (!target || target >= l->size)
		return;
	end = straight_end(l, target, EPILOGUE, &end_target);
	if (end && !end_target)
		add_left(l, target, end);
}

static void search_leaving(struct leaving *l)
{
	struct insn insn;

	l->facts->linked_from = l->facts->linked_to = 0;
	for (size_t at = 0; decode_at(l, at, &insn); at += insn.length) {
		size_t end = at + insn.length;

		if (insn.op != INSN_STORE || insn.disp != l->facts->thread_frame ||
		    insn.dst == INSN_SP)
			continue;
		if (!l->facts->linked_to) {
			if (end > LINKING)
				return;
			l->facts->linked_to = (uint16_t)end;
			l->reg = insn.dst;
		} else if (insn.dst == l->reg) {
			take_leaving(l, end);
		}
	}
}

void python_parts_leaving(const struct elf_file *file, struct runtime_interpreter *interpreter)
{
	struct leaving l = {.facts = &interpreter->facts};
	uint8_t *code;

	l.size = interpreter->evals[0].end - interpreter->evals[0].start;
	code = l.size <= MAX_BYTES ? malloc(l.size) : NULL;
	if (code && elf_file_read_whole(file, interpreter->evals[0].start, code, l.size)) {
		l.code = code;
		insn_decoder_init(&l.decoder);
		search_leaving(&l);
	}
	free(code);
}
