/* SPDX-License-Identifier: MIT */
/* The list of metrics; see metric.h. */
#include "stack/metric.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define IS_SAMPLED true
#define IS_COUNTED false

static const struct metric_info metrics[METRIC_COUNT] = {
#define METRIC_X(e, its_name, of, in, kind, its_records, its_options, its_meaning, ...)            \
	[METRIC_##e] = {.name = its_name,                                                          \
			.series = SERIES_##of,                                                     \
			.unit = METRIC_##in,                                                       \
			.is_sampled = IS_##kind,                                                   \
			.records = its_records,                                                    \
			.options = its_options,                                                    \
			.meaning = its_meaning,                                                    \
			__VA_ARGS__},
	METRICS(METRIC_X)
#undef METRIC_X
};

const struct metric_info *metric_info(enum metric metric)
{
	return &metrics[metric];
}

enum metric metric_summed(enum metric metric)
{
	for (unsigned i = 0; metrics[metric].is_count && i < METRIC_COUNT; i++) {
		if (metrics[i].series == metrics[metric].series && !metrics[i].is_count)
			return i;
	}
	return metric;
}

bool metric_is_of_regions(enum metric metric)
{
	return !strncmp(metrics[metric].name, "region.", 7) ||
	       !strncmp(metrics[metric].name, "mpi.", 4);
}

const char *metric_unit_name(enum metric metric)
{
	switch (metrics[metric].unit) {
	case METRIC_NS:
		return "nanoseconds";
	case METRIC_BYTES:
		return "bytes";
	default:
		return "count";
	}
}

/* Writes a value in the largest unit in which it is at least 1. */
static void put_scaled(uint64_t value, unsigned step, const char *const *units,
		       char ret_text[static METRIC_AMOUNT_MAX])
{
	double scaled = (double)value;
	unsigned i = 0;

	while (scaled >= step && units[i + 1]) {
		scaled /= step;
		i++;
	}
	snprintf(ret_text, METRIC_AMOUNT_MAX, "%.*f %s", i ? 3 : 0, scaled, units[i]);
}

const char *metric_number(enum metric metric, uint64_t value,
			  char ret_text[static METRIC_AMOUNT_MAX])
{
	static const char *const times[] = {"ns", "us", "ms", "s", NULL};
	static const char *const bytes[] = {"bytes", "KiB", "MiB", "GiB", "TiB", NULL};

	switch (metrics[metric].unit) {
	case METRIC_NS:
		put_scaled(value, 1000, times, ret_text);
		break;
	case METRIC_BYTES:
		put_scaled(value, 1024, bytes, ret_text);
		break;
	default:
		snprintf(ret_text, METRIC_AMOUNT_MAX, "%" PRIu64, value);
	}
	return ret_text;
}

/* Returns the length of the word for so many records, which is the plural or that without its 's'.
 * Words of several kinds of records stay as they are. */
static int word_length(const struct metric_info *info, uint64_t n)
{
	return (int)strlen(info->records) - (n == 1 && !strchr(info->records, ' '));
}

void metric_put_records(enum metric metric, uint64_t n, struct buf *b)
{
	const struct metric_info *info = &metrics[metric];

	text_printf(b, "%" PRIu64 " %.*s", n, word_length(info, n), info->records);
}

const char *metric_amount(enum metric metric, uint64_t value,
			  char ret_text[static METRIC_AMOUNT_MAX])
{
	const struct metric_info *info = &metrics[metric];

	metric_number(metric, value, ret_text);
	if (info->unit == METRIC_EVENTS || info->unit == METRIC_TIMES)
		snprintf(ret_text, METRIC_AMOUNT_MAX, "%" PRIu64 " %.*s", value,
			 word_length(info, value), info->records);
	return ret_text;
}

bool metric_is_of(enum metric metric, uint64_t series, bool is_timed)
{
	const struct metric_info *info = &metrics[metric];

	if (info->has_samples)
		return is_timed && (series >> info->series | series >> info->also) & 1;
	if (info->is_union)
		return (series >> info->series | series >> info->also) & 1;
	return (series >> info->series & 1) ||
	       (info->sums != SERIES_CPU && (series >> info->sums & 1));
}

void metric_put_names(uint64_t series, bool is_timed, struct buf *b)
{
	const char *before = "";

	for (unsigned i = 0; i < METRIC_COUNT; i++) {
		if (!metric_is_of(i, series, is_timed))
			continue;
		text_printf(b, "%s%s", before, metrics[i].name);
		before = ", ";
	}
}

const char *metric_unit_words(enum metric metric)
{
	switch (metrics[metric].unit) {
	case METRIC_EVENTS:
		return "time or events";
	case METRIC_NS:
		return "time";
	case METRIC_BYTES:
		return "bytes";
	case METRIC_TIMES:
		break;
	}
	return metrics[metric].records;
}

void metric_put_all(struct buf *b)
{
	text_printf(b, "%-14s  %-14s  %-7s  %-28s  %s\n", "METRIC", "UNIT", "KIND", "MEASURED WITH",
		    "WHAT IT IS");
	for (unsigned i = 0; i < METRIC_COUNT; i++)
		text_printf(b, "%-14s  %-14s  %-7s  %-28s  %s\n", metrics[i].name,
			    metric_unit_words(i), metrics[i].is_sampled ? "sampled" : "counted",
			    metrics[i].options, metrics[i].meaning);
}

bool metric_find(const char *name, enum metric *ret_metric)
{
	for (unsigned i = 0; i < METRIC_COUNT; i++) {
		if (strcmp(metrics[i].name, name) == 0) {
			*ret_metric = i;
			return true;
		}
	}
	return false;
}
