/* SPDX-License-Identifier: MIT */
/* Passes through regions (model/region_rows.h). */
#include <math.h>

#include "model/region_rows.h"
#include "web/answers.h"
#include "web/selection.h"
#include "web/words.h"

#define REGIONS_MOST 1000

struct regions {
	struct region_rows rows;
	uint32_t n;
	uint32_t names[REGIONS_MOST];
	struct words words;
};

static uint64_t mean(const struct region_figures *f)
{
	return f->visits ? f->ended_ns / f->visits : 0;
}

#define REGIONS_COLUMN(j, name, put, value)                                                        \
	do {                                                                                       \
		json_put_array(j, name);                                                           \
		for (uint32_t i = 0; i < r->n; i++) {                                              \
			const struct region_row *row = &r->rows.regions.items[i];                  \
			const struct region_figures *f = &row->figures;                            \
			(void)f;                                                                   \
			put(j, NULL, value);                                                       \
		}                                                                                  \
		json_put_end(j);                                                                   \
	} while (0)

/* Writes when a region's probes were taken off; null: they were not. */
static void put_off(struct json *j, const struct regions *r, uint64_t start_ns)
{
	json_put_array(j, "off_ns");
	for (uint32_t i = 0; i < r->n; i++) {
		const struct region_row *row = &r->rows.regions.items[i];

		if (row->is_off)
			json_put_uint(j, NULL, row->off_ns > start_ns ? row->off_ns - start_ns : 0);
		else
			json_put_null(j, NULL);
	}
	json_put_end(j);
}

static void put_columns(struct json *j, const struct regions *r)
{
	REGIONS_COLUMN(j, "name", json_put_uint, r->names[i]);
	REGIONS_COLUMN(j, "visits", json_put_uint, f->visits);
	REGIONS_COLUMN(j, "left", json_put_uint, f->left);
	REGIONS_COLUMN(j, "total_ns", json_put_uint, f->total_ns);
	REGIONS_COLUMN(j, "own_ns", json_put_uint, f->own_ns);
	REGIONS_COLUMN(j, "cpu_ns", json_put_uint, f->cpu_ns);
	REGIONS_COLUMN(j, "least_ns", json_put_uint, f->visits ? f->least_ns : 0);
	REGIONS_COLUMN(j, "most_ns", json_put_uint, f->most_ns);
	REGIONS_COLUMN(j, "mean_ns", json_put_uint, mean(f));
	REGIONS_COLUMN(j, "threads", json_put_uint, row->n_threads);
	REGIONS_COLUMN(j, "sent", json_put_uint, f->sent);
	REGIONS_COLUMN(j, "received", json_put_uint, f->received);
	REGIONS_COLUMN(j, "read", json_put_uint, f->read);
	REGIONS_COLUMN(j, "written", json_put_uint, f->written);
	REGIONS_COLUMN(j, "estimated_ns", json_put_uint, f->estimated_ns);
}

int answer_regions(struct ask *ask)
{
	struct regions regions = {.n = 0}, *r = &regions;
	struct selection *s;
	int err = selection_of_metric(ask, METRIC_REGION_TIME, &s);

	if (err)
		return err;
	err = words_begin(&r->words);
	if (err == 0)
		err = region_rows_make(s->profile, NULL, &r->rows);
	for (; err == 0 && r->n < r->rows.regions.count && r->n < REGIONS_MOST &&
	       words_size(&r->words) + r->n * 200u < WEB_ANSWER_MAX - 20000;
	     r->n++)
		err = words_string(&r->words, r->rows.regions.items[r->n].name, &r->names[r->n]);
	if (err == 0) {
		selection_put(ask, s);
		json_put_uint(&ask->json, "left_out", r->rows.regions.count - r->n);
		words_put(&r->words, false, &ask->json);
		json_put_object(&ask->json, "regions");
		put_columns(&ask->json, r);
		put_off(&ask->json, r, profile_tables(s->profile)->recording.start_ns);
		json_put_end(&ask->json);
	}
	region_rows_free(&r->rows);
	words_end(&r->words);
	return err;
}
