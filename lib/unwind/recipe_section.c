/* SPDX-License-Identifier: MIT */
/*
 * From the bytes of call frame sections to a table: recipe_section_compile().
 *
 *   section ─► CIEs, in order of their place, each run once
 *          └─► FDEs ─► machine ─► rows ─► rule numbers
 *                         all FDEs in order of address ─► places (rule from this offset on)
 *   sections' places, the earlier section over the later ─► chunks
 *
 * A section is read twice, first for its CIEs: an FDE finds its CIE by binary search, so no
 * pointer is followed anywhere, a CIE behind its FDEs is as good as one before them, and CIEs that
 * share a hash cannot make it slow. A CIE's instructions are run once, not once for each FDE: a
 * long CIE with many small FDEs would cost their product.
 *
 * FDEs that overlap: the one with the lower start has the place, of those the first in the
 * section; what the other has beyond it stays. They are counted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "cfi/cfi_machine.h"
#include "unwind/fixed_rule.h"
#include "unwind/recipe_table.h"

struct fde_range {
	uint32_t start, end;		 /* file offsets */
	uint32_t first_word, word_count; /* of its rows */
};

#define KNOWN_RULES 4096 /* a power of two */

struct compiler {
	const struct recipe_section *section;
	const struct recipe_segment *segments;
	size_t segment_count;
	struct recipe_rules *rules;
	struct recipe_stats *stats;

	struct cfi_cie *cies; /* by place in the section */
	size_t cie_count, cie_cap;
	const struct cfi_cie *last_cie; /* that an FDE had */
	struct fde_range *fdes;		/* in the section's order */
	size_t fde_count, fde_cap;
	struct recipe_places rows; /* of all FDEs, one after the other */
	struct cfi_machine machine;
	struct known_rule {	  /* rules of states met before, by their history */
		uint64_t history; /* 0: none */
		int number;
	} known[KNOWN_RULES];
};

static void refuse(struct compiler *c, enum recipe_refusal why)
{
	c->stats->refused[why]++;
}

static void free_section(struct compiler *c)
{
	free(c->cies);
	free(c->fdes);
	recipe_places_free(&c->rows);
	c->cies = NULL;
	c->fdes = NULL;
	c->last_cie = NULL;
	memset(c->known, 0, sizeof(c->known));
	c->cie_count = c->cie_cap = c->fde_count = c->fde_cap = 0;
}

/* --- CIEs ---------------------------------------------------------------------------------- */

static int read_cies(struct compiler *c)
{
	struct cfi_entry entry;
	enum recipe_refusal refused;
	uint64_t at = 0;

	while (cfi_next_entry(c->section, &at, &entry, &refused)) {
		if (!entry.is_cie)
			continue;
		if (c->cie_count == RECIPE_MAX_CIES) {
			refuse(c, RECIPE_REFUSED_CIE_LIMIT);
			return 0;
		}
		if (vec_reserve((void **)&c->cies, &c->cie_cap, c->cie_count + 1, sizeof(*c->cies)))
			return -ENOMEM;
		cfi_read_cie(c->section, &entry, &c->cies[c->cie_count++]);
	}
	return 0;
}

static int compare_cie(const void *key, const void *element)
{
	uint64_t at = *(const uint64_t *)key;
	const struct cfi_cie *cie = element;

	return at < cie->at ? -1 : at > cie->at;
}

static const struct cfi_cie *find_cie(struct compiler *c, uint64_t at)
{
	if (!c->last_cie || c->last_cie->at != at)
		c->last_cie = c->cie_count ? bsearch(&at, c->cies, c->cie_count, sizeof(*c->cies),
						     compare_cie)
					   : NULL;
	return c->last_cie;
}

/* --- FDEs ---------------------------------------------------------------------------------- */

/* From an FDE's addresses to file offsets, once for the whole of it. */
static enum recipe_refusal find_range(const struct compiler *c, const struct cfi_fde *fde,
				      struct fde_range *ret_range)
{
	for (size_t i = 0; i < c->segment_count; i++) {
		const struct recipe_segment *s = &c->segments[i];
		uint64_t from = fde->start - s->vaddr, len = fde->end - fde->start;

		if (fde->start < s->vaddr || from > s->size || len > s->size - from)
			continue;
		if (s->offset > RECIPE_MAX_OFFSET || from + len > RECIPE_MAX_OFFSET - s->offset)
			return RECIPE_REFUSED_FDE_OFFSET;
		*ret_range = (struct fde_range){
			.start = (uint32_t)(s->offset + from),
			.end = (uint32_t)(s->offset + from + len),
		};
		return RECIPE_ACCEPTED;
	}
	return RECIPE_REFUSED_FDE_SEGMENT;
}

/* The rule number of the machine's row; DAEMON, and the reason counted, where there is none.
 * Functions begin and end alike, so most states have been met, and their rule is known by the
 * instructions that made them. (Who makes histories collide spoils his own file's recipes.) */
static int row_rule(struct compiler *c)
{
	uint64_t history = c->machine.state.history;
	struct known_rule *known = &c->known[history >> 20 & (KNOWN_RULES - 1)];
	enum recipe_refusal refused = c->machine.refused;
	struct stackd_rule rule;
	int number;

	if (refused == RECIPE_ACCEPTED && history && known->history == history)
		return known->number;
	if (refused == RECIPE_ACCEPTED)
		refused =
			fixed_rule_make(&c->machine.state, c->machine.cie->is_signal_frame, &rule);
	if (refused == RECIPE_ACCEPTED) {
		number = recipe_rules_add(c->rules, &rule);
		if (number >= 0)
			*known = (struct known_rule){history, number};
		if (number != -ENOSPC)
			return number;
		refused = RECIPE_REFUSED_RULE_LIMIT;
	}
	refuse(c, refused);
	return STACKD_RULE_DAEMON;
}

/* Runs an FDE. 0 with its rows in c->rows; -ENOSPC: too many rows; -ENOMEM. */
static int run_fde(struct compiler *c, const struct cfi_cie *cie, const struct cfi_fde *fde,
		   struct fde_range *range)
{
	uint64_t start, end;
	int last = -1;

	range->first_word = (uint32_t)c->rows.count;
	c->rows.last.offset = range->start;
	cfi_machine_start(&c->machine, c->section, cie, fde);
	while (cfi_machine_step(&c->machine, &start, &end)) {
		uint32_t offset = range->start + (uint32_t)(start - fde->start);
		int rule = row_rule(c);

		c->stats->cfi_rows++;
		if (rule == last)
			continue;
		if (rule < 0)
			return rule;
		if (c->rows.count >= RECIPE_MAX_ROWS)
			return -ENOSPC;
		if (recipe_places_put(&c->rows, offset, (uint16_t)rule))
			return -ENOMEM;
		last = rule;
	}
	range->word_count = (uint32_t)c->rows.count - range->first_word;
	return 0;
}

static int add_fde(struct compiler *c, const struct cfi_cie *cie, const struct cfi_fde *fde)
{
	struct fde_range range;
	enum recipe_refusal refused = find_range(c, fde, &range);
	int r;

	if (refused == RECIPE_ACCEPTED && c->fde_count == RECIPE_MAX_FDES)
		refused = RECIPE_REFUSED_FDE_LIMIT;
	if (refused == RECIPE_ACCEPTED && c->rows.count >= RECIPE_MAX_ROWS)
		refused = RECIPE_REFUSED_ROW_LIMIT;
	if (refused != RECIPE_ACCEPTED) {
		refuse(c, refused);
		return 0;
	}
	r = run_fde(c, cie, fde, &range);
	if (r == -ENOSPC) {
		refuse(c, RECIPE_REFUSED_ROW_LIMIT);
		c->rows.count = range.first_word;
		return 0;
	}
	if (r || vec_reserve((void **)&c->fdes, &c->fde_cap, c->fde_count + 1, sizeof(*c->fdes)))
		return -ENOMEM;
	c->fdes[c->fde_count++] = range;
	c->stats->fdes++;
	return 0;
}

static int read_fdes(struct compiler *c)
{
	struct cfi_entry entry;
	struct cfi_fde fde;
	enum recipe_refusal refused;
	uint64_t at = 0;

	while (cfi_next_entry(c->section, &at, &entry, &refused)) {
		const struct cfi_cie *cie;
		enum recipe_refusal why = RECIPE_REFUSED_FDE_CIE;

		if (entry.is_cie)
			continue;
		cie = find_cie(c, entry.cie_at);
		if (cie)
			why = cfi_read_fde(c->section, &entry, cie, &fde);
		if (why != RECIPE_ACCEPTED)
			refuse(c, why);
		else if (add_fde(c, cie, &fde))
			return -ENOMEM;
	}
	if (refused != RECIPE_ACCEPTED)
		refuse(c, refused);
	return 0;
}

/* --- in order of address ------------------------------------------------------------------- */

/* One pass of a radix sort, by the byte at `shift`; stable. */
static void sort_pass(const uint64_t *from, uint64_t *to, size_t count, unsigned shift)
{
	size_t at[257] = {0};

	for (size_t i = 0; i < count; i++)
		at[(from[i] >> shift & 0xff) + 1]++;
	for (int i = 0; i < 256; i++)
		at[i + 1] += at[i];
	for (size_t i = 0; i < count; i++)
		to[at[from[i] >> shift & 0xff]++] = from[i];
}

/* Numbers of the FDEs by start, in the low half of each entry; the caller frees. Linear, since
 * the order is the file's to choose. */
static int sort_fdes(const struct compiler *c, uint64_t **ret_order)
{
	size_t n = c->fde_count;
	uint64_t *order = calloc(n + 1, sizeof(*order)), *other = calloc(n + 1, sizeof(*other));
	bool is_sorted = true;

	if (!order || !other) {
		free(order);
		free(other);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		order[i] = (uint64_t)c->fdes[i].start << 32 | i;
		is_sorted &= !i || order[i - 1] <= order[i];
	}
	for (unsigned shift = 32; shift < 64 && !is_sorted; shift += 16) {
		sort_pass(order, other, n, shift);
		sort_pass(other, order, n, shift + 8);
	}
	free(other);
	*ret_order = order;
	return 0;
}

/* Adds what an FDE says from `from` on. */
static int place_fde(const struct compiler *c, const struct fde_range *fde, uint32_t from,
		     struct recipe_places *places)
{
	struct recipe_places_reader reader =
		recipe_places_read_part(&c->rows, fde->first_word, fde->word_count, fde->start);
	struct recipe_place row, next;
	bool has_row = recipe_places_next(&reader, &row);
	int r = 0;

	while (has_row && !r) {
		bool has_next = recipe_places_next(&reader, &next);

		if (!has_next || next.offset > from)
			r = recipe_places_add(places, row.offset > from ? row.offset : from,
					      row.rule);
		row = next;
		has_row = has_next;
	}
	return r;
}

static int place_fdes(struct compiler *c, struct recipe_places *places)
{
	uint64_t *order;
	uint32_t covered = 0; /* file offset up to which places are final */
	int r = sort_fdes(c, &order);

	if (r)
		return r;
	for (size_t i = 0; i < c->fde_count && !r; i++) {
		const struct fde_range *fde = &c->fdes[(uint32_t)order[i]];
		uint32_t from = fde->start > covered ? fde->start : covered;

		if (fde->start < covered)
			refuse(c, RECIPE_REFUSED_FDE_OVERLAP);
		else if (fde->start > covered && !recipe_places_is_empty(places))
			r = recipe_places_add(places, covered, STACKD_RULE_NONE);
		if (r || fde->end <= covered)
			continue;
		r = place_fde(c, fde, from, places);
		covered = fde->end;
	}
	if (!r && !recipe_places_is_empty(places))
		r = recipe_places_add(places, covered, STACKD_RULE_NONE);
	free(order);
	return r;
}

/* --- all sections -------------------------------------------------------------------------- */

/* `bytes`: NULL, or what is to be freed when the section has been read. */
static int compile_section(struct compiler *c, const struct recipe_section *section,
			   uint8_t **bytes, struct recipe_places *places)
{
	int r;

	c->section = section;
	if (section->size > RECIPE_MAX_SECTION_BYTES) {
		refuse(c, RECIPE_REFUSED_SECTION_SIZE);
		return 0;
	}
	r = read_cies(c);
	if (!r)
		r = read_fdes(c);
	if (bytes) {
		free(*bytes);
		*bytes = NULL;
	}
	if (!r)
		r = place_fdes(c, places);
	free_section(c);
	return r;
}

static int compile_all(struct compiler *c, const struct recipe_section *sections, uint8_t **bytes,
		       size_t count, struct recipe_places *places)
{
	for (size_t i = 0; i < count; i++) {
		struct recipe_places own = {0};
		int r = compile_section(c, &sections[i], bytes ? &bytes[i] : NULL,
					i ? &own : places);

		if (!r && !recipe_places_is_empty(&own))
			r = recipe_places_overlay(places, &own);
		recipe_places_free(&own);
		if (r)
			return r;
	}
	return 0;
}

int recipe_section_compile_owned(const struct recipe_section *sections, uint8_t **bytes,
				 size_t section_count, const struct recipe_segment *segments,
				 size_t segment_count, struct recipe_table **ret_table)
{
	struct recipe_table *table = calloc(1, sizeof(*table));
	struct compiler *c = calloc(1, sizeof(*c));
	struct recipe_places places = {0};
	int r = -ENOMEM;

	if (table && c)
		r = recipe_rules_new(&table->rules);
	if (!r) {
		c->segments = segments;
		c->segment_count = segment_count;
		c->rules = table->rules;
		c->stats = &table->stats;
		if (segment_count > RECIPE_MAX_SEGMENTS) {
			c->segment_count = RECIPE_MAX_SEGMENTS;
			refuse(c, RECIPE_REFUSED_SEGMENTS);
		}
		r = compile_all(c, sections, bytes, section_count, &places);
	}
	if (!r)
		r = recipe_table_build(table, &places);
	recipe_places_free(&places);
	free(c);
	if (r) {
		recipe_table_free(table);
		return r;
	}
	*ret_table = table;
	return 0;
}

int recipe_section_compile(const struct recipe_section *sections, size_t section_count,
			   const struct recipe_segment *segments, size_t segment_count,
			   struct recipe_table **ret_table)
{
	return recipe_section_compile_owned(sections, NULL, section_count, segments, segment_count,
					    ret_table);
}
