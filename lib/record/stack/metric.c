/* SPDX-License-Identifier: MIT */
/* The list of metrics; see metric.h. */
#include "stack/metric.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static const struct metric_info metrics[METRIC_COUNT] = {
	[METRIC_CPU] = {.name = "cpu",
			.series = SERIES_CPU,
			.unit = METRIC_EVENTS,
			.is_sampled = true,
			.records = "samples"},
	[METRIC_CPU_TIME] = {.name = "cpu.time",
			     .series = SERIES_CPU_OUTSIDE,
			     .also = SERIES_REGION_CPU,
			     .unit = METRIC_NS,
			     .is_sampled = true,
			     .records = "samples and instances"},
	[METRIC_REGION_VISITS] = {.name = "region.visits",
				  .series = SERIES_REGION_TIME,
				  .unit = METRIC_TIMES,
				  .is_count = true,
				  .records = "instances"},
	[METRIC_REGION_TIME] = {.name = "region.time",
				.series = SERIES_REGION_TIME,
				.unit = METRIC_NS,
				.records = "instances"},
	[METRIC_REGION_CPU] = {.name = "region.cpu",
			       .series = SERIES_REGION_CPU,
			       .unit = METRIC_NS,
			       .records = "instances"},
	[METRIC_MPI_SENT] = {.name = "mpi.sent",
			     .series = SERIES_MPI_SENT,
			     .unit = METRIC_BYTES,
			     .records = "calls"},
	[METRIC_MPI_RECEIVED] = {.name = "mpi.received",
				 .series = SERIES_MPI_RECEIVED,
				 .unit = METRIC_BYTES,
				 .records = "calls"},
	[METRIC_MPI_UNKNOWN] = {.name = "mpi.unknown",
				.series = SERIES_MPI_UNKNOWN,
				.unit = METRIC_TIMES,
				.records = "calls"},
	[METRIC_MPI_READ] = {.name = "mpi.read",
			     .series = SERIES_MPI_READ,
			     .unit = METRIC_BYTES,
			     .records = "calls"},
	[METRIC_MPI_WRITTEN] = {.name = "mpi.written",
				.series = SERIES_MPI_WRITTEN,
				.unit = METRIC_BYTES,
				.records = "calls"},
	[METRIC_MPI_AT_MOST] = {.name = "mpi.at_most",
				.series = SERIES_MPI_AT_MOST,
				.unit = METRIC_BYTES,
				.records = "calls"},
	[METRIC_ALLOC_BYTES] = {.name = "alloc.bytes",
				.series = SERIES_ALLOC_BYTES,
				.error = SERIES_ALLOC_ERROR,
				.unit = METRIC_BYTES,
				.is_sampled = true,
				.records = "samples"},
	[METRIC_ALLOC_OBJECTS] = {.name = "alloc.objects",
				  .series = SERIES_ALLOC_OBJECTS,
				  .unit = METRIC_TIMES,
				  .is_sampled = true,
				  .records = "blocks"},
	[METRIC_HEAP_LIVE] = {.name = "heap.live",
			      .series = SERIES_ALLOC_BYTES,
			      .less = SERIES_FREED_BYTES,
			      .error = SERIES_ALLOC_ERROR,
			      .error_less = SERIES_FREED_ERROR,
			      .unit = METRIC_BYTES,
			      .is_sampled = true,
			      .records = "samples"},
	[METRIC_HEAP_OBJECTS] = {.name = "heap.objects",
				 .series = SERIES_ALLOC_OBJECTS,
				 .less = SERIES_FREED_OBJECTS,
				 .unit = METRIC_TIMES,
				 .is_sampled = true,
				 .records = "blocks"},
	[METRIC_HEAP_PEAK] = {.name = "heap.peak",
			      .series = SERIES_ALLOC_BYTES,
			      .less = SERIES_FREED_BYTES,
			      .is_peak = true,
			      .error = SERIES_ALLOC_ERROR,
			      .error_less = SERIES_FREED_ERROR,
			      .unit = METRIC_BYTES,
			      .is_sampled = true,
			      .records = "samples"},
	[METRIC_MEMORY_TOUCHED] = {.name = "memory.touched",
				   .series = SERIES_MEMORY_TOUCHED,
				   .error = SERIES_MEMORY_ERROR,
				   .unit = METRIC_BYTES,
				   .is_sampled = true,
				   .records = "samples"},
	[METRIC_MEMORY_MAPPED] = {.name = "memory.mapped",
				  .series = SERIES_MEMORY_MAPPED,
				  .unit = METRIC_BYTES,
				  .records = "calls"},
	[METRIC_WAIT_BLOCKED] = {.name = "wait.blocked",
				 .series = SERIES_WAIT_BLOCKED,
				 .unit = METRIC_NS,
				 .is_sampled = true,
				 .records = "waits"},
	[METRIC_WAIT_RUNNABLE] = {.name = "wait.runnable",
				  .series = SERIES_WAIT_RUNNABLE,
				  .unit = METRIC_NS,
				  .is_sampled = true,
				  .records = "waits"},
	[METRIC_WAIT] = {.name = "wait",
			 .series = SERIES_WAIT_BLOCKED,
			 .also = SERIES_WAIT_RUNNABLE,
			 .is_union = true,
			 .unit = METRIC_NS,
			 .is_sampled = true,
			 .records = "waits"},
	[METRIC_WALL] = {.name = "wall",
			 .series = SERIES_WAIT_BLOCKED,
			 .also = SERIES_WAIT_RUNNABLE,
			 .has_samples = true,
			 .is_union = true,
			 .unit = METRIC_NS,
			 .is_sampled = true,
			 .records = "samples and waits"},
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

/* Writes a value in the largest unit of which it is at least one. */
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

const char *metric_amount(enum metric metric, uint64_t value,
			  char ret_text[static METRIC_AMOUNT_MAX])
{
	const struct metric_info *info = &metrics[metric];

	metric_number(metric, value, ret_text);
	if (info->unit == METRIC_EVENTS || info->unit == METRIC_TIMES)
		snprintf(ret_text, METRIC_AMOUNT_MAX, "%" PRIu64 " %s", value, info->records);
	return ret_text;
}

bool metric_is_of(enum metric metric, uint64_t series, bool is_timed)
{
	const struct metric_info *info = &metrics[metric];

	if (info->has_samples)
		return is_timed && (series >> info->series | series >> info->also) & 1;
	if (info->is_union)
		return (series >> info->series | series >> info->also) & 1;
	return series >> info->series & 1;
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
