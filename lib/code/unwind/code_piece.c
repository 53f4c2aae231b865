/* SPDX-License-Identifier: MIT */
/* Analyses a piece, and analyses windows around changes again; see code_piece.h. */
#include "unwind/code_piece.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "runtime/runtime.h"

#define SPANS	64   /* most spans of changed bytes; if there are more, everything is analysed */
#define APART	64   /* least bytes between two spans */
#define PATCHED 16   /* up to this size, a span may be a patch of an instruction */
#define MARGIN	2048 /* bytes on either side of a span that are analysed with it */
#define BLOCK	64   /* bytes that are compared at a time */
#define STARTS	256  /* most starts of functions by which runtimes are recognised */

struct span {
	uint64_t from, to; /* addresses */
};

struct change {
	struct code_piece *piece; /* the old piece */
	struct code_piece fresh;  /* the new bytes, and the rows of one window */
	struct span spans[SPANS];
	size_t span_count;
	bool is_much; /* there are more spans */
};

void code_piece_fini(struct code_piece *p)
{
	elf_file_free(p->elf);
	free(p->rows.items);
	*p = (struct code_piece){0};
}

/* --- analysis ------------------------------------------------------------------------------ */

static int add_row(void *arg, uint64_t offset, const struct stackd_rule *rule)
{
	struct code_piece *p = arg;

	if (VEC_RESERVE(&p->rows, 1))
		return -ENOMEM;
	p->rows.items[p->rows.count++] = (struct code_row){offset, *rule};
	return 0;
}

static int analyse(struct code_piece *p, const uint8_t *bytes, uint64_t from, uint64_t to)
{
	const struct analysis_range range = {from, to, false};
	uint64_t starts[STARTS];
	struct analysis_input in = {
		.elf = p->elf,
		.ranges = &range,
		.range_count = 1,
		.certain = starts,
		.certain_count = runtime_frame_starts(bytes, to - from, from, starts, STARTS),
		.needs_returns = !p->is_file,
	};
	struct analysis_stats stats;

	return analysis_run(&in, add_row, p, &stats);
}

static int take_bytes(struct code_piece *p, const uint8_t *bytes, size_t len, uint64_t start,
		      bool is_file)
{
	p->start = start;
	p->len = len;
	p->is_file = is_file;
	return elf_file_of_code(bytes, len, start, &p->elf);
}

int code_piece_make(struct code_piece *p, const uint8_t *bytes, size_t len, uint64_t start,
		    bool is_file)
{
	int err = take_bytes(p, bytes, len, start, is_file);

	return err ? err : analyse(p, bytes, start, start + len);
}

/* --- changes ------------------------------------------------------------------------------- */

bool code_piece_has(const struct code_piece *p, const uint8_t *bytes, size_t len, uint64_t start)
{
	uint8_t block[BLOCK];

	for (size_t k = 0; k < len; k += BLOCK) {
		size_t n = len - k < BLOCK ? len - k : BLOCK;

		if (elf_file_read(p->elf, start + k, block, n) != (int64_t)n ||
		    memcmp(block, bytes + k, n) != 0)
			return false;
	}
	return true;
}

static void note_changed(struct change *c, uint64_t address)
{
	struct span *last = c->span_count ? &c->spans[c->span_count - 1] : NULL;

	if (last && address - last->to < APART) {
		last->to = address + 1;
		return;
	}
	if (c->span_count == SPANS)
		c->is_much = true;
	else
		c->spans[c->span_count++] = (struct span){address, address + 1};
}

/* Finds the spans in which bytes differ from the piece's, or the piece has none. */
static void compare(struct change *c, const uint8_t *bytes, size_t len, uint64_t start)
{
	uint8_t old[BLOCK];

	for (size_t k = 0; k < len && !c->is_much; k += BLOCK) {
		size_t n = len - k < BLOCK ? len - k : BLOCK;
		int64_t got = elf_file_read(c->piece->elf, start + k, old, n);

		if (got == (int64_t)n && !memcmp(old, bytes + k, n))
			continue;
		for (size_t i = 0; i < n && !c->is_much; i++) {
			if ((int64_t)i >= got || old[i] != bytes[k + i])
				note_changed(c, start + k + i);
		}
	}
}

/* --- rules --------------------------------------------------------------------------------- */

/* Returns how many rows begin at an address or before. */
static size_t rows_up_to(const struct code_piece *p, uint64_t address)
{
	size_t low = 0, high = p->rows.count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (p->rows.items[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void code_piece_rule(const struct code_piece *p, uint64_t address, struct stackd_rule *ret_rule)
{
	size_t k = rows_up_to(p, address);

	*ret_rule = k ? p->rows.items[k - 1].rule : (struct stackd_rule){.cfa = STACKD_CFA_NONE};
}

static bool has_rule(const struct code_piece *p, size_t row)
{
	return p->rows.items[row].rule.cfa != STACKD_CFA_NONE;
}

bool code_piece_function(const struct code_piece *p, uint64_t address, uint64_t *ret_from,
			 uint64_t *ret_to)
{
	size_t end = rows_up_to(p, address), first = end;

	while (first && has_rule(p, first - 1))
		first--;
	if (first == end)
		return false;
	while (end < p->rows.count && has_rule(p, end))
		end++;
	*ret_from = p->rows.items[first].address;
	*ret_to = end < p->rows.count ? p->rows.items[end].address : p->start + p->len;
	return true;
}

/* Returns the first address behind `address`, below `end`, at which a row begins. */
static uint64_t next_row(const struct code_piece *p, uint64_t address, uint64_t end)
{
	size_t k = rows_up_to(p, address);

	return k < p->rows.count && p->rows.items[k].address < end ? p->rows.items[k].address : end;
}

/* Returns the span that contains an address, or NULL. Lowers *end to the next start or end of a
 * span. */
static const struct span *span_at(const struct change *c, uint64_t address, uint64_t *end)
{
	for (size_t i = 0; i < c->span_count; i++) {
		const struct span *s = &c->spans[i];

		if (address < s->from) {
			*end = s->from < *end ? s->from : *end;
			return NULL;
		}
		if (address < s->to) {
			*end = s->to < *end ? s->to : *end;
			return s;
		}
	}
	return NULL;
}

/* Takes the rules of a window that was analysed. Where there are none, since the function is only
 * partly in the window, keeps the old rules, unless the code there is new. */
static int merge(struct change *c, const struct span *window, struct code_piece *merged)
{
	struct code_piece *old = c->piece;
	uint64_t at = window->from, end;
	struct stackd_rule rule;
	int err = 0;

	for (size_t k = 0; k < old->rows.count && old->rows.items[k].address < at && !err; k++)
		err = add_row(merged, old->rows.items[k].address, &old->rows.items[k].rule);
	for (; at < window->to && !err; at = end) {
		const struct span *span;

		end = next_row(&c->fresh, at, next_row(old, at, window->to));
		span = span_at(c, at, &end);
		code_piece_rule(&c->fresh, at, &rule);
		if (rule.cfa == STACKD_CFA_NONE && (!span || span->to - span->from <= PATCHED))
			code_piece_rule(old, at, &rule);
		err = add_row(merged, at, &rule);
	}
	code_piece_rule(old, at, &rule);
	if (!err)
		err = add_row(merged, at, &rule);
	for (size_t k = rows_up_to(old, at); k < old->rows.count && !err; k++)
		err = add_row(merged, old->rows.items[k].address, &old->rows.items[k].rule);
	return err;
}

/* Analyses a window, and merges its rules into the old ones. */
static int renew_window(struct change *c, const uint8_t *bytes, const struct span *window)
{
	struct code_piece *old = c->piece, merged = {0};
	int err;

	c->fresh.rows.count = 0;
	err = analyse(&c->fresh, bytes + (window->from - c->fresh.start), window->from, window->to);
	if (!err)
		err = merge(c, window, &merged);
	if (err) {
		code_piece_fini(&merged);
		return err;
	}
	free(old->rows.items);
	old->rows = merged.rows;
	return 0;
}

/* Returns the window around the span at *i and those that follow near it, and moves *i behind
 * them. */
static struct span take_window(const struct change *c, size_t *i)
{
	const struct code_piece *p = &c->fresh;
	struct span w = c->spans[(*i)++];

	while (*i < c->span_count && c->spans[*i].from - w.to < 2 * MARGIN)
		w.to = c->spans[(*i)++].to;
	w.from = w.from - p->start < MARGIN ? p->start : w.from - MARGIN;
	w.to = p->start + p->len - w.to < MARGIN ? p->start + p->len : w.to + MARGIN;
	return w;
}

int code_piece_renew(struct code_piece *p, const uint8_t *bytes, size_t len, uint64_t start)
{
	struct change c = {.piece = p};
	int err;

	compare(&c, bytes, len, start);
	if (c.is_much) {
		bool is_file = p->is_file;

		code_piece_fini(p);
		return code_piece_make(p, bytes, len, start, is_file);
	}
	err = take_bytes(&c.fresh, bytes, len, start, p->is_file);
	for (size_t i = 0; i < c.span_count && !err;) {
		const struct span window = take_window(&c, &i);

		err = renew_window(&c, bytes, &window);
	}
	free(c.fresh.rows.items);
	c.fresh.rows = p->rows;
	elf_file_free(p->elf);
	*p = c.fresh;
	return err;
}
