/* SPDX-License-Identifier: MIT */
/* Follows the stack pointer through a function; see frame_depth.h. */
#include "unwind/frame_depth.h"

#include <stdlib.h>

#include "arch/insn.h"
#include "arch/target.h"

#define MOST_CODE (16 * 1024)

/* Depths: bytes of the CFA above the stack pointer; 0: not known. */
struct function {
	const struct cfi_index *index;
	uint64_t start; /* vaddr */
	struct insn_decoder decoder;
	uint8_t code[MOST_CODE];
	size_t size;
	int32_t targets[MOST_CODE]; /* by byte: the depth with which a branch leads there */
	int32_t at_calls;	    /* the depth at all calls so far */
};

/* Gives the depth behind an instruction. Returns false if it moves the stack pointer by what is not
 * known. */
static bool pass(const struct insn *i, int32_t *depth)
{
	int64_t by = 0;

	if (i->op == INSN_PUSH)
		by = ARCH_CALL_PUSHES;
	else if (i->op == INSN_POP && i->dst != INSN_SP)
		by = -ARCH_CALL_PUSHES;
	else if (i->op == INSN_COPY && i->dst == INSN_SP && i->src == INSN_SP)
		by = -(int64_t)i->disp;
	else if (i->op == INSN_LEAVE ||
		 (i->op == INSN_COPY && i->dst == INSN_SP && i->src == INSN_FP))
		*depth = 0; /* the frame ends */
	else if (i->op == INSN_ALIGN || i->written >> INSN_SP & 1)
		return i->flow != INSN_NEXT;
	if (by > 0 && !*depth)
		return false;
	by += *depth;
	*depth = *depth && by > 0 && by <= INT32_MAX ? (int32_t)by : 0;
	return true;
}

/* Returns whether the call frame information at a byte counts from the stack pointer: the frame has
 * been left. */
static bool has_ended(const struct function *f, size_t at)
{
	struct cfi_row row;

	return cfi_index_row(f->index, f->start + at, &row) && row.state.cfa_reg == STACKD_REG_SP;
}

/* Notes the depth at a branch's target. Returns false if another branch has another one. */
static bool note_target(struct function *f, const struct insn *i, int32_t depth)
{
	int32_t *known;

	if ((i->flow != INSN_JUMP && i->flow != INSN_BRANCH) || !depth || i->target >= f->size)
		return true;
	known = &f->targets[i->target];
	if (*known && *known != depth)
		return false;
	*known = depth;
	return true;
}

/* Follows the code once, in order. Returns false if the frame is not of one size. */
static bool follow(struct function *f, int32_t depth)
{
	struct insn i;

	for (size_t at = 0; at < f->size; at += i.length) {
		if (!insn_decode(&f->decoder, f->code + at, f->size - at, at, &i))
			return false;
		if (f->targets[at] && depth && f->targets[at] != depth)
			return false;
		depth = f->targets[at] ? f->targets[at] : depth;
		if (!note_target(f, &i, depth))
			return false;
		if ((i.flow == INSN_CALL || i.flow == INSN_CALL_INDIRECT) && depth) {
			if (f->at_calls && f->at_calls != depth)
				return false;
			f->at_calls = depth;
		}
		if (!pass(&i, &depth)) {
			if (!has_ended(f, at + i.length))
				return false;
			depth = 0;
		}
		if (i.flow == INSN_RETURN || i.flow == INSN_STOP || i.flow == INSN_JUMP ||
		    i.flow == INSN_JUMP_INDIRECT)
			depth = 0;
	}
	return true;
}

/* Reads the function of an index from its vaddr `start` to `end`. */
static int32_t depth_of(const struct elf_file *elf, const struct cfi_index *index, uint64_t start,
			uint64_t end)
{
	struct function *f;
	struct cfi_row row;
	uint64_t offset;
	int32_t found = 0;

	if (!cfi_index_row(index, start, &row) || row.refused != CFI_ACCEPTED ||
	    row.state.cfa != STACKD_CFA_REG || row.state.cfa_reg != STACKD_REG_SP ||
	    row.state.cfa_offset <= 0 || row.state.cfa_offset > INT32_MAX ||
	    end - start > MOST_CODE || !elf_file_vaddr_to_offset(elf, start, &offset))
		return 0;
	f = calloc(1, sizeof(*f));
	if (!f)
		return 0;
	f->index = index;
	f->start = start;
	f->size = end - start;
	insn_decoder_init(&f->decoder);
	if (elf_file_read_whole(elf, offset, f->code, f->size) &&
	    follow(f, (int32_t)row.state.cfa_offset))
		found = f->at_calls;
	free(f);
	return found;
}

int32_t frame_depth_of(const struct elf_file *elf, const struct cfi_index *index, uint64_t vaddr)
{
	uint64_t start, end;

	return cfi_index_find(index, vaddr, &start, &end) ? depth_of(elf, index, start, end) : 0;
}
