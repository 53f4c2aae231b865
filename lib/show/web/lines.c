/* SPDX-License-Identifier: MIT */
/* Quantities over time; see lines.h. */
#include "web/lines.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "model/counter_names.h"

#define LINES_CPU     0
#define LINES_HEAP    1
#define LINES_COUNTER 2 /* the first one */

static int begin_line(struct lines *l, unsigned number, const char *name, const char *unit,
		      bool is_level)
{
	struct lines_line *line = &l->lines[number];

	*line = (struct lines_line){.name = name, .unit = unit, .is_level = is_level};
	line->values = calloc(l->columns, sizeof(*line->values));
	return line->values ? 0 : -ENOMEM;
}

int lines_begin(struct lines *l, const struct store_tables *tables, uint64_t from_ns,
		uint64_t to_ns, uint32_t columns)
{
	*l = (struct lines){
		.tables = tables, .from_ns = from_ns, .to_ns = to_ns, .columns = columns};
	return store_is_timed(&tables->recording) ? begin_line(l, LINES_CPU, "cpu", "cpus", false)
						  : 0;
}

void lines_end(struct lines *l)
{
	for (unsigned i = 0; i < LINES_MOST; i++)
		free(l->lines[i].values);
	counter_names_free(l->names);
	*l = (struct lines){0};
}

static double column_ns(const struct lines *l)
{
	return (double)(l->to_ns - l->from_ns) / l->columns;
}

void lines_cpu(struct lines *l, uint64_t begin_ns, uint64_t end_ns)
{
	double *values = l->lines[LINES_CPU].values;
	const double width = column_ns(l);
	double from, to;

	if (!values || end_ns <= l->from_ns || begin_ns >= l->to_ns)
		return;
	from = begin_ns > l->from_ns ? (double)(begin_ns - l->from_ns) / width : 0;
	to = (double)((end_ns < l->to_ns ? end_ns : l->to_ns) - l->from_ns) / width;
	for (uint32_t c = (uint32_t)from; c < l->columns && (double)c < to; c++)
		values[c] += ((to < c + 1.0 ? to : c + 1.0) - (from > c ? from : c)) * width;
}

/* --- records --------------------------------------------------------------------------------- */

struct lines_series {
	const struct ask *ask;
	struct lines *lines;
	double *values;
	double sign;
	bool is_level;
};

/* Adds a record to the column of its time. What came before the first column counts there if the
 * line is a level. */
static int take_record(void *arg, const struct store_sample *record)
{
	struct lines_series *s = arg;
	const struct lines *l = s->lines;
	const double value = s->is_level ? (double)record->period : (double)(int64_t)record->period;
	uint32_t c = 0;

	if (ask_is_stopped(s->ask))
		return -ECANCELED;
	if (record->time_ns >= l->to_ns || (record->time_ns < l->from_ns && !s->is_level))
		return 0;
	if (record->time_ns > l->from_ns)
		c = (uint32_t)((double)(record->time_ns - l->from_ns) / column_ns(l));
	s->values[c < l->columns ? c : l->columns - 1] += s->sign * value;
	return 0;
}

static int take_series(const struct ask *ask, struct store_reader *reader, struct lines *l,
		       unsigned number, enum metric_series series, double sign)
{
	struct lines_series s = {.ask = ask,
				 .lines = l,
				 .values = l->lines[number].values,
				 .sign = sign,
				 .is_level = l->lines[number].is_level};

	return store_reader_records(reader, series, take_record, &s);
}

static int take_heap(const struct ask *ask, struct store_reader *reader, struct lines *l)
{
	double sum = 0;
	int err = begin_line(l, LINES_HEAP, "heap.live", "bytes", true);

	if (err == 0)
		err = take_series(ask, reader, l, LINES_HEAP, SERIES_ALLOC_BYTES, 1);
	if (err == 0)
		err = take_series(ask, reader, l, LINES_HEAP, SERIES_FREED_BYTES, -1);
	for (uint32_t c = 0; err == 0 && c < l->columns; c++) {
		sum += l->lines[LINES_HEAP].values[c];
		l->lines[LINES_HEAP].values[c] = fmax(sum, 0);
	}
	return err;
}

int lines_records(const struct ask *ask, struct store_reader *reader, struct lines *l)
{
	uint64_t series;
	int err = store_reader_series(reader, &series);

	if (err == 0 && series >> SERIES_ALLOC_BYTES & 1)
		err = take_heap(ask, reader, l);
	if (err == 0)
		err = counter_names_find(l->tables, l->names);
	for (unsigned i = 0; err == 0 && i < METRIC_COUNTERS; i++) {
		if (!l->names[i] || !(series >> (SERIES_READING + i) & 1))
			continue;
		err = begin_line(l, LINES_COUNTER + i, l->names[i], "per second", false);
		if (err == 0)
			err = take_series(ask, reader, l, LINES_COUNTER + i, SERIES_READING + i, 1);
	}
	return err;
}

/* --- the answer ------------------------------------------------------------------------------ */

void lines_join(struct lines *l)
{
	for (unsigned i = 0; i < LINES_MOST; i++) {
		struct lines_line *line = &l->lines[i];

		for (uint32_t c = 0; line->values && c < l->columns / 2; c++)
			line->values[c] = line->is_level
						  ? line->values[2 * c + 1]
						  : line->values[2 * c] + line->values[2 * c + 1];
	}
	l->columns /= 2;
}

/* Returns the value of a column as it is shown: a level, CPUs in use, or a number per second. */
static double shown(const struct lines *l, unsigned number, uint32_t column)
{
	const double value = l->lines[number].values[column];

	if (l->lines[number].is_level)
		return value;
	return value / column_ns(l) * (number == LINES_CPU ? 1 : 1e9);
}

void lines_put(const struct lines *l, struct json *j)
{
	json_put_array(j, "lines");
	for (unsigned i = 0; i < LINES_MOST; i++) {
		double most = 0;

		if (!l->lines[i].values)
			continue;
		for (uint32_t c = 0; c < l->columns; c++)
			most = fmax(most, shown(l, i, c));
		json_put_object(j, NULL);
		json_put_string(j, "name", l->lines[i].name);
		json_put_string(j, "unit", l->lines[i].unit);
		json_put_double(j, "max", most, 6);
		json_put_array(j, "values");
		for (uint32_t c = 0; c < l->columns; c++)
			json_put_double(j, NULL, shown(l, i, c), 4);
		json_put_end(j);
		json_put_end(j);
	}
	json_put_end(j);
}
