/* SPDX-License-Identifier: MIT */
/*
 * A folding as a table for programs; see folding.h. Three kinds of rows, of which the first column
 * says which it is:
 *
 *   curve,NAME,X,Y,LOW,HIGH,RATE,LOW,HIGH   a counter at the upper bound of a cell of its grid: the
 *                                           share reached; the rate in the cell, a second
 *   phase,NAME,FROM,TO,SHARE,RATE,LOW,HIGH,PATH,LOW,HIGH
 *                                           the last two are the band of TO
 *   routine,NAME,X,SAMPLES                  in the column that ends at X
 */
#include <inttypes.h>
#include <math.h>

#include "report/folding.h"
#include "report/folding_put.h"

/* Appends a text in quotes. */
static void put_quoted(struct buf *b, const char *text)
{
	text_put_raw(b, "\"");
	text_put(b, text, "\"");
	text_put_raw(b, "\"");
}

/* Appends a number; nothing if there is none. */
static void put_field(struct buf *b, double value)
{
	text_put_raw(b, ",");
	if (!isnan(value))
		text_printf(b, "%.9g", value);
}

static int write_curve(struct buf *b, const struct folding_counter *c, FILE *out)
{
	const struct fold_curve *curve = c->curve;
	int err = 0;

	for (uint32_t i = 0; curve && i < curve->cells && !err; i++) {
		text_put_raw(b, "curve,");
		put_quoted(b, c->name);
		put_field(b, (double)(i + 1) / curve->cells);
		put_field(b, curve->y[i + 1]);
		put_field(b, curve->y_low[i + 1]);
		put_field(b, curve->y_high[i + 1]);
		put_field(b, curve->rate[i] * c->per_second);
		put_field(b, curve->rate_low[i] * c->per_second);
		put_field(b, curve->rate_high[i] * c->per_second);
		text_put_raw(b, "\n");
		err = text_flush(b, out);
	}
	return err;
}

static void put_phase(struct buf *b, const struct folding *f, const struct folding_phase *phase)
{
	const struct fold_phase *p = &phase->phase;
	const double per_second = f->counters[0].per_second;
	struct buf path = {0};

	text_put_raw(b, "phase,");
	put_quoted(b, f->counters[0].name);
	put_field(b, p->from.value);
	put_field(b, p->to.value);
	put_field(b, p->share.value);
	put_field(b, p->rate.value * per_second);
	put_field(b, p->rate.low * per_second);
	put_field(b, p->rate.high * per_second);
	folding_put_path(&path, phase, true);
	buf_put(&path, "", 1);
	text_put_raw(b, ",");
	put_quoted(b, path.data ? (const char *)path.data : "");
	put_field(b, p->to.low);
	put_field(b, p->to.high);
	text_put_raw(b, "\n");
	buf_free(&path);
}

static void put_routine(struct buf *b, const struct folding_routine *r)
{
	for (unsigned i = 0; i < FOLDING_COLUMNS; i++) {
		text_put_raw(b, "routine,");
		put_quoted(b, r->symbol ? r->symbol->name : "(others)");
		put_field(b, (double)(i + 1) / FOLDING_COLUMNS);
		text_printf(b, ",%" PRIu64 "\n", r->columns[i]);
	}
}

int folding_write_csv(const struct folding *f, FILE *out)
{
	struct buf b = {0};
	int err = 0;

	for (unsigned i = 0; i < f->n_counters && !err; i++)
		err = write_curve(&b, &f->counters[i], out);
	for (uint32_t i = 0; i < f->n_phases; i++)
		put_phase(&b, f, &f->phases[i]);
	for (unsigned i = 0; i < f->n_routines; i++)
		put_routine(&b, &f->routines[i]);
	return text_end(&b, out, err);
}
