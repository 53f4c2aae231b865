/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: call frame sections into recipes, and into the index and the rules of the daemon's
 * walk.
 *
 *   input := u64 section vaddr, u64 load vaddr, offset, size        little-endian
 *            u8 flags: 1 .eh_frame, 2 split in two sections         the second is of the other kind
 *            the section's bytes
 *
 * Beyond memory errors, it checks what a table promises: sorted rows in sound chunks, and look-ups
 * that find what the rows say; and that a walk's rule is the table's. Each rule makes a step.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "cfi/cfi_index.h"
#include "fuzz_table.h"
#include "unwind/walk_rule.h"
#include "unwind/walk_step.h"

#define HEADER_BYTES 33
#define MAX_ASKED    200 /* entries of an input */
#define STACK	     UINT64_C(0x7000)

struct fuzz {
	struct recipe_load load;
	struct recipe_table *table;
	bool is_plain; /* no address has more than one entry, and the table has every entry */
};

static uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

/* Copies the input into memory of exactly its size, so that a byte too many is seen. */
static struct cfi_sections make_sections(const uint8_t *data, size_t size)
{
	uint8_t flags = data[32];
	size_t first;
	struct cfi_sections sections = {.count = 2};

	size -= HEADER_BYTES;
	first = flags & 2 ? size / 2 : size;
	for (int i = 0; i < 2; i++) {
		size_t len = i ? size - first : first;

		sections.bytes[i] = malloc(len);
		if (len)
			memcpy(sections.bytes[i], data + HEADER_BYTES + (i ? first : 0), len);
		sections.items[i] = (struct cfi_section){
			.data = sections.bytes[i],
			.size = len,
			.vaddr = get64(data),
			.is_eh_frame = (flags & 1) != i,
		};
	}
	return sections;
}

static void check_step(const struct walk_rule *rule)
{
	static uint64_t stack[64];
	struct stack_walk s = {
		.walk.valid = WALK_KNOWN_ALL,
		.memory = {(uint8_t *)stack, STACK, sizeof(stack), false, 0, 0, NULL, 0, 0}};
	enum stackd_end_reason end = WALK_GO_ON;

	for (size_t i = 0; i < 64; i++)
		stack[i] = STACK + i * 40 % sizeof(stack);
	for (uint64_t i = 0; i < WALK_REGS; i++)
		s.walk.r[i] = STACK + 16 * i;
	s.walk.r[STACKD_REG_SP] = STACK;
	if (rule->fast.cfa != STACKD_CFA_NONE)
		end = walk_step_by_rule(&s, rule);
	fuzz_check(end == WALK_GO_ON || end < STACKD_END_COUNT);
}

/* The table has the walk's rule, or none for reasons of its own. (Where nothing covers the address,
 * it may be padding that keeps the rule before it.) */
static void check_same(const struct fuzz *f, const struct walk_rule *rule, uint64_t vaddr)
{
	uint64_t at = vaddr - f->load.vaddr;
	const struct stackd_rule *row;

	if (!f->is_plain || rule->fast.cfa == STACKD_CFA_NONE || at >= f->load.size ||
	    at > RECIPE_MAX_OFFSET || f->load.offset > RECIPE_MAX_OFFSET)
		return;
	row = recipe_lookup(f->table, f->load.offset + at);
	if (row->cfa != STACKD_CFA_NONE && row->cfa != STACKD_CFA_DAEMON)
		fuzz_check(!memcmp(row, &rule->fast, sizeof(*row)));
}

static void check_at(const struct fuzz *f, const struct cfi_index *index, uint64_t vaddr)
{
	struct walk_rule rule;

	fuzz_check(!walk_rule_compile(index, vaddr, &rule));
	check_step(&rule);
	check_same(f, &rule, vaddr);
	walk_rule_free(&rule);
}

static void check_index(const struct fuzz *f, const struct cfi_index *index)
{
	size_t count = cfi_index_count(index);
	uint64_t start, end, last = 0;

	fuzz_check(count > 0);
	for (size_t i = 0; i < count; i++) {
		cfi_index_range(index, i, &start, &end);
		fuzz_check(start < end && start > last);
		last = start;
		if (i >= MAX_ASKED)
			continue;
		check_at(f, index, start - 1);
		check_at(f, index, start);
		check_at(f, index, start + (end - start) / 2);
		check_at(f, index, end - 1);
	}
}

/* No entry is left out of the table, and none covers what another one does. */
static bool has_all_fdes(const struct recipe_table *table)
{
	const uint64_t *refused = recipe_table_stats(table)->refused;

	return !refused[RECIPE_REFUSED_FDE_OVERLAP] &&
	       !refused[RECIPE_REFUSED_FDE_PROGRAM_HEADER] && !refused[RECIPE_REFUSED_FDE_OFFSET];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cfi_sections sections;
	struct cfi_index *index;
	struct fuzz f;

	if (size < HEADER_BYTES)
		return -1;
	f.load = (struct recipe_load){get64(data + 8), get64(data + 16), get64(data + 24)};
	sections = make_sections(data, size);
	if (!recipe_section_compile(sections.items, 2, &f.load, 1, &f.table)) {
		fuzz_check_table(f.table);
		f.is_plain = !sections.items[1].size && has_all_fdes(f.table);
		if (!cfi_index_of_sections(&sections, &index)) {
			check_index(&f, index);
			cfi_index_free(index);
		}
		recipe_table_free(f.table);
	}
	cfi_section_release(&sections);
	return 0;
}
