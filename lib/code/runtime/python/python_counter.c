/* SPDX-License-Identifier: MIT */
/*
 * From 3.12 on, a new code object gets a version from a counter:
 *
 *   version = COUNTER         a variable of the file (3.12), or of the interpreter (3.13)
 *   code->co_version = version   a field whose offset is known
 *   if (version)
 *           COUNTER = version + 1
 *
 * No symbol of a stripped file has the counter, and releases move it. But no other code loads a
 * value from memory, stores it to that field, and stores to the same memory right behind.
 */
#include "runtime/python/python_counter.h"

#include <stdlib.h>

#include "arch/data_insn.h"
#include "cfi/eh_frame_hdr.h"

#define MAX_BYTES     16384 /* of a function */
#define MAX_FUNCTIONS 64
#define MAX_DEPTH     3	 /* calls from the first function */
#define BEHIND	      10 /* instructions between the two stores */
#define MAX_OFFSET    (1 << 22)

struct search {
	const struct elf_file *file;
	const struct eh_frame_hdr *entries;
	struct insn_decoder decoder;
	int64_t version; /* offset in a code object */
	uint64_t functions[MAX_FUNCTIONS];
	uint8_t depths[MAX_FUNCTIONS];
	size_t n;
};

/* What is known of a register. */
struct value {
	struct data_operand loaded; /* DATA_NO_OPERAND: it was not loaded from memory */
	uint64_t address;	    /* 0: it is no address of the file's */
};

struct values {
	struct value of[INSN_REG_COUNT];
	struct data_operand counter; /* whose value was stored as a version */
	unsigned left;		     /* instructions in which it may be stored to */
};

/* Returns the operand, by its address if that is known. */
static struct data_operand resolved(const struct values *v, const struct data_operand *o)
{
	struct data_operand is = *o;

	if (o->kind == DATA_BASED && v->of[o->reg].address) {
		is.kind = DATA_FIXED;
		is.number = (int64_t)(v->of[o->reg].address + (uint64_t)o->number);
		is.reg = INSN_NO_REG;
	}
	return is;
}

static bool is_memory(const struct data_operand *o)
{
	return o->kind == DATA_FIXED || (o->kind == DATA_BASED && o->reg != INSN_SP);
}

static bool are_equal(const struct data_operand *a, const struct data_operand *b)
{
	return a->kind == b->kind && a->reg == b->reg && a->number == b->number;
}

/* Returns whether a store is to the counter. */
static bool take_store(const struct search *s, struct values *v, const struct data_insn *insn)
{
	const struct data_operand *from = &insn->operands[1];
	struct data_operand to = resolved(v, &insn->operands[0]);

	if (v->left && are_equal(&to, &v->counter))
		return true;
	if (to.kind == DATA_BASED && to.number == s->version && from->kind == DATA_REGISTER &&
	    from->reg != INSN_NO_REG && is_memory(&v->of[from->reg].loaded)) {
		v->counter = v->of[from->reg].loaded;
		v->left = BEHIND;
	}
	return false;
}

/* Notes what the registers have after an instruction. */
static void take_values(struct values *v, const struct data_insn *insn)
{
	const struct data_operand *to = &insn->operands[0];
	struct data_operand from = resolved(v, &insn->operands[1]);

	for (unsigned r = 0; r < INSN_REG_COUNT; r++) {
		if (insn->written & 1u << r || insn->operation == DATA_CALL)
			v->of[r] = (struct value){0};
	}
	if (insn->count != 2 || to->kind != DATA_REGISTER || to->reg == INSN_NO_REG)
		return;
	if (insn->operation == DATA_ADDRESS && from.kind == DATA_FIXED)
		v->of[to->reg].address = (uint64_t)from.number;
	else if (insn->operation == DATA_MOVE && is_memory(&from))
		v->of[to->reg].loaded = from;
}

static void add_function(struct search *s, uint64_t vaddr, unsigned depth)
{
	if (depth > MAX_DEPTH || s->n == MAX_FUNCTIONS)
		return;
	for (size_t i = 0; i < s->n; i++) {
		if (s->functions[i] == vaddr)
			return;
	}
	s->depths[s->n] = (uint8_t)depth;
	s->functions[s->n++] = vaddr;
}

/* Returns whether the code of a function has the counter, which is then in *ret_counter. */
static bool search_code(struct search *s, const uint8_t *code, size_t size, uint64_t vaddr,
			unsigned depth, struct data_operand *ret_counter)
{
	struct values v = {0};
	struct data_insn insn;

	for (size_t at = 0; at < size; at += insn.length) {
		if (!data_insn_decode(&s->decoder, code + at, size - at, vaddr + at, &insn) ||
		    !insn.length)
			return false;
		if (insn.operation == DATA_CALL && insn.operands[0].kind == DATA_NUMBER)
			add_function(s,
				     vaddr + at + insn.length + (uint64_t)insn.operands[0].number,
				     depth + 1);
		if (insn.operation == DATA_MOVE && insn.count == 2 &&
		    is_memory(&insn.operands[0]) && take_store(s, &v, &insn)) {
			*ret_counter = v.counter;
			return true;
		}
		take_values(&v, &insn);
		v.left -= v.left != 0;
	}
	return false;
}

/* Reads the code of the function that begins at `vaddr`. Returns its size; 0: there is none. */
static size_t read_function(const struct search *s, uint64_t vaddr, uint8_t *ret_code)
{
	struct eh_frame_hdr_row row;
	size_t rank = eh_frame_hdr_rank(s->entries, vaddr);
	uint64_t offset;
	size_t size;

	if (!rank || !eh_frame_hdr_row(s->entries, rank - 1, &row) || row.start != vaddr ||
	    !elf_file_vaddr_to_offset(s->file, vaddr, &offset))
		return 0;
	size = eh_frame_hdr_code_bytes(s->entries, &row);
	return size <= MAX_BYTES && elf_file_read_whole(s->file, offset, ret_code, size) ? size : 0;
}

static bool search_functions(struct search *s, struct data_operand *ret_counter)
{
	uint8_t *code = malloc(MAX_BYTES);
	bool is_found = false;

	for (size_t i = 0; code && i < s->n && !is_found; i++) {
		size_t size = read_function(s, s->functions[i], code);

		is_found = size &&
			   search_code(s, code, size, s->functions[i], s->depths[i], ret_counter);
	}
	free(code);
	return is_found;
}

void python_counter_find(const struct elf_file *file, uint64_t vaddr, uint64_t code_zero,
			 struct runtime_interpreter *interpreter)
{
	struct search search = {.file = file, .version = interpreter->facts.code_version};
	struct stackd_interpreter *facts = &interpreter->facts;
	struct eh_frame_hdr *entries = NULL;
	struct data_operand counter = {0};

	if (!search.version || eh_frame_hdr_new(file, &entries))
		return;
	search.entries = entries;
	insn_decoder_init(&search.decoder);
	add_function(&search, vaddr, 0);
	if (search_functions(&search, &counter)) {
		if (counter.kind == DATA_FIXED) {
			facts->counter_kind = STACKD_VERSIONS_OF_FILE;
			facts->counter = (int64_t)((uint64_t)counter.number - code_zero);
		} else if (counter.number > 0 && counter.number < MAX_OFFSET) {
			facts->counter_kind = STACKD_VERSIONS_OF_INTERPRETER;
			facts->counter = counter.number;
		}
	}
	eh_frame_hdr_free(entries);
}
