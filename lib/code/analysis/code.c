/* SPDX-License-Identifier: MIT */
/* Finds areas by number and by address, and makes the first pass; see code.h. */
#include "analysis/code.h"

#include <errno.h>
#include <string.h>

#include "analysis/jump_table.h"
#include "arch/code_form.h"

/* bytes of the instructions before a function's frame; chosen by hand (V8's are 14) */
#define FRAMED_WITHIN 24

#define SANE_INSNS 32 /* instructions that code_is_sane() looks at; chosen by hand */

/* --- bytes --------------------------------------------------------------------------------- */

const struct code_area *code_area_of(const struct code *c, uint32_t at)
{
	size_t low = 0, high = c->area_count;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (c->areas[middle].first <= at)
			low = middle;
		else
			high = middle;
	}
	return &c->areas[low];
}

uint32_t code_find(const struct code *c, uint64_t vaddr)
{
	size_t low = 0, high = c->area_count;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (c->areas[middle].vaddr <= vaddr)
			low = middle;
		else
			high = middle;
	}
	if (low == high || vaddr < c->areas[low].vaddr ||
	    vaddr - c->areas[low].vaddr >= c->areas[low].size)
		return CODE_NONE;
	return c->areas[low].first + (uint32_t)(vaddr - c->areas[low].vaddr);
}

bool code_decode(const struct code *c, const struct code_area *area, uint32_t at, struct insn *i)
{
	uint64_t from = at - area->first, left = area->size - from;

	if (left >= 2 && !area->bytes[from] && !area->bytes[from + 1])
		return false;
	return insn_decode_within(&c->decoder, area->bytes, area->size, from, area->vaddr + from,
				  i);
}

void code_mark(struct code *c, uint64_t vaddr, enum code_mark mark)
{
	uint32_t at = code_find(c, vaddr);

	if (at != CODE_NONE)
		c->marks[at] |= (uint8_t)mark;
}

uint32_t code_padding_bytes(const struct code *c, const struct code_area *area, uint32_t at)
{
	struct insn i;

	if (!area->bytes[at - area->first])
		return 1;
	return code_decode(c, area, at, &i) && i.is_padding ? i.length : 0;
}

void code_mark_pointed(struct code *c, uint64_t vaddr)
{
	uint32_t at = code_find(c, vaddr);

	if (at != CODE_NONE && c->marks[at] & CODE_SWEPT && !code_is_case(c, at))
		c->marks[at] |= CODE_POINTED;
}

/* Returns whether a function begins at an aligned byte that follows padding or a call. */
static bool begins(const struct code *c, const struct code_area *area, uint32_t at)
{
	uint8_t marks = c->marks[at];
	struct insn i;

	if (marks & (CODE_PINNED | CODE_POINTED))
		return true;
	if (!code_decode(c, area, at, &i))
		return !(marks & CODE_LEADER);
	return insn_saves_register(&i) || (!(marks & CODE_LEADER) && !insn_ends_frame(&i));
}

/* Returns whether two instructions in a row save callee-saved registers. Pushes of a call's
 * arguments seldom look like that. */
static bool saves_registers(const struct code *c, const struct code_area *area, uint32_t at)
{
	struct insn first, second;

	return code_decode(c, area, at, &first) && insn_saves_register(&first) &&
	       at + first.length < code_end(area) &&
	       code_decode(c, area, at + first.length, &second) && insn_saves_register(&second);
}

bool code_saves_register(const struct code *c, uint32_t at)
{
	const struct code_area *area = code_area_of(c, at);
	struct insn i;

	if (!code_decode(c, area, at, &i))
		return false;
	at += i.length;
	if (i.is_endbr && (at >= code_end(area) || !code_decode(c, area, at, &i)))
		return false;
	return insn_saves_register(&i);
}

bool code_ends_at(const struct code *c, const struct code_area *area, uint32_t at)
{
	uint32_t end = code_end(area), from = at;

	if (at < end && c->marks[at] & (CODE_PINNED | CODE_ENDBR))
		return true;
	while (at < end && at - from < CODE_FUNCTION_ALIGN &&
	       (!(c->marks[at] & CODE_LEADER) || at == from)) {
		uint32_t padding = code_padding_bytes(c, area, at);

		if (!padding)
			break;
		at += padding;
	}
	if (at >= end || code_vaddr(area, at) % CODE_FUNCTION_ALIGN)
		return false;
	return at > from ? begins(c, area, at)
			 : c->marks[at] & CODE_POINTED || saves_registers(c, area, at);
}

bool code_is_sane(const struct code *c, uint32_t at)
{
	const struct code_area *area = code_area_of(c, at);
	struct insn i;

	for (int n = 0; n < SANE_INSNS && at < code_end(area); n++) {
		if (!code_decode(c, area, at, &i) || i.flow == INSN_STOP)
			return false;
		if (i.flow == INSN_RETURN || i.flow == INSN_JUMP || i.flow == INSN_JUMP_INDIRECT)
			return true;
		at += i.length;
	}
	return true;
}

/* Returns whether the code at a byte sets up a frame with a frame pointer, at once or after a few
 * instructions that leave the stack alone. */
static bool makes_frame(const struct code *c, const struct code_area *area, uint32_t at)
{
	const uint8_t *bytes = area->bytes + (at - area->first);
	uint32_t left = code_end(area) - at, push = 0;
	struct insn i;

	while (push < FRAMED_WITHIN && push < left &&
	       !code_form_makes_frame(bytes + push, left - push))
		push++;
	if (push == FRAMED_WITHIN || push == left)
		return false;
	for (uint32_t b = 0; b < push; b += i.length) {
		if (!code_decode(c, area, at + b, &i) || i.is_padding || b + i.length > push ||
		    (i.flow != INSN_NEXT && i.flow != INSN_BRANCH) || i.op == INSN_PUSH ||
		    i.op == INSN_POP || i.op == INSN_LEAVE || i.op == INSN_ALIGN ||
		    i.written & (1u << INSN_SP | 1u << INSN_FP))
			return false;
	}
	return true;
}

bool code_begins_framed(const struct code *c, const struct code_area *area, uint32_t at)
{
	return c->has_data && !(code_vaddr(area, at) % CODE_FUNCTION_ALIGN) &&
	       makes_frame(c, area, at);
}

/* Returns the distance to a function that begins at a byte, or within the `length` bytes of the
 * instruction as which data before the function decodes; `length`: none does. */
static uint32_t bytes_to_function(const struct code *c, const struct code_area *area, uint32_t at,
				  uint32_t length)
{
	uint32_t gap = (uint32_t)(-code_vaddr(area, at) & (CODE_FUNCTION_ALIGN - 1));

	return gap < length && at + gap < code_end(area) && code_begins_framed(c, area, at + gap)
		       ? gap
		       : length;
}

bool code_can_go_on(const struct code *c, const struct code_area *area, uint32_t at)
{
	bool is_after_call = true;
	struct insn i;

	for (int n = 0; n < SANE_INSNS && at < code_end(area); n++, at += i.length) {
		if (!code_decode(c, area, at, &i) ||
		    bytes_to_function(c, area, at, i.length) < i.length)
			return false;
		if (i.flow == INSN_STOP)
			return is_after_call;
		if (i.flow == INSN_RETURN || i.flow == INSN_JUMP || i.flow == INSN_JUMP_INDIRECT)
			return true;
		if (!i.is_padding)
			is_after_call = i.flow == INSN_CALL || i.flow == INSN_CALL_INDIRECT;
	}
	return true;
}

/* --- the first pass ------------------------------------------------------------------------ */

struct sweep {
	struct code *code;
	const struct code_area *area;
	struct jump_hints hints;
	bool is_absolute; /* the file's code is at its vaddr, so a number can be an address */
	bool is_end;	  /* no path runs from the instruction before into the next one, which is
			   * only reached by jumps */
	bool is_padding;  /* such an end, or padding, is right before */
	bool is_after_call;
	bool is_behind_call; /* a call is before, perhaps with padding after it */
	bool is_first;	     /* only padding precedes it in an area into which no code runs */
};

static int note_data(struct code *c, uint64_t vaddr)
{
	if (VEC_RESERVE(&c->data, 1))
		return -ENOMEM;
	c->data.items[c->data.count++] = vaddr;
	return 0;
}

/* Marks the targets of an instruction. */
static int mark_targets(struct sweep *s, const struct insn *i)
{
	struct code *c = s->code;
	uint64_t table;

	if (i->flow == INSN_JUMP || i->flow == INSN_BRANCH)
		code_mark(c, i->target, CODE_LEADER);
	else if (i->flow == INSN_CALL)
		code_mark(c, i->target, CODE_CALLED);
	if (jump_hints_address(&s->hints, i, &table))
		return note_data(c, table);
	if (i->idiom != INSN_ADDRESS || (i->is_number && !s->is_absolute))
		return 0;
	if (code_find(c, i->target) == CODE_NONE)
		return i->is_number ? 0 : note_data(c, i->target);
	code_mark(c, i->target, CODE_POINTED);
	return 0;
}

bool code_is_eh_return(const struct code_area *area, uint32_t at)
{
	return code_form_is_eh_return(area->bytes, at - area->first, area->size);
}

/* Sets the marks of an instruction that follow from itself and the instructions before it. */
static void mark_itself(struct sweep *s, const struct insn *i, uint32_t at)
{
	bool is_aligned = !(code_vaddr(s->area, at) % CODE_FUNCTION_ALIGN);
	uint8_t *mark = &s->code->marks[at];

	*mark |= CODE_SWEPT;
	if (i->is_endbr && (!s->is_after_call || is_aligned))
		*mark |= CODE_ENDBR;
	if (s->is_end && s->is_padding && !i->is_padding &&
	    (is_aligned || s->is_first ||
	     code_form_makes_frame(s->area->bytes + (at - s->area->first),
				   s->area->size - (at - s->area->first)) ||
	     saves_registers(s->code, s->area, at)))
		*mark |= CODE_PADDED;
	/* The call before it perhaps does not return, so that only jumps lead here. Without padding
	 * in between, a function begins here only if the instruction saves a register. */
	if (s->is_behind_call && is_aligned && insn_saves_register(i))
		*mark |= CODE_PADDED;
	else if (s->is_behind_call && s->is_padding && is_aligned && !insn_ends_frame(i))
		*mark |= CODE_BEHIND_CALL;
}

static void step(struct sweep *s, const struct insn *i)
{
	s->is_padding = i->is_padding || i->flow == INSN_RETURN || i->flow == INSN_JUMP ||
			i->flow == INSN_STOP ||
			(i->flow == INSN_JUMP_INDIRECT && i->idiom == INSN_SLOT);
	s->is_first &= i->is_padding;
	if (!i->is_padding)
		s->is_behind_call = i->flow == INSN_CALL || i->flow == INSN_CALL_INDIRECT;
	if (!i->is_padding)
		s->is_end = i->flow == INSN_RETURN || i->flow == INSN_JUMP ||
			    i->flow == INSN_JUMP_INDIRECT || i->flow == INSN_STOP;
	s->is_after_call = i->flow == INSN_CALL || i->flow == INSN_CALL_INDIRECT;
}

static int note_call_table(struct code *c, const struct jump_table *table)
{
	if (table->entry != 4)
		return 0;
	if (VEC_RESERVE(&c->callees, 1))
		return -ENOMEM;
	c->callees.items[c->callees.count++] = *table;
	return 0;
}

/* Notes the table of an indirect jump or call, if the instructions before determine it. */
static int note_table(struct sweep *s, const struct insn *i)
{
	struct jump_table table;

	if ((i->flow != INSN_JUMP_INDIRECT && i->flow != INSN_CALL_INDIRECT) ||
	    !jump_hints_table(&s->hints, i, &table))
		return 0;
	if (i->flow == INSN_CALL_INDIRECT)
		return note_call_table(s->code, &table);
	if (table.is_inside)
		return 0;
	if (VEC_RESERVE(&s->code->tables, 1))
		return -ENOMEM;
	s->code->tables.items[s->code->tables.count++] = table;
	return 0;
}

/* Returns whether a byte is one of the zeroes with which some linkers pad up to the next function:
 * they follow the end of a path, or a call, which then does not return. */
static bool is_zero_padding(const struct sweep *s, uint32_t at)
{
	const struct code_area *area = s->area;
	struct insn i;

	if (area->bytes[at - area->first])
		return false;
	if (s->is_end || !s->is_after_call)
		return s->is_end;
	while (at < code_end(area) && code_vaddr(area, at) % CODE_FUNCTION_ALIGN)
		if (area->bytes[at++ - area->first])
			return false;
	return at < code_end(area) && code_decode(s->code, area, at, &i) && insn_saves_register(&i);
}

bool code_never_returns(const struct code *c, const struct code_area *area, uint32_t at,
			const struct insn *call)
{
	const uint8_t *bytes = area->bytes + (at - area->first);

	for (unsigned k = 0; k < c->ending_count && call->flow == INSN_CALL_INDIRECT; k++) {
		if (c->ending[k].length == call->length &&
		    !memcmp(c->ending[k].bytes, bytes, call->length))
			return true;
	}
	return false;
}

/* Notes a call of an address in memory that follows the same instruction. */
static void note_ending(struct code *c, const struct code_area *area, uint32_t at,
			const struct insn *call)
{
	const uint8_t *bytes = area->bytes + (at - area->first);
	const unsigned n = call->length;

	if (call->flow != INSN_CALL_INDIRECT || call->src < INSN_NO_REG ||
	    c->ending_count == CODE_ENDING_CALLS || n > CODE_CALL_BYTES || at - area->first < n ||
	    memcmp(bytes - n, bytes, n) != 0 || code_never_returns(c, area, at, call))
		return;
	c->ending[c->ending_count].length = call->length;
	memcpy(c->ending[c->ending_count++].bytes, bytes, n);
}

static int sweep(struct code *c, const struct code_area *area)
{
	struct sweep s = {.code = c,
			  .area = area,
			  .is_absolute = !elf_file_is_position_independent(c->elf),
			  .is_end = true,
			  .is_padding = true,
			  .is_first = area->is_first};
	struct insn i;
	uint32_t gap;
	int err = 0;

	jump_hints_init(&s.hints);
	for (uint32_t at = area->first; at < code_end(area) && !err; at += i.length) {
		if (is_zero_padding(&s, at) || !code_decode(c, area, at, &i)) {
			i.length = 1;
			s.is_end = s.is_padding = true;
			continue;
		}
		gap = bytes_to_function(c, area, at, i.length);
		if (gap < i.length)
			s.is_end = s.is_padding = true;
		if (gap && gap < i.length) {
			i.length = (uint8_t)gap;
			continue;
		}
		if (code_must_stop(c))
			return -ECANCELED;
		mark_itself(&s, &i, at);
		if (c->has_data && s.is_after_call)
			note_ending(c, area, at, &i);
		err = mark_targets(&s, &i);
		if (!err)
			err = note_table(&s, &i);
		step(&s, &i);
		jump_hints_apply(&s.hints, &i);
		if (s.is_end)
			jump_hints_end(&s.hints);
	}
	return err;
}

/* --- the whole analysis ------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Returns whether a table's targets are functions, so that the jump is a tail call. They are if one
 * of them first saves a register, as no other part of a function does. */
static bool leads_to_functions(const struct code *c, const struct jump_table *table,
			       const uint64_t *targets, size_t count)
{
	for (size_t k = 0; k < count && table->entry == 8; k++) {
		uint32_t at = code_find(c, targets[k]);

		if (at == CODE_NONE || !(c->marks[at] & CODE_SWEPT))
			return false;
		if (code_saves_register(c, at))
			return true;
	}
	return false;
}

/* Notes the targets of jump tables (c->cases), at most as many as there are bytes of code. */
static int note_cases(struct code *c)
{
	uint64_t targets[JUMP_TABLE_MAX_ENTRIES];
	uint32_t left = c->size, unused;

	for (size_t i = 0; i < c->tables.count; i++) {
		const struct jump_table *table = &c->tables.items[i];
		uint64_t end = code_data_end(c, table->address);
		size_t count = jump_table_read(table, c->elf, end, targets);

		count = jump_table_end(table, end, count, 0);
		if (leads_to_functions(c, table, targets, count))
			continue;
		for (size_t k = 0; k < count && left; k++, left--) {
			uint32_t at = code_find(c, targets[k]);

			if (at == CODE_NONE || !(c->marks[at] & CODE_SWEPT))
				break;
			if (int_map_enter(&c->cases, at, 1, &unused))
				return -ENOMEM;
		}
	}
	return 0;
}

/* Marks the targets of call tables. Such functions of assembly code are not aligned, and follow the
 * ends of other functions. */
static void mark_callees(struct code *c)
{
	uint64_t targets[JUMP_TABLE_MAX_ENTRIES];
	uint32_t left = c->size;

	for (size_t i = 0; i < c->callees.count; i++) {
		const struct jump_table *table = &c->callees.items[i];
		uint64_t end = code_data_end(c, table->address);
		size_t count = jump_table_read(table, c->elf, end, targets);

		count = jump_table_end(table, end, count, 0);
		for (size_t k = 0; k < count && left; k++, left--) {
			uint32_t at = code_find(c, targets[k]);

			if (at == CODE_NONE || !(c->marks[at] & CODE_SWEPT) || !code_is_sane(c, at))
				break;
			c->marks[at] |= CODE_CALLED;
		}
	}
}

bool code_is_case(const struct code *c, uint32_t at)
{
	return int_map_find(&c->cases, at) != INT_MAP_NONE && !(c->marks[at] & CODE_CALLED);
}

int code_init(struct code *c, const struct elf_file *elf, const struct code_area *areas,
	      size_t count, bool has_data, const struct analysis_stop *stop)
{
	int err = 0;

	*c = (struct code){.elf = elf,
			   .areas = areas,
			   .area_count = count,
			   .has_data = has_data,
			   .stop = *stop};
	c->until_stop = CODE_STOP_EVERY;
	for (size_t i = 0; i < count; i++)
		c->size += (uint32_t)areas[i].size;
	c->marks = calloc(c->size + 1, 1);
	if (!c->marks)
		return -ENOMEM;
	insn_decoder_init(&c->decoder);
	for (size_t i = 0; i < count && !err; i++)
		err = sweep(c, &areas[i]);
	if (c->data.count)
		qsort(c->data.items, c->data.count, sizeof(*c->data.items), compare);
	if (!err)
		mark_callees(c);
	return err ? err : note_cases(c);
}

void code_fini(struct code *c)
{
	free(c->marks);
	free(c->data.items);
	free(c->tables.items);
	free(c->callees.items);
	int_map_fini(&c->cases);
	memset(c, 0, sizeof(*c));
}

uint64_t code_data_end(const struct code *c, uint64_t vaddr)
{
	size_t low = 0, high = c->data.count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (c->data.items[middle] <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	return low < c->data.count ? c->data.items[low] : UINT64_MAX;
}
