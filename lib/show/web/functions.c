/* SPDX-License-Identifier: MIT */
/* A table of functions with self and total amounts and their errors. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "web/answers.h"
#include "web/selection.h"
#include "web/words.h"

#define FUNCTIONS_LIMIT 500
#define FUNCTIONS_MOST	2000
#define FUNCTIONS_ROW	40 /* bytes that the numbers of a row take in the answer, about */

enum functions_sort { FUNCTIONS_SELF, FUNCTIONS_TOTAL, FUNCTIONS_NAME };

struct functions {
	struct selection *selection;
	const struct flat *flat;
	const char *filter; /* or NULL */
	unsigned sort;
	uint64_t limit, offset;
	uint32_t *rows; /* numbers of rows of `flat` that match the filter, sorted */
	uint32_t n;
	const double *variances; /* of self, by symbol; NULL: there are none */
	struct words words;
};

static int functions_read(struct ask *ask, struct functions *f)
{
	static const char *const sorts[] = {"self", "total", "name", NULL};
	int err = ask_word(ask, "sort", sorts, &f->sort);

	f->filter = ask_text(ask, "filter");
	if (err == 0)
		err = ask_number(ask, "limit", 1, FUNCTIONS_MOST, &f->limit);
	return err ? err : ask_number(ask, "offset", 0, UINT32_MAX, &f->offset);
}

/* Returns whether a text contains another one, without regard to case. */
static bool functions_has(const char *text, const char *part)
{
	const size_t len = strlen(part);

	for (; *text; text++)
		if (tolower((unsigned char)*text) == tolower((unsigned char)*part) &&
		    strncasecmp(text, part, len) == 0)
			return true;
	return !len;
}

static int compare(const void *a, const void *b, void *arg)
{
	const struct functions *f = arg;
	const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct flat_row *x = &f->flat->rows[i], *y = &f->flat->rows[j];
	int order = 0;

	if (f->sort == FUNCTIONS_TOTAL && x->total != y->total)
		return x->total < y->total ? 1 : -1;
	if (f->sort == FUNCTIONS_NAME)
		order = strcmp(profile_symbol_at(f->selection->profile, x->symbol)->name,
			       profile_symbol_at(f->selection->profile, y->symbol)->name);
	/* The list is sorted by self, total and name. */
	return order ? order : (i > j) - (i < j);
}

static int functions_choose(struct functions *f)
{
	f->rows = calloc((size_t)f->flat->n + 1, sizeof(*f->rows));
	if (!f->rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->flat->n; i++) {
		const struct profile_symbol *symbol =
			profile_symbol_at(f->selection->profile, f->flat->rows[i].symbol);

		if (!f->filter || functions_has(symbol->name, f->filter) ||
		    functions_has(symbol->object, f->filter))
			f->rows[f->n++] = i;
	}
	if (f->sort != FUNCTIONS_SELF)
		qsort_r(f->rows, f->n, sizeof(*f->rows), compare, f);
	return 0;
}

static void put_self_error(struct json *j, const struct functions *f, const struct flat_row *row)
{
	if (f->variances)
		json_put_double(j, NULL, sqrt(fmax(f->variances[row->symbol], 0)), 5);
	else if (selection_is_plain(f->selection))
		json_put_double(j, NULL, sqrt((double)row->self), 5);
	else
		json_put_null(j, NULL);
}

/* Enters the names of the rows that are shown. If the answer would be too large, shows fewer. */
static int functions_words(struct functions *f, uint32_t from, uint32_t *to, uint32_t *frames)
{
	int err = 0;

	for (uint32_t i = from; err == 0 && i < *to; i++) {
		const struct flat_row *row = &f->flat->rows[f->rows[i]];

		err = words_symbol(&f->words, profile_symbol_at(f->selection->profile, row->symbol),
				   false, &frames[i - from]);
		if (words_size(&f->words) + (size_t)(i - from) * FUNCTIONS_ROW >
		    WEB_ANSWER_MAX - 10000)
			*to = i;
	}
	return err;
}

#define FUNCTIONS_COLUMN(name, value)                                                              \
	do {                                                                                       \
		json_put_array(j, name);                                                           \
		for (uint32_t i = from; i < to; i++) {                                             \
			const struct flat_row *row = &f->flat->rows[f->rows[i]];                   \
			const struct words_frame *frame =                                          \
				&f->words.frames.items[frames[i - from]];                          \
			(void)row, (void)frame;                                                    \
			value;                                                                     \
		}                                                                                  \
		json_put_end(j);                                                                   \
	} while (0)

static void functions_put(struct json *j, const struct functions *f, uint32_t from, uint32_t to,
			  const uint32_t *frames)
{
	json_put_uint(j, "count", f->n);
	json_put_uint(j, "offset", from);
	words_put(&f->words, false, j);
	json_put_object(j, "functions");
	FUNCTIONS_COLUMN("name", json_put_uint(j, NULL, frame->name));
	FUNCTIONS_COLUMN("object", json_put_uint(j, NULL, frame->object));
	FUNCTIONS_COLUMN("kind", json_put_uint(j, NULL, frame->kind));
	FUNCTIONS_COLUMN("self", json_put_uint(j, NULL, row->self));
	FUNCTIONS_COLUMN("self_error", put_self_error(j, f, row));
	FUNCTIONS_COLUMN("total", json_put_uint(j, NULL, row->total));
	FUNCTIONS_COLUMN("inferred", json_put_uint(j, NULL, row->inferred));
	json_put_end(j);
}

static int functions_write(struct ask *ask, struct functions *f)
{
	const uint32_t from = f->offset < f->n ? (uint32_t)f->offset : f->n;
	uint32_t to = f->n - from > f->limit ? from + (uint32_t)f->limit : f->n;
	uint32_t *frames = calloc((size_t)(to - from) + 1, sizeof(*frames));
	int err = frames ? words_begin(&f->words) : -ENOMEM;

	if (err == 0)
		err = functions_words(f, from, &to, frames);
	if (err == 0) {
		selection_put(ask, f->selection);
		functions_put(&ask->json, f, from, to, frames);
	}
	free(frames);
	return err;
}

int answer_functions(struct ask *ask)
{
	struct functions f = {.limit = FUNCTIONS_LIMIT};
	int err = functions_read(ask, &f);

	if (err == 0)
		err = selection_get(ask, &f.selection);
	if (err == 0)
		err = selection_flat(ask, f.selection, &f.flat);
	if (err == 0)
		err = selection_self_variances(ask, f.selection, &f.variances);
	if (err == 0)
		err = functions_choose(&f);
	if (err == 0)
		err = functions_write(ask, &f);
	free(f.rows);
	words_end(&f.words);
	return err;
}
