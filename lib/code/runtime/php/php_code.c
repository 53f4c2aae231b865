/* SPDX-License-Identifier: MIT */
/* Reads the code of execute_ex(); see php_code.h. */
#include "runtime/php/php_code.h"

#include <stdlib.h>
#include <string.h>

#include "arch/insn.h"
#include "runtime/eval_parts.h"

#define BEGINS	   128 /* bytes in which the function saves registers, and takes its own */
#define RETURNS	   128 /* bytes from where it restores them up to its return */
#define BEFORE	   48  /* in a frame: the frame before it */
#define MOST_STALE (STACKD_PHP_STALE + 1)

struct code {
	struct insn_decoder decoder;
	const uint8_t *bytes;
	size_t size;
	int32_t frame_bytes;	    /* of stack, with the return address, behind the prologue */
	int32_t pointer_bytes;	    /* from the frame pointer to the CFA; 0: there is none */
	uint8_t frame, instruction; /* registers */
	struct {
		int32_t slot; /* from the CFA */
		size_t from;  /* offset behind the instruction that stores it */
	} saved[2];	      /* of the caller's `frame` and `instruction` */
};

static bool decode(const struct code *c, size_t at, struct insn *ret_insn)
{
	return at < c->size &&
	       insn_decode(&c->decoder, c->bytes + at, c->size - at, at, ret_insn) &&
	       ret_insn->length;
}

/* Returns the distance from the CFA of a slot that an instruction reads or writes; 0: it is none of
 * the function's frame. */
static int32_t slot_of(const struct code *c, unsigned base, int32_t disp)
{
	if (base == INSN_SP)
		return disp - c->frame_bytes;
	return base == INSN_FP && c->pointer_bytes ? disp - c->pointer_bytes : 0;
}

/* --- the beginning ---------------------------------------------------------------------------- */

struct store {
	uint8_t reg;
	int32_t slot;
	size_t from;
};

struct beginning {
	struct store stores[8];
	size_t n_stores;
};

static void take_stack(struct code *c, const struct insn *insn)
{
	if (insn->op == INSN_PUSH)
		c->frame_bytes += 8;
	else if (insn->op == INSN_COPY && insn->dst == INSN_SP && insn->src == INSN_SP)
		c->frame_bytes -= insn->disp;
	else if (insn->op == INSN_COPY && insn->dst == INSN_FP && insn->src == INSN_SP)
		c->pointer_bytes = c->frame_bytes - insn->disp;
}

/* Notes a store of a register that functions preserve. */
static void take_store(const struct code *c, struct beginning *b, const struct insn *insn,
		       size_t end)
{
	if (insn->op != INSN_STORE || insn->src >= INSN_REG_COUNT ||
	    insn_saved_index(insn->src) < 0 || !slot_of(c, insn->dst, insn->disp) ||
	    b->n_stores == sizeof(b->stores) / sizeof(b->stores[0]))
		return;
	b->stores[b->n_stores++] =
		(struct store){insn->src, slot_of(c, insn->dst, insn->disp), end};
}

static bool find_store(const struct beginning *b, uint8_t reg, struct code *c, size_t i)
{
	for (size_t k = 0; k < b->n_stores; k++) {
		if (b->stores[k].reg != reg)
			continue;
		c->saved[i].slot = b->stores[k].slot;
		c->saved[i].from = b->stores[k].from;
		return c->saved[i].slot < 0 && c->saved[i].slot >= INT16_MIN;
	}
	return false;
}

/* Finds both registers. Returns the offset behind the instruction that takes the second one; 0:
 * they are not known. */
static size_t read_beginning(struct code *c)
{
	struct beginning b = {0};
	unsigned argument = INSN_NO_REG;
	struct insn insn;

	c->frame_bytes = 8;
	c->frame = INSN_NO_REG;
	for (size_t at = 0; at < BEGINS && decode(c, at, &insn); at += insn.length) {
		const size_t end = at + insn.length;

		if (insn.flow != INSN_NEXT && insn.flow != INSN_BRANCH)
			return 0;
		take_stack(c, &insn);
		take_store(c, &b, &insn, end);
		if (insn.op == INSN_COPY && c->frame == INSN_NO_REG && insn.dst < INSN_REG_COUNT &&
		    insn.src < INSN_REG_COUNT && !insn.disp && insn_saved_index(insn.dst) >= 0 &&
		    insn.dst != INSN_FP) {
			c->frame = insn.dst;
			argument = insn.src;
		}
		if (insn.op == INSN_LOAD && c->frame != INSN_NO_REG && !insn.disp &&
		    (insn.src == argument || insn.src == c->frame)) {
			c->instruction = insn.dst;
			return find_store(&b, c->frame, c, 0) &&
					       find_store(&b, c->instruction, c, 1)
				       ? end
				       : 0;
		}
	}
	return 0;
}

/* --- where the registers are restored ----------------------------------------------------------
 */

/* Returns the offset behind the return that follows; 0: none does. */
static size_t find_return(const struct code *c, size_t from)
{
	struct insn insn;

	for (size_t at = from; at < from + RETURNS && decode(c, at, &insn); at += insn.length) {
		if (insn.flow == INSN_RETURN)
			return at + insn.length;
		if (insn.flow != INSN_NEXT && insn.flow != INSN_BRANCH)
			return 0;
	}
	return 0;
}

/* Finds the ways out of the function, up to which the registers are restored. */
static bool find_left(const struct code *c, struct stackd_interpreter *facts)
{
	size_t n = 0;
	struct insn insn;

	for (size_t at = 0; decode(c, at, &insn); at += insn.length) {
		const size_t end = at + insn.length;

		if (insn.op != INSN_LOAD || insn.dst != c->frame ||
		    slot_of(c, insn.src, insn.disp) != c->saved[0].slot)
			continue;
		if (n == STACKD_INTERPRETER_LEFT || !find_return(c, end))
			return false;
		facts->left_from[n] = (uint32_t)end;
		facts->left_to[n++] = (uint32_t)find_return(c, end);
	}
	return n > 0;
}

/* --- where the instruction may be another frame's ----------------------------------------------
 */

struct stale {
	size_t from, to;
};

struct search {
	const struct code *code;
	struct stale found[MOST_STALE];
	size_t n;
	size_t ahead[2 * MOST_STALE]; /* offsets at which the search goes on */
	size_t n_ahead;
};

static bool is_found(const struct search *s, size_t at)
{
	for (size_t i = 0; i < s->n; i++) {
		if (at >= s->found[i].from && at < s->found[i].to)
			return true;
	}
	return false;
}

static void go_ahead(struct search *s, uint64_t at)
{
	if (at < s->code->size && s->n_ahead < 2 * MOST_STALE)
		s->ahead[s->n_ahead++] = (size_t)at;
}

/* Adds the code from an offset on, up to where the register with the instruction is set, or the
 * code jumps. */
static void add_stale(struct search *s, size_t from)
{
	const unsigned reg = s->code->instruction;
	size_t at = from;
	struct insn insn;

	if (s->n == MOST_STALE || is_found(s, from))
		return;
	while (decode(s->code, at, &insn)) {
		at += insn.length;
		if (insn.flow == INSN_BRANCH || insn.flow == INSN_JUMP)
			go_ahead(s, insn.target);
		if (insn.written >> reg & 1 ||
		    ((insn.op == INSN_LOAD || insn.op == INSN_COPY) && insn.dst == reg) ||
		    (insn.flow != INSN_NEXT && insn.flow != INSN_BRANCH && insn.flow != INSN_CALL &&
		     insn.flow != INSN_CALL_INDIRECT))
			break;
	}
	s->found[s->n++] = (struct stale){from, at};
}

/* Forgets the registers that an instruction has written. */
static uint32_t forget(uint32_t has, const struct insn *insn)
{
	if (insn->flow != INSN_NEXT)
		return 0;
	if (insn->op != INSN_STORE && insn->dst < INSN_REG_COUNT)
		has &= ~(1u << insn->dst);
	return has & ~insn->written;
}

/* Finds the code that takes the frame before as its own. Its instruction is that of the frame that
 * was left until its register is set. */
static bool find_stale(const struct code *c, struct stackd_interpreter *facts)
{
	struct search s = {.code = c};
	uint32_t has = 0; /* registers with the address of the frame before */
	struct insn insn;

	for (size_t at = 0; decode(c, at, &insn); at += insn.length) {
		const bool is_load =
			insn.op == INSN_LOAD && insn.src == c->frame && insn.disp == BEFORE;
		const bool is_copy = insn.op == INSN_COPY && insn.src < INSN_REG_COUNT &&
				     !insn.disp && has >> insn.src & 1;

		has = forget(has, &insn);
		if ((is_load || is_copy) && insn.dst == c->frame)
			add_stale(&s, at + insn.length);
		else if (is_load && insn.dst < INSN_REG_COUNT)
			has |= 1u << insn.dst;
	}
	for (size_t i = 0; i < s.n_ahead; i++)
		add_stale(&s, s.ahead[i]);
	if (!s.n || s.n > STACKD_PHP_STALE || s.n_ahead == 2 * MOST_STALE)
		return false;
	facts->php.n_stale = (uint32_t)s.n;
	for (size_t i = 0; i < s.n; i++) {
		facts->php.stale_from[i] = (uint16_t)s.found[i].from;
		facts->php.stale_to[i] = (uint16_t)s.found[i].to;
	}
	return true;
}

/* --- all ---------------------------------------------------------------------------------------
 */

/* Divides evals[0]: up to where it saves the first register, it is as any function. */
static bool divide(const struct code *c, struct runtime_interpreter *is)
{
	const size_t first = c->saved[0].from < c->saved[1].from ? 0 : 1;
	const int kept[2] = {insn_saved_index(c->frame), insn_saved_index(c->instruction)};
	const uint64_t start = is->evals[0].start;

	if (is->n_evals == RUNTIME_EVALS || kept[0] < 0 || kept[1] < 0)
		return false;
	is->evals[is->n_evals].start = start + c->saved[first].from;
	is->evals[is->n_evals].end = start + c->saved[!first].from;
	is->evals[is->n_evals++].saved[kept[first]] = (int16_t)c->saved[first].slot;
	is->evals[0].start = start + c->saved[!first].from;
	for (size_t i = 0; i + 1 < is->n_evals; i++) {
		is->evals[i].saved[kept[0]] = (int16_t)c->saved[0].slot;
		is->evals[i].saved[kept[1]] = (int16_t)c->saved[1].slot;
	}
	return true;
}

static bool read_code(struct code *c, struct runtime_interpreter *is)
{
	const size_t body = read_beginning(c);

	if (!body || !find_left(c, &is->facts) || !find_stale(c, &is->facts))
		return false;
	is->facts.php.body_from = (uint16_t)body;
	is->facts.frame_register = (uint8_t)insn_dwarf_number(c->frame);
	is->facts.instruction_register = (uint8_t)insn_dwarf_number(c->instruction);
	return divide(c, is);
}

bool php_code_read(const struct elf_file *file, struct runtime_interpreter *is)
{
	struct code c = {.size = is->evals[0].end - is->evals[0].start};
	uint8_t *bytes = c.size <= UINT16_MAX ? malloc(c.size) : NULL;
	bool is_read = false;

	if (bytes && elf_file_read_whole(file, is->evals[0].start, bytes, c.size)) {
		insn_decoder_init(&c.decoder);
		c.bytes = bytes;
		is_read = read_code(&c, is);
	}
	free(bytes);
	return is_read;
}
