/* SPDX-License-Identifier: MIT */
/* Follows the hints of a path, and reads the entries of a table; see jump_table.h. */
#include "analysis/jump_table.h"

#include <string.h>

/* Both were chosen by hand, so that the tables of libraries such as dav1d and of large switches are
 * followed; bench/analysis.py shows the effect of changes. */
#define MAX_UNUSED 8 /* limit of the entries of a table before the first that is used */
/* limit of the instructions between a test of a bound and the jump that it guards */
#define MAX_AGE 48

enum hint_kind {
	HINT_NONE,
	HINT_ADDRESS,
	HINT_INSIDE, /* an address inside of a table */
	HINT_ENTRY,
	HINT_TARGET,
};

void jump_hints_init(struct jump_hints *ret_hints)
{
	memset(ret_hints, 0, sizeof(*ret_hints));
	ret_hints->compared = ret_hints->bound = -1;
}

static void forget(struct jump_hints *h, uint32_t registers)
{
	for (unsigned r = 0; registers && h->has_any; r++, registers >>= 1) {
		if (registers & 1)
			h->reg[r].kind = HINT_NONE;
	}
}

/* Returns the register with the address of the table from which an instruction loads an entry. */
static unsigned table_register(const struct jump_hints *h, const struct insn *i)
{
	bool is_other = i->addend < INSN_REG_COUNT && h->reg[i->addend].kind == HINT_ADDRESS;

	return is_other ? i->addend : i->src;
}

bool jump_hints_address(const struct jump_hints *h, const struct insn *i, uint64_t *ret_address)
{
	uint64_t base = 0;
	unsigned reg = i->idiom == INSN_ENTRY ? table_register(h, i) : INSN_NO_REG;

	if (i->idiom != INSN_ENTRY)
		return false;
	if (reg < INSN_REG_COUNT) {
		if (h->reg[reg].kind != HINT_ADDRESS)
			return false;
		base = h->reg[reg].address;
	}
	*ret_address = base + (uint64_t)(int64_t)i->disp;
	return true;
}

static struct jump_hint after_entry(const struct jump_hints *h, const struct insn *i)
{
	struct jump_hint hint = {.entry = i->entry, .is_unsigned = i->is_unsigned, .bound = -1};

	if (h->bounded_in & (i->used | JUMP_HINTS_MEMORY) && h->bound_age <= MAX_AGE)
		hint.bound = h->bound;

	if (jump_hints_address(h, i, &hint.address))
		hint.kind = i->entry == 8 ? HINT_TARGET : HINT_ENTRY;
	else if (i->entry == 4 && i->src < INSN_REG_COUNT && h->reg[i->src].kind == HINT_INSIDE)
		hint = (struct jump_hint){.kind = HINT_ENTRY,
					  .entry = i->entry,
					  .is_unsigned = i->is_unsigned,
					  .is_inside = true,
					  .bound = -1,
					  .address = h->reg[i->src].address};
	return hint;
}

static struct jump_hint after_sum(const struct jump_hint *a, const struct jump_hint *b)
{
	struct jump_hint hint = {0};

	if (a->kind == HINT_ADDRESS && b->kind == HINT_ENTRY)
		return after_sum(b, a);
	if (a->kind == HINT_ENTRY && b->kind == HINT_ADDRESS) {
		hint = *a;
		hint.kind = HINT_TARGET;
		hint.base = b->address;
	}
	return hint;
}

static struct jump_hint after_index(const struct jump_hint *from)
{
	struct jump_hint hint = {0};

	if (from->kind == HINT_ADDRESS || from->kind == HINT_INSIDE)
		hint = (struct jump_hint){.kind = HINT_INSIDE, .address = from->address};
	return hint;
}

static struct jump_hint after_extension(const struct jump_hint *from)
{
	struct jump_hint hint = {0};

	if (from->kind == HINT_ENTRY && from->entry == 4) {
		hint = *from;
		hint.is_unsigned = false;
	}
	return hint;
}

static void apply_idiom(struct jump_hints *h, const struct insn *i, struct jump_hint *hint)
{
	switch (i->idiom) {
	case INSN_ADDRESS:
		*hint = (struct jump_hint){.kind = HINT_ADDRESS, .address = i->target};
		break;
	case INSN_ENTRY:
		*hint = after_entry(h, i);
		break;
	case INSN_EXTENDED:
		*hint = after_extension(&h->reg[i->src % INSN_REG_COUNT]);
		break;
	case INSN_SUM:
		*hint = after_sum(&h->reg[i->addend % INSN_REG_COUNT],
				  &h->reg[i->src % INSN_REG_COUNT]);
		hint->base += (uint64_t)(int64_t)i->disp;
		break;
	case INSN_INDEXED:
		*hint = after_index(&h->reg[i->src % INSN_REG_COUNT]);
		break;
	case INSN_BOUND:
		h->compared = (int32_t)i->number;
		h->compared_in = i->src < INSN_REG_COUNT ? 1u << i->src : JUMP_HINTS_MEMORY;
		break;
	case INSN_BOUND_TEST:
		h->bound = h->compared - (int32_t)i->number;
		h->bounded_in = h->compared_in;
		h->bound_age = 0;
		break;
	case INSN_COMPARISON:
	case INSN_STACK_BOUND:
		h->compared = -1;
		break;
	default:
		break;
	}
}

/* Returns the registers that an instruction writes. */
static uint32_t written_by(const struct insn *i)
{
	if (i->flow == INSN_CALL || i->flow == INSN_CALL_INDIRECT)
		return INSN_VOLATILE;
	return i->written;
}

/* Updates the set of registers that hold a compared number, or are computed from it. */
static void move_number(uint32_t *in, const struct insn *i)
{
	uint32_t written = written_by(i);

	if (*in & i->used)
		*in |= written;
	else
		*in &= ~written;
}

void jump_hints_apply(struct jump_hints *h, const struct insn *i)
{
	struct jump_hint hint = {0};

	apply_idiom(h, i, &hint);
	move_number(&h->compared_in, i);
	move_number(&h->bounded_in, i);
	h->bound_age++;
	if (i->op == INSN_COPY && i->src < INSN_REG_COUNT &&
	    (!i->disp || h->reg[i->src].kind == HINT_ADDRESS)) {
		hint = h->reg[i->src];
		hint.address += (uint64_t)(int64_t)i->disp;
	}
	forget(h, written_by(i));
	if (hint.kind == HINT_NONE || i->dst >= INSN_REG_COUNT)
		return;
	h->reg[i->dst] = hint;
	h->has_any = true;
}

void jump_hints_end(struct jump_hints *h)
{
	for (unsigned r = 0; r < INSN_REG_COUNT && h->has_any; r++) {
		if (h->reg[r].kind == HINT_ENTRY || h->reg[r].kind == HINT_TARGET)
			h->reg[r].kind = HINT_NONE;
	}
}

bool jump_hints_known(const struct jump_hints *h, unsigned reg, uint64_t *ret_address)
{
	if (h->reg[reg].kind != HINT_ADDRESS)
		return false;
	*ret_address = h->reg[reg].address;
	return true;
}

bool jump_hints_target(const struct jump_hints *h, const struct insn *i, uint64_t *ret_target)
{
	return i->idiom == INSN_NO_IDIOM && i->src < INSN_REG_COUNT &&
	       jump_hints_known(h, i->src, ret_target);
}

bool jump_hints_table(const struct jump_hints *h, const struct insn *i,
		      struct jump_table *ret_table)
{
	struct jump_hint hint = {0};

	if (i->idiom == INSN_ENTRY)
		hint = after_entry(h, i);
	else if (i->src < INSN_REG_COUNT)
		hint = h->reg[i->src];
	if (hint.kind != HINT_TARGET)
		return false;
	*ret_table = (struct jump_table){
		.address = hint.address,
		.base = hint.base,
		.entry = hint.entry,
		.is_unsigned = hint.is_unsigned,
		.bound = hint.bound,
		.is_inside = hint.is_inside,
	};
	return true;
}

bool jump_table_is_unused(const struct jump_table *t, size_t k, uint64_t target, bool leads_on)
{
	return (!k && target == t->base) || (k < MAX_UNUSED && t->bound < 0 && !leads_on);
}

/* --- entries ------------------------------------------------------------------------------- */

static uint64_t read_entry(const struct jump_table *t, const uint8_t *at)
{
	uint64_t word = 0;
	unsigned unused = 64 - 8 * t->entry;

	memcpy(&word, at, t->entry);
	if (t->is_unsigned || !unused)
		return word;
	return (uint64_t)((int64_t)(word << unused) >> unused);
}

static uint64_t entries_before(const struct jump_table *t, uint64_t end)
{
	return end > t->address ? (end - t->address) / t->entry : JUMP_TABLE_MAX_ENTRIES;
}

size_t jump_table_end(const struct jump_table *t, uint64_t end, size_t count, size_t unused)
{
	uint64_t its = entries_before(t, end);

	if (t->bound < 0 && its < JUMP_TABLE_MAX_ENTRIES)
		its += unused;
	return its < count ? its : count;
}

size_t jump_table_read(const struct jump_table *t, const struct elf_file *elf, uint64_t end,
		       uint64_t *ret_targets)
{
	uint8_t bytes[JUMP_TABLE_MAX_ENTRIES * 8];
	uint64_t count = t->bound < 0 ? JUMP_TABLE_UNBOUNDED : JUMP_TABLE_MAX_ENTRIES;
	uint64_t more = t->bound < 0 ? MAX_UNUSED : 0, offset;
	int64_t got;

	if (t->bound >= 0 && (uint64_t)t->bound < count)
		count = (uint64_t)t->bound + 1;
	if (entries_before(t, end) + more < count)
		count = entries_before(t, end) + more;
	if (!elf_file_vaddr_to_offset(elf, t->address, &offset))
		return 0;
	got = elf_file_read(elf, offset, bytes, count * t->entry);
	if (got < 0)
		return 0;
	count = (uint64_t)got / t->entry;
	for (uint64_t k = 0; k < count; k++)
		ret_targets[k] = t->base + read_entry(t, bytes + k * t->entry);
	return count;
}
