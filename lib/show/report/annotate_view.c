/* SPDX-License-Identifier: MIT */
/*
 * Annotated functions as text or JSON; see annotate_view.h.
 *
 * Text has the source on the left, and on the right of each line its instructions in the order of
 * their addresses. The instructions of a line are together even if the compiler spread them over
 * the function. The text goes from the first to the last line that has code or samples of the
 * function. Instructions without a line come last.
 *
 * JSON: {"schema":1, the members of the header, "functions":[{"name","object","self","total",
 * "problem": why there are no instructions, or "", "missing": a debug file that is needed, or "",
 * "lines":[{"file","line","self","total"}],
 * "instructions":[{"offset","text","file","line","self","total","hit","inlined"}]}], "more":
 * functions that match the name but are not shown}.
 */
#include "report/annotate_view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/report_header.h"
#include "report/treeview.h"

#define VIEW_LEFT 74 /* columns of the source half, if options->width is not given */
/* columns: in narrower output, instructions come below their line, not beside it */
#define VIEW_SIDES 60
#define VIEW_ALL   40	/* columns: narrower output has no totals and offsets */
#define VIEW_LINES 4000 /* most source lines of a function */

struct view {
	const struct profile *profile;
	const struct annotate_function *function;
	const struct annotate_code_options *code_options;
	const struct report_options *options;
	FILE *out;
	struct buf row, side; /* row: the current row; side: one half of it */
	struct annotate_code code;
	struct annotate_source source;
	const char *file; /* the file whose lines are shown */
	uint32_t first, last;
	uint32_t *next; /* by instruction: number of the next one of the same line + 1 */
	/* columns of the source half; 0: instructions come below their line */
	unsigned left;
};

static int view_line(struct view *v, bool strong)
{
	return treeview_row(&v->row, v->options, strong, v->out);
}

static bool view_has_all(const struct view *v)
{
	return !v->options->width || v->options->width >= VIEW_ALL;
}

static bool view_is_hot(const struct view *v, uint64_t self)
{
	return self && self * 20 >= v->function->total;
}

static void view_share(const struct view *v, struct buf *b, uint64_t samples)
{
	char share[TEXT_SHARE_MAX];

	if (samples)
		text_printf(b, " %5s%%", text_share(samples, v->function->total, share));
	else
		text_put_raw(b, "       ");
}

/* Chooses the file whose lines are shown: the one with most samples. */
static void view_choose_file(struct view *v)
{
	uint64_t best = 0;

	for (uint32_t i = 0; i < v->function->n_lines; i++) {
		const struct annotate_line *l = &v->function->lines[i];
		uint64_t samples = 0;

		for (uint32_t k = i;
		     l->file && k < v->function->n_lines && v->function->lines[k].file == l->file;
		     k++)
			samples += v->function->lines[k].total;
		if (samples > best) {
			best = samples;
			v->file = l->file;
		}
	}
}

static bool view_same_file(const struct view *v, const char *file)
{
	return file && v->file && strcmp(file, v->file) == 0;
}

static void view_span_line(struct view *v, uint32_t line)
{
	if (!line)
		return;
	v->first = !v->first || line < v->first ? line : v->first;
	v->last = line > v->last ? line : v->last;
}

/* Determines the first and the last line to show. */
static void view_span(struct view *v)
{
	uint32_t line;

	for (uint32_t i = 0; i < v->function->n_lines; i++)
		if (view_same_file(v, v->function->lines[i].file))
			view_span_line(v, v->function->lines[i].line);
	for (uint32_t i = 0; i < v->code.n; i++)
		if (view_same_file(v, v->code.instructions[i].file))
			view_span_line(v, v->code.instructions[i].line);
	line = v->function->symbol->first_line;
	if (line && line < v->first && v->last - line <= VIEW_LINES)
		v->first = line; /* of a managed function: "def f():" */
	if (v->last - v->first > VIEW_LINES)
		v->last = v->first + VIEW_LINES;
}

static const struct annotate_line *view_find_line(const struct view *v, uint32_t line)
{
	for (uint32_t i = 0; i < v->function->n_lines; i++)
		if (v->function->lines[i].line == line &&
		    view_same_file(v, v->function->lines[i].file))
			return &v->function->lines[i];
	return NULL;
}

/* --- halves of a row ------------------------------------------------------------------------ */

/* Pads or cuts the text in v->side to the source half's width, and moves it to the row. */
static void view_put_left(struct view *v)
{
	size_t used = 0;

	if (v->left)
		text_cut(&v->side, v->left);
	for (size_t i = 0; i < v->side.len; i++)
		used += (v->side.data[i] & 0xc0) != 0x80;
	buf_put(&v->row, v->side.data, v->side.len);
	for (; used < v->left; used++)
		text_put_raw(&v->row, " ");
	buf_clear(&v->side);
}

static void view_put_source(struct view *v, uint32_t line)
{
	const struct annotate_line *l = view_find_line(v, line);
	const char *text = line <= v->source.n ? v->source.lines[line] : "";

	view_share(v, &v->side, l ? l->self : 0);
	if (view_has_all(v))
		view_share(v, &v->side, l ? l->total : 0);
	text_printf(&v->side, " %5u  ", line);
	for (; *text == '\t' || *text == ' '; text++)
		if (view_has_all(v))
			text_put_raw(&v->side, *text == '\t' ? "    " : " ");
	text_put_name(&v->side, text, v->options->utf8);
	view_put_left(v);
}

static void view_put_instruction(struct view *v, const struct annotate_instruction *i)
{
	text_put_raw(&v->row, v->options->utf8 ? "│" : "|");
	view_share(v, &v->row, i->hit);
	if (view_has_all(v))
		text_printf(&v->row, " %6" PRIx64, i->offset);
	text_put_raw(&v->row, "  ");
	text_put_name(&v->row, i->text, v->options->utf8);
	if (i->inlined) {
		text_put_raw(&v->row, "  (inlined ");
		text_put_name(&v->row, i->inlined, v->options->utf8);
		text_put_raw(&v->row, ")");
	}
}

/* Writes a source line with its instructions. `at`: number of the first instruction + 1; 0: it has
 * none. Returns 0 or an error. */
static int view_rows(struct view *v, uint32_t line, uint32_t at)
{
	const struct annotate_line *l = line ? view_find_line(v, line) : NULL;
	bool is_first = true, is_strong = l && view_is_hot(v, l->self);
	int err = 0;

	if (line)
		view_put_source(v, line);
	if (line && !v->left) {
		err = view_line(v, is_strong);
		is_first = false;
	}
	if (!is_first && !at)
		return err;
	do {
		const struct annotate_instruction *i = at ? &v->code.instructions[at - 1] : NULL;
		bool is_hot = (i && view_is_hot(v, i->hit)) || (is_first && is_strong);

		if (v->left && !(line && is_first))
			view_put_left(v);
		if (i)
			view_put_instruction(v, i);
		err = view_line(v, is_hot);
		at = i ? v->next[at - 1] : 0;
		is_first = false;
	} while (err == 0 && at);
	return err;
}

/* Makes a list of the instructions of each shown line: heads[i] is its begin; heads[0] is the list
 * of instructions without a line. NULL: memory is short. */
static uint32_t *view_chain(struct view *v)
{
	uint32_t n = v->first ? v->last - v->first + 2 : 1, *heads = calloc(n, sizeof(*heads));

	v->next = calloc((size_t)v->code.n + 1, sizeof(*v->next));
	if (!heads || !v->next) {
		free(heads);
		return NULL;
	}
	for (uint32_t i = v->code.n; i-- > 0;) {
		const struct annotate_instruction *is = &v->code.instructions[i];
		bool is_shown = v->first && view_same_file(v, is->file) && is->line >= v->first &&
				is->line <= v->last;
		uint32_t slot = is_shown ? is->line - v->first + 1 : 0;

		v->next[i] = heads[slot];
		heads[slot] = i + 1;
	}
	return heads;
}

/* --- a function ----------------------------------------------------------------------------- */

/* Writes the heading of the columns. */
static int view_columns(struct view *v)
{
	text_put_raw(&v->side,
		     view_has_all(v) ? "#  self   total  line  source" : "#  self  line  source");
	view_put_left(v);
	if (!v->left)
		text_put_raw(&v->row, v->code.n ? "; hit  instruction" : "");
	else if (v->code.n)
		text_put_raw(&v->row, v->options->utf8 ? "│    hit  offset  instruction"
						       : "|    hit  offset  instruction");
	return view_line(v, false);
}

/* Writes why the source, or the functions that are inlined, are unknown. */
static int view_missing(struct view *v)
{
	text_put_raw(&v->row,
		     v->file ? "# inlined functions: not known: " : "# source: not known: ");
	if (v->code.missing[0]) {
		text_put_raw(&v->row, "needs ");
		text_put_name(&v->row, v->code.missing, v->options->utf8);
	} else {
		text_put_raw(&v->row, "built without -g, or recorded so");
	}
	return view_line(v, false);
}

static int view_head(struct view *v)
{
	const struct annotate_function *f = v->function;
	uint64_t all = profile_total(v->profile);
	char share[TEXT_SHARE_MAX], amount[METRIC_AMOUNT_MAX];
	int err;

	text_put_raw(&v->row, "\n# ");
	text_put_name(&v->row, f->symbol->name, v->options->utf8);
	treeview_object(&v->row, f->symbol->object, v->options);
	text_printf(&v->row, ": %s with what it calls, %s%% of all%s",
		    metric_amount(profile_filter(v->profile)->metric, f->total, amount),
		    text_share(f->total, all, share),
		    profile_is_filtered(v->profile) ? " chosen" : "");
	text_printf(&v->row, "; %s in the function itself",
		    metric_number(profile_filter(v->profile)->metric, f->self, amount));
	err = view_line(v, false);
	if (err == 0 && v->code.problem[0]) {
		text_put_raw(&v->row, "# no instructions: ");
		text_put_name(&v->row, v->code.problem, v->options->utf8);
		err = view_line(v, false);
	}
	if (err == 0 && v->file) {
		text_put_raw(&v->row, "# source: ");
		text_put_name(&v->row, v->file, v->options->utf8);
		text_put_raw(&v->row, v->source.n ? ""
						  : " (not found here: --source DIR names its "
						    "folder)");
		err = view_line(v, false);
	}
	if (err == 0 && (!v->file || v->code.missing[0]))
		err = view_missing(v);
	text_printf(&v->row, "# in %% of these %s:",
		    metric_amount(profile_filter(v->profile)->metric, f->total, amount));
	if (err == 0)
		err = view_line(v, false);
	return err < 0 ? err : view_columns(v);
}

/* Lists the lines in other files (mostly headers) from which parts of the function come. */
static int view_other_lines(struct view *v)
{
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < v->function->n_lines; i++) {
		const struct annotate_line *l = &v->function->lines[i];

		if (view_same_file(v, l->file) && l->line)
			continue;
		view_share(v, &v->row, l->self);
		view_share(v, &v->row, l->total);
		text_put_raw(&v->row, "        in ");
		text_put_name(&v->row, l->file ? l->file : "code without a line", v->options->utf8);
		if (l->line)
			text_printf(&v->row, ":%u", l->line);
		err = view_line(v, view_is_hot(v, l->self));
	}
	return err;
}

static int view_body(struct view *v)
{
	uint32_t *heads = view_chain(v);
	int err = heads ? 0 : -ENOMEM;

	for (uint32_t line = v->first; err == 0 && line && line <= v->last; line++)
		err = view_rows(v, line, heads[line - v->first + 1]);
	if (err == 0)
		err = view_other_lines(v);
	if (err == 0 && heads[0]) {
		v->left = v->first ? v->left : 0;
		err = view_rows(v, 0, heads[0]);
	}
	free(heads);
	return err;
}

static int view_function(struct view *v)
{
	int err = annotate_code_make(v->profile, v->function, v->code_options, &v->code);

	v->left = !v->options->width		   ? VIEW_LEFT
		  : v->options->width < VIEW_SIDES ? 0
						   : v->options->width / 2;
	view_choose_file(v);
	if (err == 0 && v->file)
		err = annotate_source_read(v->file, v->code_options, &v->source);
	view_span(v);
	if (err == 0)
		err = view_head(v);
	if (err == 0)
		err = view_body(v);
	annotate_code_free(&v->code);
	annotate_source_free(&v->source);
	free(v->next);
	buf_free(&v->row);
	buf_free(&v->side);
	return err;
}

int annotate_write_text(const struct profile *profile, const struct annotate *annotate,
			const struct annotate_code_options *code_options,
			const struct report_options *options, FILE *out)
{
	int err = report_header_text(profile, options, out);

	for (uint32_t i = 0; err == 0 && i < annotate->n; i++) {
		struct view v = {.profile = profile,
				 .function = &annotate->functions[i],
				 .code_options = code_options,
				 .options = options,
				 .out = out};

		err = view_function(&v);
	}
	if (err == 0 && annotate->n_more &&
	    fprintf(out, "\n# %u more functions of that name\n", annotate->n_more) < 0)
		err = -EIO;
	if (err == 0 && fflush(out) != 0)
		err = -EIO;
	return err;
}

/* --- JSON ----------------------------------------------------------------------------------- */

static void json_place(struct json *j, const char *file, uint32_t line)
{
	json_put_string(j, "file", file);
	json_put_uint(j, "line", line);
}

static void json_counts(struct json *j, uint64_t self, uint64_t total)
{
	json_put_uint(j, "self", self);
	json_put_uint(j, "total", total);
}

static void json_lines(struct json *j, const struct annotate_function *f)
{
	json_put_array(j, "lines");
	for (uint32_t i = 0; i < f->n_lines; i++) {
		json_put_line(j);
		json_put_object(j, NULL);
		json_place(j, f->lines[i].file, f->lines[i].line);
		json_counts(j, f->lines[i].self, f->lines[i].total);
		json_put_end(j);
	}
	json_put_end(j);
}

static void json_code(struct json *j, const struct annotate_code *code)
{
	json_put_string(j, "problem", code->problem);
	json_put_string(j, "missing", code->missing);
	json_put_array(j, "instructions");
	for (uint32_t i = 0; i < code->n; i++) {
		const struct annotate_instruction *is = &code->instructions[i];

		json_put_line(j);
		json_put_object(j, NULL);
		json_put_uint(j, "offset", is->offset);
		json_put_string(j, "text", is->text);
		json_place(j, is->file, is->line);
		json_counts(j, is->self, is->total);
		json_put_uint(j, "hit", is->hit);
		json_put_string(j, "inlined", is->inlined);
		json_put_end(j);
	}
	json_put_end(j);
}

static int json_function(const struct profile *profile, const struct annotate_function *f,
			 const struct annotate_code_options *code_options, struct json *j)
{
	struct annotate_code code;
	int err = annotate_code_make(profile, f, code_options, &code);

	if (err < 0)
		return err;
	json_put_line(j);
	json_put_object(j, NULL);
	json_put_string(j, "name", f->symbol->name);
	json_put_string(j, "object", f->symbol->object);
	json_counts(j, f->self, f->total);
	json_lines(j, f);
	json_code(j, &code);
	json_put_end(j);
	annotate_code_free(&code);
	return 0;
}

int annotate_write_json(const struct profile *profile, const struct annotate *annotate,
			const struct annotate_code_options *code_options, FILE *out)
{
	struct json j = {.out = out};
	int err = 0;

	report_header_begin_json(profile, &j);
	json_put_array(&j, "functions");
	for (uint32_t i = 0; !err && !j.err && i < annotate->n; i++)
		err = json_function(profile, &annotate->functions[i], code_options, &j);
	json_put_end(&j);
	json_put_uint(&j, "more", annotate->n_more);
	return json_put_finish(&j, err);
}
