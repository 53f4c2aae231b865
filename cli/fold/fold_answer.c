/* SPDX-License-Identifier: MIT */
/*
 * The answer to the page's question /fold (docs/WEB.md): the regions that can be folded, or the
 * folding of one. Curves have a thousand cells, which no screen shows: neighbours are averaged.
 */
#include "cli/fold_answer.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "folding/folding.h"
#include "folding/folding_put.h"
#include "web/words.h"

#define FOLD_ANSWER_CELLS   200u /* of a curve */
#define FOLD_ANSWER_COLUMNS 100u /* of a line */
#define FOLD_ANSWER_REGIONS 500u
#define FOLD_ANSWER_DIGITS  5

/* Writes a string as answers show it. */
static void put_shown(struct json *j, struct words *words, const char *key, const char *text)
{
	uint32_t number;
	int err = words_string(words, text, &number);

	if (err)
		j->err = err;
	else
		json_put_string(j, key, strings_at(words->strings, number));
}

/* Writes `n` values as at most FOLD_ANSWER_CELLS means. */
static void put_means(struct json *j, const char *key, const double *values, uint32_t n)
{
	const uint32_t cells = n < FOLD_ANSWER_CELLS ? n : FOLD_ANSWER_CELLS;

	json_put_array(j, key);
	for (uint32_t i = 0; i < cells; i++) {
		const uint32_t from = (uint32_t)((uint64_t)i * n / cells);
		const uint32_t to = (uint32_t)((uint64_t)(i + 1) * n / cells);
		double sum = 0;

		for (uint32_t k = from; k < to; k++)
			sum += values[k];
		json_put_double(j, NULL, sum / (to - from), FOLD_ANSWER_DIGITS);
	}
	json_put_end(j);
}

static void put_counter(struct json *j, struct words *words, const struct folding_counter *c)
{
	const struct fold_curve *curve = c->curve;

	json_put_object(j, NULL);
	put_shown(j, words, "name", c->name);
	json_put_uint(j, "passes", c->passes);
	json_put_double(j, "mean", c->mean, 9);
	json_put_double(j, "per_second", c->per_second, FOLD_ANSWER_DIGITS);
	if (curve) {
		put_means(j, "rate", curve->rate, curve->cells);
		json_put_null(j, "problem");
	} else {
		json_put_string(j, "problem", folding_why_no_curve(c));
	}
	if (curve && curve->has_bands) {
		put_means(j, "low", curve->rate_low, curve->cells);
		put_means(j, "high", curve->rate_high, curve->cells);
	}
	json_put_end(j);
}

static void put_phase(struct json *j, struct words *words, const struct folding_phase *phase)
{
	const struct fold_phase *p = &phase->phase;
	struct buf path = {0};

	folding_put_path(&path, phase, true);
	buf_put_u8(&path, '\0');
	json_put_object(j, NULL);
	json_put_uint(j, "samples", phase->samples);
	json_put_double(j, "from", p->from.value, FOLD_ANSWER_DIGITS);
	json_put_double(j, "to", p->to.value, FOLD_ANSWER_DIGITS);
	json_put_double(j, "to_low", p->to.low, FOLD_ANSWER_DIGITS);
	json_put_double(j, "to_high", p->to.high, FOLD_ANSWER_DIGITS);
	json_put_double(j, "rate", p->rate.value, FOLD_ANSWER_DIGITS);
	json_put_double(j, "low", p->rate.low, FOLD_ANSWER_DIGITS);
	json_put_double(j, "high", p->rate.high, FOLD_ANSWER_DIGITS);
	put_shown(j, words, "path", path.failed ? "" : (const char *)path.data);
	put_shown(j, words, "file", phase->file);
	json_put_uint(j, "line", phase->line);
	json_put_end(j);
	buf_free(&path);
}

static void put_routine(struct json *j, struct words *words, const struct folding_routine *r)
{
	json_put_object(j, NULL);
	put_shown(j, words, "name", r->symbol ? r->symbol->name : "");
	json_put_uint(j, "samples", r->samples);
	json_put_array(j, "columns");
	for (unsigned i = 0; i < FOLDING_COLUMNS; i++)
		json_put_uint(j, NULL, r->columns[i]);
	json_put_end(j);
	json_put_end(j);
}

static void put_line(struct json *j, struct words *words, const struct folding_line *line)
{
	const unsigned each = FOLDING_LINE_COLUMNS / FOLD_ANSWER_COLUMNS;

	json_put_object(j, NULL);
	put_shown(j, words, "function", line->symbol->name);
	put_shown(j, words, "file", line->file);
	json_put_uint(j, "line", line->line);
	json_put_uint(j, "samples", line->samples);
	json_put_array(j, "columns");
	for (unsigned i = 0; i < FOLD_ANSWER_COLUMNS; i++) {
		uint64_t sum = 0;

		for (unsigned k = 0; k < each; k++)
			sum += line->columns[i * each + k];
		json_put_uint(j, NULL, sum);
	}
	json_put_end(j);
	json_put_end(j);
}

static void put_folding(struct json *j, struct words *words, const struct folding *f)
{
	put_shown(j, words, "region", f->passes.name);
	json_put_string(j, "passes_are", folding_unit(f));
	json_put_uint(j, "passes", f->passes.all.count);
	json_put_double(j, "mean_ns", f->mean_ns, 9);
	json_put_double(j, "mean_wall_ns", f->mean_wall_ns, 9);
	json_put_string(j, "axis", f->is_cpu_time ? "cpu" : "wall");
	json_put_uint(j, "in_passes", f->samples);
	json_put_uint(j, "without_place", f->passes.samples.count - f->samples);
	json_put_uint(j, "lines_left", f->lines_left);
	json_put_uint(j, "in_lines_left", f->in_lines_left);
	json_put_uint(j, "without_line", f->without_line);
	json_put_bool(j, "is_locked", f->uniform.verdict == FOLD_LOCKED);
	json_put_uint(j, "columns", FOLDING_COLUMNS);
	json_put_array(j, "counters");
	for (unsigned i = 0; i < f->n_counters; i++)
		put_counter(j, words, &f->counters[i]);
	json_put_end(j);
	json_put_array(j, "phases");
	for (uint32_t i = 0; i < f->n_phases; i++)
		put_phase(j, words, &f->phases[i]);
	json_put_end(j);
	json_put_array(j, "routines");
	for (unsigned i = 0; i < f->n_routines; i++)
		put_routine(j, words, &f->routines[i]);
	json_put_end(j);
	json_put_array(j, "lines");
	for (uint32_t i = 0; i < f->n_lines; i++)
		put_line(j, words, &f->lines[i]);
	json_put_end(j);
}

static int put_all(struct json *j, const struct folding *folding)
{
	struct words words;
	int err = words_begin(&words);

	if (err == 0)
		put_folding(j, &words, folding);
	words_end(&words);
	return err;
}

static int fold_one(struct profile *profile, const struct profile_symbol *region,
		    const struct web_fold *fold, struct json *j)
{
	static const enum folding_time times[] = {[WEB_FOLD_BEST] = FOLDING_BEST,
						  [WEB_FOLD_CPU] = FOLDING_CPU,
						  [WEB_FOLD_WALL] = FOLDING_WALL};
	const struct folding_options options = {.time = times[fold->time]};
	struct folding *folding = NULL;
	struct passes passes = {0};
	int err = passes_make(profile, region, &passes);

	if (err == 0)
		err = folding_new(profile, &passes, &options, &folding);
	passes_free(&passes);
	if (err)
		return err;
	err = put_all(j, folding);
	folding_free(folding);
	return err;
}

static int put_regions(struct json *j, const struct pass_region *regions, size_t n)
{
	struct words words;
	int err = words_begin(&words);

	json_put_array(j, "regions");
	for (size_t i = 0; err == 0 && i < n && i < FOLD_ANSWER_REGIONS && j->text.len < 200000;
	     i++)
		put_shown(j, &words, NULL, regions[i].symbol->name);
	json_put_end(j);
	words_end(&words);
	return err;
}

int fold_answer(const void *arg, struct profile *profile, const struct web_fold *fold,
		struct json *j)
{
	struct pass_region *regions = NULL;
	const struct profile_symbol *region = NULL;
	size_t n;
	int err = passes_regions(profile, NULL, &regions, &n);

	(void)arg;
	if (err)
		return err;
	for (size_t i = 0; fold->region && !region && i < n; i++)
		if (words_is(regions[i].symbol->name, fold->region))
			region = regions[i].symbol;
	if (!fold->region)
		err = put_regions(j, regions, n);
	else
		err = region ? fold_one(profile, region, fold, j) : -ENOENT;
	free(regions);
	return err;
}

int fold_answer_given(const void *folding, struct profile *profile, const struct web_fold *fold,
		      struct json *j)
{
	(void)profile, (void)fold;
	return put_all(j, folding);
}
