/* SPDX-License-Identifier: MIT */
/*
 * To call a function of Python, the interpreter makes a frame and puts it into the chain by two
 * stores: `frame->previous = caller` and `chain = frame`. A compiler may exchange them. A thread
 * that is interrupted in between has a last frame whose link still has the word that was in that
 * memory before: often the address of a frame that ended there, from which on the chain looks
 * whole.
 *
 * So this looks for a store of a register to where the chain begins, and behind it, in the same run
 * of instructions, the store of the link through that register.
 */
#include "runtime/python/python_pushes.h"

#include <stdlib.h>

#include "arch/insn.h"

#define MAX_BYTES (1u << 20) /* of a part of the function; CPython's have some 60,000 */
#define BETWEEN	  128	     /* bytes at most from the first store to the second */

struct pushes {
	struct stackd_interpreter *facts;
	const uint8_t *code;
	size_t size;
	uint32_t start; /* offset of the code, less that of the function */
	struct insn_decoder decoder;
};

static bool decode_at(const struct pushes *p, size_t at, struct insn *ret_insn)
{
	return at < p->size && insn_decode(&p->decoder, p->code + at, p->size - at, at, ret_insn) &&
	       ret_insn->length;
}

/* Returns whether an instruction can be the store of the last frame: to the cframe, which is in the
 * native frame, or to the thread's state. */
static bool is_last_frame(const struct pushes *p, const struct insn *insn)
{
	if (insn->op != INSN_STORE || insn->src == INSN_NO_REG)
		return false;
	if (p->facts->form == STACKD_INTERPRETER_OWNER)
		return insn->dst != INSN_SP && insn->disp == p->facts->thread_frame;
	return insn->dst == INSN_SP || insn->dst == INSN_FP;
}

/* Adds a place. Returns whether there is room for it. */
static bool add(struct pushes *p, size_t from, size_t to)
{
	struct stackd_interpreter *facts = p->facts;

	if (facts->n_pushes == STACKD_INTERPRETER_PUSHES)
		return false;
	facts->pushed_from[facts->n_pushes] = p->start + (uint32_t)from;
	facts->pushed_to[facts->n_pushes++] = p->start + (uint32_t)to;
	return true;
}

/* Looks for the store of the link of the frame in register `frame`, from an instruction on. Returns
 * whether it is not there, or the place has room. */
static bool look_for_link(struct pushes *p, size_t from, uint8_t frame)
{
	struct insn insn;

	for (size_t at = from; at - from < BETWEEN && decode_at(p, at, &insn); at += insn.length) {
		if (insn.op == INSN_STORE && insn.dst == frame &&
		    insn.disp == p->facts->frame_previous)
			return add(p, from, at + insn.length);
		if ((insn.flow != INSN_NEXT && insn.flow != INSN_BRANCH) ||
		    insn.written >> frame & 1)
			return true;
	}
	return true;
}

/* Searches the code. Returns whether all of it was decoded, and all places have room. */
static bool search(struct pushes *p)
{
	struct insn insn;
	size_t at = 0;

	for (; decode_at(p, at, &insn); at += insn.length) {
		if (is_last_frame(p, &insn) && !look_for_link(p, at + insn.length, insn.src))
			return false;
	}
	return at >= p->size;
}

bool python_pushes_find(const struct elf_file *file, struct runtime_interpreter *interpreter)
{
	struct pushes p = {.facts = &interpreter->facts};
	bool are_all = true;

	p.facts->n_pushes = 0;
	insn_decoder_init(&p.decoder);
	for (size_t i = 0; i < interpreter->n_evals && are_all; i++) {
		const uint64_t start = interpreter->evals[i].start;
		uint8_t *code;

		p.size = interpreter->evals[i].end - start;
		p.start = (uint32_t)(start - p.facts->eval);
		if (!p.size)
			continue;
		p.code = code = p.size <= MAX_BYTES ? malloc(p.size) : NULL;
		are_all = code && elf_file_read_whole(file, start, code, p.size) && search(&p);
		free(code);
	}
	return are_all;
}
