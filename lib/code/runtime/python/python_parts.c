/* SPDX-License-Identifier: MIT */
/* Reads the code of CPython's interpreter; see python_parts.h. */
#include "runtime/python/python_parts.h"

#include <stdlib.h>

#include "arch/insn.h"
#include "runtime/eval_parts.h"

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
	code = l.size <= EVAL_MAX_BYTES ? malloc(l.size) : NULL;
	if (code && elf_file_read_whole(file, interpreter->evals[0].start, code, l.size)) {
		l.code = code;
		insn_decoder_init(&l.decoder);
		search_leaving(&l);
	}
	free(code);
}
