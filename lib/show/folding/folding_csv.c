/* SPDX-License-Identifier: MIT */
/*
 * Writes a folding as CSV; see folding.h. The first column tells which of three kinds a row is:
 *
 *   curve,NAME,X,Y,LOW,HIGH,RATE,LOW,HIGH   a counter at the upper bound of a cell of its grid: the
 *                                           share reached; the rate in the cell, a second
 *   phase,NAME,FROM,TO,SHARE,RATE,LOW,HIGH,PATH,LOW,HIGH
 *                                           the last two are the band of TO
 *   routine,NAME,X,SAMPLES                  in the column that ends at X
 */
#include "base/csv.h"
#include "folding/folding.h"
#include "folding/folding_put.h"

#define DIGITS 9

static int write_curve(struct csv *csv, const struct folding_counter *c)
{
	const struct fold_curve *curve = c->curve;
	int err = 0;

	for (uint32_t i = 0; curve && i < curve->cells && !err; i++) {
		csv_word(csv, "curve");
		csv_name(csv, c->name);
		csv_double(csv, (double)(i + 1) / curve->cells, DIGITS);
		csv_double(csv, curve->y[i + 1], DIGITS);
		csv_double(csv, curve->y_low[i + 1], DIGITS);
		csv_double(csv, curve->y_high[i + 1], DIGITS);
		csv_double(csv, curve->rate[i] * c->per_second, DIGITS);
		csv_double(csv, curve->rate_low[i] * c->per_second, DIGITS);
		csv_double(csv, curve->rate_high[i] * c->per_second, DIGITS);
		err = csv_end_row(csv);
	}
	return err;
}

static int write_phase(struct csv *csv, const struct folding *f, const struct folding_phase *phase)
{
	const struct fold_phase *p = &phase->phase;
	const double per_second = f->counters[0].per_second;
	struct buf path = {0};

	csv_word(csv, "phase");
	csv_name(csv, f->counters[0].name);
	csv_double(csv, p->from.value, DIGITS);
	csv_double(csv, p->to.value, DIGITS);
	csv_double(csv, p->share.value, DIGITS);
	csv_double(csv, p->rate.value * per_second, DIGITS);
	csv_double(csv, p->rate.low * per_second, DIGITS);
	csv_double(csv, p->rate.high * per_second, DIGITS);
	folding_put_path(&path, phase, true);
	csv_text(csv, &path);
	csv_double(csv, p->to.low, DIGITS);
	csv_double(csv, p->to.high, DIGITS);
	return csv_end_row(csv);
}

static int write_routine(struct csv *csv, const struct folding_routine *r)
{
	int err = 0;

	for (unsigned i = 0; i < FOLDING_COLUMNS && !err; i++) {
		csv_word(csv, "routine");
		csv_name(csv, r->symbol ? r->symbol->name : "(others)");
		csv_double(csv, (double)(i + 1) / FOLDING_COLUMNS, DIGITS);
		csv_uint(csv, r->columns[i]);
		err = csv_end_row(csv);
	}
	return err;
}

int folding_write_csv(const struct folding *f, FILE *out)
{
	struct csv csv = {.out = out};
	int err = 0;

	for (unsigned i = 0; i < f->n_counters && !err; i++)
		err = write_curve(&csv, &f->counters[i]);
	for (uint32_t i = 0; i < f->n_phases && !err; i++)
		err = write_phase(&csv, f, &f->phases[i]);
	for (unsigned i = 0; i < f->n_routines && !err; i++)
		err = write_routine(&csv, &f->routines[i]);
	return csv_finish(&csv, err);
}
