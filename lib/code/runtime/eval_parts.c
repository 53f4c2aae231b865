/* SPDX-License-Identifier: MIT */
/*
 * A compiler gives each part of a divided function an entry of its own in the call frame
 * information. The function jumps to many places of such a part; to another function it jumps, in a
 * tail call, only where that begins. So a part is what an entry covers, to whose middle the
 * function jumps.
 */
#include "runtime/eval_parts.h"

#include <stdlib.h>

#include "arch/flow_insn.h"
#include "cfi/eh_frame_hdr.h"

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

void eval_parts_add(const struct elf_file *file, uint64_t vaddr,
		    struct runtime_interpreter *interpreter)
{
	uint64_t size = interpreter->evals[0].end - interpreter->evals[0].start;
	uint8_t *code = size <= EVAL_MAX_BYTES ? malloc(size) : NULL;
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
