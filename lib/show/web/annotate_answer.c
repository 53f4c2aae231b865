/* SPDX-License-Identifier: MIT */
/* The source lines and instructions of one function, with their amounts (report/annotate.h). */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "report/annotate.h"
#include "report/annotate_code.h"
#include "web/answers.h"
#include "web/asked.h"

#define ANNOTATE_AROUND 5 /* lines that are shown before and behind those with amounts */
#define ANNOTATE_LINES	1500
#define ANNOTATE_CODE	2500
#define ANNOTATE_FEW	2000   /* instructions of a function of which all are shown */
#define ANNOTATE_BYTES	230000 /* for texts and rows */
#define ANNOTATE_TAB	4

struct annotate_row {
	uint32_t file, line, text;
	uint64_t self, total;
};

struct annotate_answer {
	struct selection *selection;
	const struct flat_row *row;
	struct annotate annotate;
	const struct annotate_function *function;
	struct annotate_code code;
	struct annotate_row lines[ANNOTATE_LINES];
	uint32_t n_lines;
	/* of instructions that are shown: which one, and texts */
	uint32_t shown[ANNOTATE_CODE], texts[ANNOTATE_CODE], files[ANNOTATE_CODE];
	uint32_t inlined[ANNOTATE_CODE], n_code;
	struct words words;
};

static bool is_full(const struct annotate_answer *a)
{
	return words_size(&a->words) + a->n_lines * 30ul + a->n_code * 40ul > ANNOTATE_BYTES;
}

/* Enters a text of code with blanks in place of tabs: up to the next column that is a multiple of
 * `tab`. */
static int enter_text(struct annotate_answer *a, const char *text, size_t tab, uint32_t *ret_number)
{
	struct buf b = {0};
	int err;

	for (; *text; text++) {
		size_t blanks = *text == '\t' ? tab - b.len % tab : 0;

		if (!blanks)
			buf_put_u8(&b, (uint8_t)*text);
		while (blanks--)
			buf_put_u8(&b, ' ');
	}
	buf_put_u8(&b, '\0');
	err = b.failed ? -ENOMEM : words_string(&a->words, (const char *)b.data, ret_number);
	buf_free(&b);
	return err;
}

/* Appends the lines of a file from `first` to `last`, with the amounts of those that have some. */
static int add_lines(struct annotate_answer *a, const struct annotate_source *source, size_t from,
		     size_t to, uint32_t file)
{
	const struct annotate_line *lines = a->function->lines;
	/* 64 bits, since a line's number can be the largest of 32. */
	const uint64_t begin = lines[from].line, end = lines[to - 1].line;
	const uint64_t first = begin > ANNOTATE_AROUND ? begin - ANNOTATE_AROUND : 1;
	uint64_t last = end + ANNOTATE_AROUND;
	int err = 0;

	if (source->n && last > source->n)
		last = source->n > end ? source->n : end;
	for (uint64_t line = source->n ? first : begin;
	     err == 0 && line <= last && a->n_lines < ANNOTATE_LINES && !is_full(a); line++) {
		struct annotate_row row = {.file = file, .line = (uint32_t)line};

		if (from < to && lines[from].line == line) {
			row.self = lines[from].self;
			row.total = lines[from++].total;
		} else if (!source->n) {
			continue;
		}
		if (line && line <= source->n)
			err = enter_text(a, source->lines[line], ANNOTATE_TAB, &row.text);
		a->lines[a->n_lines++] = row;
	}
	return err;
}

/* Adds the lines of one file: [from, to) of the function's. */
static int add_file(struct annotate_answer *a, const struct annotate_code_options *options,
		    size_t from, size_t to)
{
	const char *name = a->function->lines[from].file;
	struct annotate_source source = {0};
	uint32_t file;
	int err = name ? annotate_source_read(name, options, &source) : 0;

	if (err == 0)
		err = words_string(&a->words, name, &file);
	/* Far apart lines are shown in pieces. */
	for (size_t piece = from; err == 0 && piece < to;) {
		size_t end = piece + 1;

		while (end < to &&
		       a->function->lines[end].line - a->function->lines[end - 1].line <=
			       2 * ANNOTATE_AROUND)
			end++;
		err = add_lines(a, &source, piece, end, file);
		piece = end;
	}
	annotate_source_free(&source);
	return err;
}

static bool is_same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static int enter_lines(struct annotate_answer *a, const struct annotate_code_options *options)
{
	const struct annotate_function *f = a->function;
	int err = 0;

	for (size_t from = 0, to; err == 0 && from < f->n_lines; from = to) {
		for (to = from + 1; to < f->n_lines; to++)
			if (!is_same(f->lines[from].file, f->lines[to].file))
				break;
		err = add_file(a, options, from, to);
	}
	return err;
}

/* Marks the instructions that are at most `around` away from one with an amount. Returns their
 * number. */
static size_t mark_code(const struct annotate_code *code, size_t around, bool *is_marked)
{
	size_t marked = 0, end = 0;

	for (size_t i = 0; i < code->n; i++) {
		const size_t first = i > around ? i - around : 0;

		if (!code->instructions[i].hit && !code->instructions[i].total)
			continue;
		for (end = end > first ? end : first; end < code->n && end <= i + around; end++) {
			is_marked[end] = true;
			marked++;
		}
	}
	return marked;
}

/* Chooses the instructions that are shown: all; of many, those around the ones with amounts, or the
 * first if none has one. */
static void choose_code(const struct annotate_code *code, bool *is_chosen)
{
	size_t around = ANNOTATE_FEW, chosen = 0;

	if (code->n > ANNOTATE_FEW)
		chosen = mark_code(code, around, is_chosen);
	while (chosen > ANNOTATE_FEW && around) {
		memset(is_chosen, 0, code->n);
		chosen = mark_code(code, around /= 2, is_chosen);
	}
	if (!chosen)
		memset(is_chosen, true, code->n);
}

static int enter_code(struct annotate_answer *a)
{
	bool *is_chosen = calloc(a->code.n + 1, sizeof(*is_chosen));
	int err = is_chosen ? 0 : -ENOMEM;

	if (err == 0)
		choose_code(&a->code, is_chosen);
	for (uint32_t i = 0; err == 0 && i < a->code.n && a->n_code < ANNOTATE_CODE && !is_full(a);
	     i++) {
		const struct annotate_instruction *in = &a->code.instructions[i];

		if (!is_chosen[i])
			continue;
		a->shown[a->n_code] = i;
		err = enter_text(a, in->text, 1, &a->texts[a->n_code]);
		if (err == 0)
			err = words_string(&a->words, in->file, &a->files[a->n_code]);
		if (err == 0)
			err = words_string(&a->words, in->inlined, &a->inlined[a->n_code]);
		a->n_code++;
	}
	free(is_chosen);
	return err;
}

#define ANNOTATE_COLUMN(j, count, name, put, value)                                                \
	do {                                                                                       \
		json_put_array(j, name);                                                           \
		for (uint32_t i = 0; i < (count); i++)                                             \
			put(j, NULL, value);                                                       \
		json_put_end(j);                                                                   \
	} while (0)

static void put_address(struct json *j, const char *key, uint64_t offset)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIx64, offset);
	json_put_string(j, key, text);
}

static void put_code(struct json *j, const struct annotate_answer *a)
{
	const struct annotate_instruction *code = a->code.instructions;

	json_put_object(j, "code");
	ANNOTATE_COLUMN(j, a->n_code, "address", put_address, code[a->shown[i]].offset);
	ANNOTATE_COLUMN(j, a->n_code, "skipped", json_put_uint,
			a->shown[i] - (i ? a->shown[i - 1] + 1 : 0));
	ANNOTATE_COLUMN(j, a->n_code, "text", json_put_uint, a->texts[i]);
	ANNOTATE_COLUMN(j, a->n_code, "file", json_put_uint, a->files[i]);
	ANNOTATE_COLUMN(j, a->n_code, "line", json_put_uint, code[a->shown[i]].line);
	ANNOTATE_COLUMN(j, a->n_code, "inlined", json_put_uint, a->inlined[i]);
	ANNOTATE_COLUMN(j, a->n_code, "hit", json_put_uint, code[a->shown[i]].hit);
	ANNOTATE_COLUMN(j, a->n_code, "self", json_put_uint, code[a->shown[i]].self);
	ANNOTATE_COLUMN(j, a->n_code, "total", json_put_uint, code[a->shown[i]].total);
	json_put_end(j);
}

static void annotate_put(struct ask *ask, struct annotate_answer *a)
{
	struct json *j = &ask->json;

	selection_put(ask, a->selection);
	asked_put(j, a->function->symbol);
	json_put_uint(j, "self", a->function->self);
	json_put_uint(j, "function_total", a->row->total);
	json_put_uint(j, "left_out", a->code.n - a->n_code);
	words_put(&a->words, false, j);
	json_put_object(j, "lines");
	ANNOTATE_COLUMN(j, a->n_lines, "file", json_put_uint, a->lines[i].file);
	ANNOTATE_COLUMN(j, a->n_lines, "line", json_put_uint, a->lines[i].line);
	ANNOTATE_COLUMN(j, a->n_lines, "text", json_put_uint, a->lines[i].text);
	ANNOTATE_COLUMN(j, a->n_lines, "self", json_put_uint, a->lines[i].self);
	ANNOTATE_COLUMN(j, a->n_lines, "total", json_put_uint, a->lines[i].total);
	json_put_end(j);
	put_code(j, a);
	json_put_string(j, "problem", a->code.problem);
	json_put_string(j, "missing", a->code.missing);
}

/* Finds the function among those of its name. */
static int find_function(struct annotate_answer *a)
{
	struct profile *profile = a->selection->profile;
	const struct profile_symbol *symbol = profile_symbol_at(profile, a->row->symbol);
	int err = annotate_make(profile, symbol->name, ASK_MANY, &a->annotate);

	for (uint32_t i = 0; err == 0 && i < a->annotate.n; i++)
		if (a->annotate.functions[i].symbol == symbol)
			a->function = &a->annotate.functions[i];
	return err;
}

static int annotate_fill(struct ask *ask, struct annotate_answer *a)
{
	const struct annotate_code_options options = {0};
	int err = words_begin(&a->words);

	if (err == 0)
		err = find_function(a);
	if (err == -ENOENT || (err == 0 && !a->function))
		return ask_fail(ask, 404, "choose a function that has code",
				"the function has neither lines nor instructions");
	if (err == 0)
		err = annotate_code_make(a->selection->profile, a->function, &options, &a->code);
	if (err == 0)
		err = enter_lines(a, &options);
	return err ? err : enter_code(a);
}

int answer_annotate(struct ask *ask)
{
	struct annotate_answer *a = calloc(1, sizeof(*a));
	int err = a ? selection_get(ask, &a->selection) : -ENOMEM;

	if (err == 0)
		err = asked_find(ask, a->selection, &a->row);
	if (err == 0)
		err = annotate_fill(ask, a);
	if (err == 0)
		annotate_put(ask, a);
	if (a) {
		annotate_code_free(&a->code);
		annotate_free(&a->annotate);
		words_end(&a->words);
	}
	free(a);
	return err;
}
