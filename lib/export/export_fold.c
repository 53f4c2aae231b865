/* SPDX-License-Identifier: MIT */
/*
 * The data of the page of a folding: one JSON object.
 *
 * - region, source, unit ("passes" or "bursts"), passes (their number), samples, left_out (samples
 *   whose place is not known), mean_ns, mean_wall_ns, is_cpu_time, is_locked, columns
 * - counters: name, passes (in which it is known); mean, per_second, y (a value for each bound of
 *   the cells), rate, rate_low and rate_high (one for each cell; null without bands), or why there
 *   is no curve
 * - phases: from, to, to_low and to_high (the band of `to`), share, rate, low, high, samples, path,
 *   line
 * - routines: name ("" for all others), samples, columns
 * - lines: routine, file, line, samples, at (column, samples, ...; of line_columns); lines_left
 *   others have in_lines_left samples, and without_line samples have no line
 */
#include "export/export_fold.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "base/text.h"
#include "export/page.h"
#include "report/folding_put.h"

static const uint8_t fold_page[] = {
#include "fold.html.inc"
	0};

static void put_number(struct buf *b, double value)
{
	if (isfinite(value))
		text_printf(b, "%.7g", value);
	else
		text_put_raw(b, "null");
}

static void put_member(struct buf *b, const char *name, double value)
{
	text_printf(b, ",\"%s\":", name);
	put_number(b, value);
}

static void put_array(struct buf *b, const char *name, const double *values, uint32_t n)
{
	text_printf(b, ",\"%s\":[", name);
	for (uint32_t i = 0; i < n; i++) {
		text_put_raw(b, i ? "," : "");
		put_number(b, values[i]);
	}
	text_put_raw(b, "]");
}

static void put_counter(struct buf *b, const struct folding_counter *c)
{
	const struct fold_curve *curve = c->curve;

	text_put_raw(b, "{\"name\":");
	text_put_json(b, c->name);
	put_member(b, "passes", (double)c->passes);
	put_member(b, "mean", c->mean);
	put_member(b, "per_second", c->per_second);
	if (curve) {
		put_array(b, "y", curve->y, curve->cells + 1);
		put_array(b, "rate", curve->rate, curve->cells);
	} else {
		text_put_raw(b, ",\"why\":");
		text_put_json(b, folding_why_no_curve(c));
	}
	if (curve && curve->has_bands) {
		put_array(b, "rate_low", curve->rate_low, curve->cells);
		put_array(b, "rate_high", curve->rate_high, curve->cells);
	}
	text_put_raw(b, "}");
}

static void put_line(struct buf *b, const struct folding_phase *phase)
{
	struct buf line = {0};

	text_put_raw(b, ",\"line\":");
	if (!phase->file) {
		text_put_raw(b, "null");
		return;
	}
	text_put_raw(&line, text_basename(phase->file));
	text_printf(&line, ":%" PRIu32, phase->line);
	buf_put(&line, "", 1);
	text_put_json(b, line.data && !line.failed ? (const char *)line.data : "");
	b->failed |= line.failed;
	buf_free(&line);
}

static void put_phase(struct buf *b, const struct folding_phase *phase)
{
	const struct fold_phase *p = &phase->phase;

	text_printf(b, "{\"samples\":%" PRIu64, phase->samples);
	put_member(b, "from", p->from.value);
	put_member(b, "to", p->to.value);
	put_member(b, "to_low", p->to.low);
	put_member(b, "to_high", p->to.high);
	put_member(b, "share", p->share.value);
	put_member(b, "rate", p->rate.value);
	put_member(b, "low", p->rate.low);
	put_member(b, "high", p->rate.high);
	text_put_raw(b, ",\"path\":[");
	for (uint32_t i = 0; i < phase->depth; i++) {
		text_put_raw(b, i ? "," : "");
		text_put_json(b, phase->path[i].symbol->name);
	}
	text_put_raw(b, "]");
	put_line(b, phase);
	text_put_raw(b, "}");
}

static void put_routine(struct buf *b, const struct folding_routine *r)
{
	text_put_raw(b, "{\"name\":");
	text_put_json(b, r->symbol ? r->symbol->name : "");
	text_printf(b, ",\"samples\":%" PRIu64 ",\"columns\":[", r->samples);
	for (unsigned i = 0; i < FOLDING_COLUMNS; i++)
		text_printf(b, "%s%" PRIu64, i ? "," : "", r->columns[i]);
	text_put_raw(b, "]}");
}

/* Of the columns, only those that have samples: column, samples, column, samples, ... */
static void put_folding_line(struct buf *b, const struct folding_line *line)
{
	const char *separator = "";

	text_put_raw(b, "{\"routine\":");
	text_put_json(b, line->symbol->name);
	text_put_raw(b, ",\"file\":");
	text_put_json(b, text_basename(line->file));
	text_printf(b, ",\"line\":%" PRIu32 ",\"samples\":%" PRIu64 ",\"at\":[", line->line,
		    line->samples);
	for (unsigned i = 0; i < FOLDING_LINE_COLUMNS; i++) {
		if (!line->columns[i])
			continue;
		text_printf(b, "%s%u,%" PRIu64, separator, i, line->columns[i]);
		separator = ",";
	}
	text_put_raw(b, "]}");
}

static void put_lines(struct buf *b, const struct folding *f)
{
	text_printf(b,
		    ",\"line_columns\":%u,\"lines_left\":%" PRIu32 ",\"in_lines_left\":%" PRIu64
		    ",\"without_line\":%" PRIu64 ",\"lines\":[",
		    FOLDING_LINE_COLUMNS, f->lines_left, f->in_lines_left, f->without_line);
	for (uint32_t i = 0; i < f->n_lines; i++) {
		text_put_raw(b, i ? "," : "");
		put_folding_line(b, &f->lines[i]);
	}
	text_put_raw(b, "]");
}

static void put_facts(struct buf *b, const struct folding *f, struct profile *profile)
{
	const struct store_recording *recording = &profile_tables(profile)->recording;

	text_put_raw(b, "{\"region\":");
	text_put_json(b, f->passes.name);
	text_put_raw(b, ",\"source\":");
	text_put_json(b, recording->target ? recording->target : "");
	text_printf(b,
		    ",\"unit\":\"%s\",\"passes\":%zu,\"samples\":%" PRIu64 ",\"left_out\":%" PRIu64,
		    folding_unit(f), f->passes.all.count, f->samples,
		    f->passes.samples.count - f->samples);
	put_member(b, "mean_ns", f->mean_ns);
	put_member(b, "mean_wall_ns", f->mean_wall_ns);
	text_printf(b, ",\"is_cpu_time\":%s", f->is_cpu_time ? "true" : "false");
	text_printf(b, ",\"is_locked\":%s", f->uniform.verdict == FOLD_LOCKED ? "true" : "false");
	text_printf(b, ",\"columns\":%u", FOLDING_COLUMNS);
}

int export_fold(const struct folding *f, struct profile *profile, FILE *out)
{
	struct buf b = {0};
	int err;

	put_facts(&b, f, profile);
	text_put_raw(&b, ",\"counters\":[");
	for (unsigned i = 0; i < f->n_counters; i++) {
		text_put_raw(&b, i ? "," : "");
		put_counter(&b, &f->counters[i]);
	}
	text_put_raw(&b, "],\"phases\":[");
	for (uint32_t i = 0; i < f->n_phases; i++) {
		text_put_raw(&b, i ? "," : "");
		put_phase(&b, &f->phases[i]);
	}
	text_put_raw(&b, "],\"routines\":[");
	for (unsigned i = 0; i < f->n_routines; i++) {
		text_put_raw(&b, i ? "," : "");
		put_routine(&b, &f->routines[i]);
	}
	text_put_raw(&b, "]");
	put_lines(&b, f);
	text_put_raw(&b, "}");
	err = page_write((const char *)fold_page, &b, out);
	buf_free(&b);
	return err == 0 && fflush(out) ? -EIO : err;
}
