/* SPDX-License-Identifier: MIT */
/*
 * Finds gaps in a file's rows, and makes rules from their code's instructions; see
 * recipe_analysis.h.
 *
 *   rows ─► file offsets with rule NONE ─► those of sections with code ─► analysis ─► rows
 *   the other code ─► calls into the gaps, addresses in them ─────────────────┘
 */
#include "unwind/recipe_analysis.h"

#include <gelf.h>
#include <stdlib.h>

#include "arch/code_form.h"
#include "unwind/recipe_layer.h"

#define PADDING_BYTES  16   /* a shorter gap before a multiple of it is padding: see recipe.h */
#define SMALL_GAP      64   /* a shorter gap can be padding too, and is not counted */
#define FEW_BYTES      4096 /* less code than this is start code if it is also */
#define FEW_PART       8    /* less than this part of all code */
#define MAX_LOADS      16
#define MAX_REFERENCES (1u << 20)
#define MAX_SEARCHED   (UINT64_C(128) << 20) /* bytes of code */
#define PIECE_BYTES    65536u

static bool is_worth(uint64_t start, uint64_t end)
{
	return end > start && (end - start >= PADDING_BYTES || end % PADDING_BYTES);
}

static int add_gap(struct recipe_gaps *gaps, uint64_t start, uint64_t end, bool is_first)
{
	if (!is_worth(start, end))
		return 0;
	if (VEC_RESERVE(&gaps->items, 1))
		return -ENOMEM;
	gaps->items.items[gaps->items.count++] = (struct analysis_range){start, end, is_first};
	if (end - start >= SMALL_GAP)
		gaps->bytes += end - start;
	return 0;
}

/* --- sections ------------------------------------------------------------------------------ */

static bool is_code(const GElf_Shdr *header)
{
	return header->sh_type == SHT_PROGBITS && header->sh_flags & SHF_EXECINSTR &&
	       header->sh_flags & SHF_ALLOC && header->sh_size &&
	       header->sh_size <= UINT64_MAX - header->sh_addr;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct analysis_range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* Lists a file's code by its section headers, in order; nothing if it has no headers. */
static int find_sections(const struct elf_file *file, struct recipe_gaps *sections)
{
	Elf *elf = elf_file_libelf(file);
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t kept = 0;

	while (elf && (section = elf_nextscn(elf, section))) {
		if (gelf_getshdr(section, &header) && is_code(&header) &&
		    add_gap(sections, header.sh_addr, header.sh_addr + header.sh_size, true))
			return -ENOMEM;
	}
	if (sections->items.count)
		qsort(sections->items.items, sections->items.count, sizeof(*sections->items.items),
		      compare_ranges);
	for (size_t i = 0; i < sections->items.count; i++) {
		struct analysis_range *s = &sections->items.items[i];

		if (!kept || s->start >= sections->items.items[kept - 1].end)
			sections->items.items[kept++] = *s;
	}
	sections->items.count = kept;
	return 0;
}

/* Adds the parts of a gap that sections cover. *first is the first section that can do so. */
static int add_covered(struct recipe_gaps *gaps, const struct recipe_gaps *sections, size_t *first,
		       uint64_t start, uint64_t end)
{
	int err = 0;

	if (!sections->items.count)
		return add_gap(gaps, start, end, false);
	while (*first < sections->items.count && sections->items.items[*first].end <= start)
		++*first;
	for (size_t i = *first; i < sections->items.count && !err; i++) {
		const struct analysis_range *s = &sections->items.items[i];

		if (s->start >= end)
			break;
		err = add_gap(gaps, s->start > start ? s->start : start,
			      s->end < end ? s->end : end, s->start >= start);
	}
	return err;
}

/* --- gaps ---------------------------------------------------------------------------------- */

/* Adds the gaps of a program header; rows are at file offsets, gaps at addresses. */
static int add_load(struct recipe_gaps *gaps, const struct recipe_gaps *sections,
		    const struct recipe_load *load, const struct recipe_rows *rows)
{
	struct recipe_rows_reader reader = recipe_rows_read(rows);
	uint64_t end = load->offset + load->size, from = load->offset;
	struct recipe_row row;
	size_t first = 0;
	bool has_rule = false;
	int err = 0;

	while (!err && recipe_rows_next(&reader, &row) && row.offset < end) {
		uint64_t at = row.offset > load->offset ? row.offset : load->offset;

		if (!has_rule && at > from)
			err = add_covered(gaps, sections, &first, load->vaddr + from - load->offset,
					  load->vaddr + at - load->offset);
		has_rule = row.rule != STACKD_RULE_NONE;
		from = at;
	}
	if (!err && !has_rule && end > from)
		err = add_covered(gaps, sections, &first, load->vaddr + from - load->offset,
				  load->vaddr + end - load->offset);
	return err;
}

static bool is_in_reach(const struct recipe_load *load)
{
	return load->offset < RECIPE_MAX_OFFSET && load->size <= RECIPE_MAX_OFFSET - load->offset &&
	       load->size <= UINT64_MAX - load->vaddr;
}

/* Returns whether a gap begins behind a system call. The C library's call frame information ends
 * right behind the system call that makes a thread, since the code there also runs in the new
 * thread, which has no caller. */
static bool is_behind_syscall(const struct elf_file *file, const struct analysis_range *gap)
{
	uint8_t code[CODE_FORM_SYSCALL];
	uint64_t offset;

	return !gap->is_first &&
	       elf_file_vaddr_to_offset(file, gap->start - sizeof(code), &offset) &&
	       elf_file_read_whole(file, offset, code, sizeof(code)) && code_form_is_syscall(code);
}

static void drop_behind_syscalls(const struct elf_file *file, struct recipe_gaps *gaps)
{
	size_t kept = 0;

	for (size_t i = 0; i < gaps->items.count; i++) {
		if (!is_behind_syscall(file, &gaps->items.items[i]))
			gaps->items.items[kept++] = gaps->items.items[i];
	}
	gaps->items.count = kept;
}

int recipe_gaps_find(const struct elf_file *file, const struct recipe_load *loads,
		     size_t load_count, const struct recipe_rows *rows, struct recipe_gaps *gaps)
{
	struct recipe_gaps sections = {0};
	int err = find_sections(file, &sections);

	for (size_t i = 0; i < load_count && i < MAX_LOADS && !err; i++) {
		if (is_in_reach(&loads[i]))
			err = add_load(gaps, &sections, &loads[i], rows);
	}
	if (!err && gaps->items.count)
		qsort(gaps->items.items, gaps->items.count, sizeof(*gaps->items.items),
		      compare_ranges);
	drop_behind_syscalls(file, gaps);
	free(sections.items.items);
	return err;
}

/* --- references to gaps -------------------------------------------------------------------- */

struct references {
	const struct recipe_gaps *gaps;
	VEC(uint64_t) called, pointed;
	uint64_t searched; /* bytes */
};

static bool is_in_gap(const struct recipe_gaps *gaps, uint64_t vaddr)
{
	size_t low = 0, high = gaps->items.count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (gaps->items.items[middle].start <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	return low && vaddr < gaps->items.items[low - 1].end;
}

/* Returns whether a reference leads into a gap from code outside of gaps. */
static bool is_reference(const struct references *r, uint64_t from, uint64_t target)
{
	return is_in_gap(r->gaps, target) && !is_in_gap(r->gaps, from);
}

/* Returns the end of the addresses at which an instruction of this many bytes can begin. */
static const uint8_t *end_of_starts(const uint8_t *bytes, size_t len, size_t instruction)
{
	return len < instruction ? bytes : bytes + len - instruction + 1;
}

/* Tries each byte as the start of a call. Bytes that are not a call hardly ever lead to an
 * instruction in a gap. */
static int search_calls(struct references *r, const uint8_t *bytes, size_t len, uint64_t vaddr)
{
	const uint8_t *at = bytes, *end = end_of_starts(bytes, len, CODE_FORM_CALL);

	for (; at < end && (at = code_form_find_call(at, (size_t)(end - at))); at++) {
		uint64_t from = vaddr + (uint64_t)(at - bytes), target;

		if (!code_form_call_target(at, from + CODE_FORM_CALL, &target) ||
		    !is_reference(r, from, target))
			continue;
		if (r->called.count >= MAX_REFERENCES)
			return 0;
		if (VEC_RESERVE(&r->called, 1))
			return -ENOMEM;
		r->called.items[r->called.count++] = target;
	}
	return 0;
}

static int add_pointed(struct references *r, uint64_t target)
{
	if (r->pointed.count >= MAX_REFERENCES)
		return 0;
	if (VEC_RESERVE(&r->pointed, 1))
		return -ENOMEM;
	r->pointed.items[r->pointed.count++] = target;
	return 0;
}

static int search_pointers(struct references *r, const uint8_t *bytes, size_t len, uint64_t vaddr)
{
	const uint8_t *at = bytes, *end = end_of_starts(bytes, len, CODE_FORM_ADDRESS);
	int32_t distance;

	for (; at < end && (at = code_form_find_address(at, (size_t)(end - at), &distance)); at++) {
		uint64_t from = vaddr + (uint64_t)(at - bytes);
		uint64_t target = from + CODE_FORM_ADDRESS + (uint64_t)(int64_t)distance;

		if (is_reference(r, from, target) && add_pointed(r, target))
			return -ENOMEM;
	}
	return 0;
}

static int search_numbers(struct references *r, const uint8_t *bytes, size_t len, uint64_t vaddr)
{
	const uint8_t *at = bytes, *end = end_of_starts(bytes, len, CODE_FORM_NUMBER);
	uint32_t target;

	for (; at < end && (at = code_form_find_number(at, (size_t)(end - at), &target)); at++) {
		if (is_reference(r, vaddr + (uint64_t)(at - bytes), target) &&
		    add_pointed(r, target))
			return -ENOMEM;
	}
	return 0;
}

static int search_load(struct references *r, const struct elf_file *file,
		       const struct recipe_load *load, uint8_t *piece)
{
	int err = 0;

	for (uint64_t at = 0; at < load->size && r->searched < MAX_SEARCHED && !err;
	     at += PIECE_BYTES - CODE_FORM_ADDRESS + 1) {
		uint64_t left = load->size - at;
		int64_t got = elf_file_read(file, load->offset + at, piece,
					    left < PIECE_BYTES ? left : PIECE_BYTES);

		if (got < CODE_FORM_ADDRESS)
			break;
		r->searched += (uint64_t)got;
		err = search_calls(r, piece, (size_t)got, load->vaddr + at);
		if (!err)
			err = search_pointers(r, piece, (size_t)got, load->vaddr + at);
		if (!err && !elf_file_is_position_independent(file))
			err = search_numbers(r, piece, (size_t)got, load->vaddr + at);
	}
	return err;
}

static int find_references(struct references *r, const struct elf_file *file,
			   const struct recipe_load *loads, size_t load_count)
{
	uint8_t *piece = malloc(PIECE_BYTES);
	int err = piece ? 0 : -ENOMEM;

	for (size_t i = 0; i < load_count && i < MAX_LOADS && !err; i++)
		err = search_load(r, file, &loads[i], piece);
	free(piece);
	return err;
}

/* --- rows ---------------------------------------------------------------------------------- */

struct layer {
	struct recipe_table *table;
	struct recipe_rows rows;
};

static int number_of(struct recipe_table *table, const struct stackd_rule *rule)
{
	struct stackd_rule marked = *rule;
	int number;

	if (rule->cfa == STACKD_CFA_NONE)
		return STACKD_RULE_NONE;
	if (rule->cfa == STACKD_CFA_REG)
		marked.cfa_add = STACKD_OF_CODE;
	number = recipe_rules_add(table->rules, &marked);
	if (number != -ENOSPC)
		return number;
	table->stats.refused[RECIPE_REFUSED_RULE_LIMIT]++;
	return STACKD_RULE_NONE;
}

/* Adds a row, unless its offset is below the last: then two program headers have the same bytes. */
static int take_row(void *arg, uint64_t offset, const struct stackd_rule *rule)
{
	struct layer *l = arg;
	int number;

	if (offset >= RECIPE_MAX_OFFSET ||
	    (!recipe_rows_is_empty(&l->rows) && offset < recipe_rows_last(&l->rows).offset))
		return 0;
	if (l->rows.count >= RECIPE_MAX_ROWS) {
		l->table->stats.refused[RECIPE_REFUSED_ROW_LIMIT]++;
		return 0;
	}
	number = number_of(l->table, rule);
	if (number < 0)
		return number;
	l->table->stats.analysed_rows++;
	return recipe_rows_add(&l->rows, (uint32_t)offset, (uint16_t)number);
}

/* Returns whether this is more code than start code has. */
static bool is_much(const struct recipe_load *loads, size_t load_count, uint64_t bytes)
{
	uint64_t all = 0;

	for (size_t i = 0; i < load_count; i++)
		all += loads[i].size;
	return bytes >= FEW_BYTES || bytes >= all / FEW_PART;
}

static int analyse(const struct recipe_others *others, const struct recipe_load *loads,
		   size_t load_count, const struct recipe_gaps *gaps, struct layer *layer)
{
	const struct elf_file *file = others->file;
	struct references found = {.gaps = gaps};
	struct analysis_input in = {
		.stop = others->stop,
		.elf = file,
		.ranges = gaps->items.items,
		.range_count = gaps->items.count,
		.has_starts = is_much(loads, load_count, gaps->bytes),
	};
	struct analysis_stats stats;
	int err = in.has_starts ? find_references(&found, file, loads, load_count) : 0;

	in.called = found.called.items;
	in.called_count = found.called.count;
	in.pointed = found.pointed.items;
	in.pointed_count = found.pointed.count;
	if (!err)
		err = analysis_run(&in, take_row, layer, &stats);
	free(found.called.items);
	free(found.pointed.items);
	if (err)
		return err;
	if (stats.is_jumped_into)
		recipe_rows_free(&layer->rows);
	layer->table->stats.analysed_bytes += gaps->bytes;
	layer->table->stats.refused[RECIPE_REFUSED_ANALYSIS_LIMIT] += stats.left_out != 0;
	return 0;
}

int recipe_analysis_is_long(const struct recipe_others *others, const struct recipe_load *loads,
			    size_t load_count, const struct recipe_rows *rows, bool *ret_is_long)
{
	struct recipe_gaps gaps = {0};
	int err = recipe_gaps_find(others->file, loads, load_count, rows, &gaps);

	if (!err)
		*ret_is_long = is_much(loads, load_count, gaps.bytes);
	free(gaps.items.items);
	return err;
}

int recipe_analysis_lay(const struct recipe_others *others, const struct recipe_load *loads,
			size_t load_count, struct recipe_table *table, struct recipe_rows *rows)
{
	const struct elf_file *file = others->file;
	struct recipe_gaps gaps = {0};
	struct layer layer = {.table = table};
	int err = recipe_gaps_find(file, loads, load_count, rows, &gaps);

	if (!err && others->most_bytes && gaps.bytes > others->most_bytes)
		table->stats.refused[RECIPE_REFUSED_ANALYSIS_LIMIT]++;
	else if (!err && gaps.items.count)
		err = analyse(others, loads, load_count, &gaps, &layer);
	if (!err && !recipe_rows_is_empty(&layer.rows))
		err = recipe_layer_below(table, rows, &layer.rows, PROVENANCE_ANALYSED);
	recipe_rows_free(&layer.rows);
	free(gaps.items.items);
	return err;
}
