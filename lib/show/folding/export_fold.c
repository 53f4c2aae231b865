/* SPDX-License-Identifier: MIT */
/*
 * Writes the data of a folding's page: one JSON object. Its members are:
 *
 * - region, source, unit ("passes" or "bursts"), passes (their number), samples, left_out (samples
 *   whose place is not known), mean_ns, mean_wall_ns, is_cpu_time, is_locked, columns
 * - counters: name, passes (with a known total); mean, per_second, y (a value for each bound of the
 *   cells), rate, rate_low and rate_high (one for each cell; null without bands), or why there is
 *   no curve
 * - phases: from, to, to_low and to_high (the band of `to`), share, rate, low, high, samples, path,
 *   line
 * - routines: name ("" for all others), samples, columns
 * - lines: routine, file, line, samples, at (column, samples, ...; of line_columns); lines_left is
 *   the number of other lines, in_lines_left that of their samples, and without_line that of
 *   samples without a line
 */
#include "folding/export_fold.h"

#include <errno.h>
#include <inttypes.h>

#include "base/json_put.h"
#include "base/text.h"
#include "export/page.h"
#include "folding/folding_put.h"

static const uint8_t fold_page[] = {
#include "fold.html.inc"
	0};

#define DIGITS 7

static void write_array(struct json *j, const char *key, const double *values, uint32_t n)
{
	json_put_array(j, key);
	for (uint32_t i = 0; i < n; i++)
		json_put_double(j, NULL, values[i], DIGITS);
	json_put_end(j);
}

static void write_counter(struct json *j, const struct folding_counter *c)
{
	const struct fold_curve *curve = c->curve;

	json_put_object(j, NULL);
	json_put_string(j, "name", c->name);
	json_put_double(j, "passes", (double)c->passes, DIGITS);
	json_put_double(j, "mean", c->mean, DIGITS);
	json_put_double(j, "per_second", c->per_second, DIGITS);
	if (curve) {
		write_array(j, "y", curve->y, curve->cells + 1);
		write_array(j, "rate", curve->rate, curve->cells);
	} else {
		json_put_string(j, "why", folding_why_no_curve(c));
	}
	if (curve && curve->has_bands) {
		write_array(j, "rate_low", curve->rate_low, curve->cells);
		write_array(j, "rate_high", curve->rate_high, curve->cells);
	}
	json_put_end(j);
}

static void write_place(struct json *j, const struct folding_phase *phase)
{
	struct buf line = {0};

	if (!phase->file) {
		json_put_null(j, "line");
		return;
	}
	text_put_raw(&line, text_basename(phase->file));
	text_printf(&line, ":%" PRIu32, phase->line);
	json_put_text(j, "line", &line);
}

static void write_phase(struct json *j, const struct folding_phase *phase)
{
	const struct fold_phase *p = &phase->phase;

	json_put_object(j, NULL);
	json_put_uint(j, "samples", phase->samples);
	json_put_double(j, "from", p->from.value, DIGITS);
	json_put_double(j, "to", p->to.value, DIGITS);
	json_put_double(j, "to_low", p->to.low, DIGITS);
	json_put_double(j, "to_high", p->to.high, DIGITS);
	json_put_double(j, "share", p->share.value, DIGITS);
	json_put_double(j, "rate", p->rate.value, DIGITS);
	json_put_double(j, "low", p->rate.low, DIGITS);
	json_put_double(j, "high", p->rate.high, DIGITS);
	json_put_array(j, "path");
	for (uint32_t i = 0; i < phase->depth; i++)
		json_put_string(j, NULL, phase->path[i].symbol->name);
	json_put_end(j);
	write_place(j, phase);
	json_put_end(j);
}

static void write_routine(struct json *j, const struct folding_routine *r)
{
	json_put_object(j, NULL);
	json_put_string(j, "name", r->symbol ? r->symbol->name : NULL);
	json_put_uint(j, "samples", r->samples);
	json_put_array(j, "columns");
	for (unsigned i = 0; i < FOLDING_COLUMNS; i++)
		json_put_uint(j, NULL, r->columns[i]);
	json_put_end(j);
	json_put_end(j);
}

/* Writes the columns in which a line has samples: column, samples, column, samples, ... */
static void write_line(struct json *j, const struct folding_line *line)
{
	json_put_object(j, NULL);
	json_put_string(j, "routine", line->symbol->name);
	json_put_string(j, "file", text_basename(line->file));
	json_put_uint(j, "line", line->line);
	json_put_uint(j, "samples", line->samples);
	json_put_array(j, "at");
	for (unsigned i = 0; i < FOLDING_LINE_COLUMNS; i++) {
		if (!line->columns[i])
			continue;
		json_put_uint(j, NULL, i);
		json_put_uint(j, NULL, line->columns[i]);
	}
	json_put_end(j);
	json_put_end(j);
}

static void write_lines(struct json *j, const struct folding *f)
{
	json_put_uint(j, "line_columns", FOLDING_LINE_COLUMNS);
	json_put_uint(j, "lines_left", f->lines_left);
	json_put_uint(j, "in_lines_left", f->in_lines_left);
	json_put_uint(j, "without_line", f->without_line);
	json_put_array(j, "lines");
	for (uint32_t i = 0; i < f->n_lines; i++)
		write_line(j, &f->lines[i]);
	json_put_end(j);
}

static void write_facts(struct json *j, const struct folding *f, struct profile *profile)
{
	const struct store_recording *recording = &profile_tables(profile)->recording;

	json_put_string(j, "region", f->passes.name);
	json_put_string(j, "source", recording->target);
	json_put_string(j, "unit", folding_unit(f));
	json_put_uint(j, "passes", f->passes.all.count);
	json_put_uint(j, "samples", f->samples);
	json_put_uint(j, "left_out", f->passes.samples.count - f->samples);
	json_put_double(j, "mean_ns", f->mean_ns, DIGITS);
	json_put_double(j, "mean_wall_ns", f->mean_wall_ns, DIGITS);
	json_put_bool(j, "is_cpu_time", f->is_cpu_time);
	json_put_bool(j, "is_locked", f->uniform.verdict == FOLD_LOCKED);
	json_put_uint(j, "columns", FOLDING_COLUMNS);
}

int export_fold(const struct folding *f, struct profile *profile, FILE *out)
{
	struct json j = {0};
	int err;

	json_put_object(&j, NULL);
	write_facts(&j, f, profile);
	json_put_array(&j, "counters");
	for (unsigned i = 0; i < f->n_counters; i++)
		write_counter(&j, &f->counters[i]);
	json_put_end(&j);
	json_put_array(&j, "phases");
	for (uint32_t i = 0; i < f->n_phases; i++)
		write_phase(&j, &f->phases[i]);
	json_put_end(&j);
	json_put_array(&j, "routines");
	for (unsigned i = 0; i < f->n_routines; i++)
		write_routine(&j, &f->routines[i]);
	json_put_end(&j);
	write_lines(&j, f);
	json_put_end(&j);
	err = page_write((const char *)fold_page, &j.text, out);
	buf_free(&j.text);
	return err == 0 && fflush(out) ? -EIO : err;
}
