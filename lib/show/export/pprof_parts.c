/* SPDX-License-Identifier: MIT */
/* Decides the values of a pprof file's samples, and the entries that they come from; see
 * pprof_parts.h. */
#include "export/pprof_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* The values of Go's heap profiles, in their order and with their names. */
static const struct {
	const char *name;
	enum metric metric;
} heap_values[] = {
	{"alloc_objects", METRIC_ALLOC_OBJECTS},
	{"alloc_space", METRIC_ALLOC_BYTES},
	{"inuse_objects", METRIC_HEAP_OBJECTS},
	{"inuse_space", METRIC_HEAP_LIVE},
};

#define HEAP_VALUES (sizeof(heap_values) / sizeof(*heap_values))

static bool is_of_heap(enum metric metric)
{
	for (size_t i = 0; i < HEAP_VALUES; i++) {
		if (heap_values[i].metric == metric)
			return true;
	}
	return false;
}

static void add_value(struct pprof_parts *p, const char *name, const char *unit)
{
	p->values[p->n_values++] = (struct pprof_value){name, unit};
}

static void add_part(struct pprof_parts *p, bool has_records)
{
	p->parts[p->n_parts++] = (struct pprof_part){
		.end = p->n_entries, .first_value = p->n_values, .has_records = has_records};
}

/* Adds the entries of the profile itself, with two values: the number of records, and their sum. */
static void add_own(struct pprof_parts *p)
{
	const enum metric metric = profile_filter(p->profile)->metric;
	const struct store_recording *recording = &profile_tables(p->profile)->recording;
	const bool is_cpu = metric == METRIC_CPU, is_time = store_is_timed(recording);

	p->entries = profile_entries(p->profile, &p->n_entries);
	add_part(p, true);
	add_value(p, metric_info(metric)->records, "count");
	add_value(p, is_cpu && !is_time ? recording->event : metric_info(metric)->name,
		  is_cpu && is_time ? "nanoseconds" : metric_unit_name(metric));
}

static int append(struct pprof_parts *p, const struct profile_entry *entries, size_t n)
{
	if (VEC_GROW(p->own_entries, p->room, p->n_entries + n + 1) < 0)
		return -ENOMEM;
	if (n)
		memcpy(p->own_entries + p->n_entries, entries, n * sizeof(*entries));
	p->n_entries += n;
	p->entries = p->own_entries;
	return 0;
}

/* Appends the entries of a metric, with one value. The metric may have no entries, if the filter
 * selects none. Returns 0 or an error. */
static int add_metric(struct pprof_parts *p, enum metric metric, const char *name)
{
	struct profile_filter filter = *profile_filter(p->profile);
	struct profile *profile = NULL;
	int err;

	filter.metric = metric;
	err = profile_new(profile_reader(p->profile), &filter, &profile);
	if (profile && (err == 0 || err == -ENODATA)) {
		size_t n;
		const struct profile_entry *entries = profile_entries(profile, &n);

		err = append(p, entries, n);
	}
	profile_free(profile);
	if (err < 0)
		return err;
	add_part(p, false);
	add_value(p, name, metric_unit_name(metric));
	return 0;
}

/* Appends the entries of all other metrics of the recording after the samples. */
static int add_others(struct pprof_parts *p)
{
	const struct profile_entry *own = p->entries;
	const size_t n = p->n_entries;
	uint64_t series;
	int err = store_reader_series(profile_reader(p->profile), &series);

	for (unsigned i = METRIC_CPU + 1; i < METRIC_COUNT && err == 0; i++) {
		/* A metric that sums up others is left out, because readers can add those up
		 * themselves. */
		if (!(series >> metric_info(i)->series & 1) || metric_info(i)->is_union)
			continue;
		if (!p->own_entries) {
			p->n_entries = 0;
			err = append(p, own, n);
		}
		if (err == 0)
			err = add_metric(p, i, metric_info(i)->name);
	}
	return err;
}

/* Adds the four values of a heap profile. Its paths are those of all allocations, because a path
 * with live memory is one of these. Returns 0 or an error. */
static int add_heap(struct pprof_parts *p)
{
	const enum metric metric = profile_filter(p->profile)->metric;
	int err;

	p->filter = *profile_filter(p->profile);
	p->filter.metric = METRIC_ALLOC_BYTES;
	err = profile_new(profile_reader(p->profile), &p->filter, &p->own_profile);
	if (err < 0)
		return err;
	p->profile = p->own_profile;
	for (size_t i = 0; err == 0 && i < HEAP_VALUES; i++) {
		if (heap_values[i].metric == metric)
			p->chosen = (uint32_t)i;
		err = add_metric(p, heap_values[i].metric, heap_values[i].name);
	}
	return err;
}

/* Returns the period of the samples: that of the options, or the mean one where the kernel was
 * given a frequency of another event than a clock. */
static int64_t period_of(const struct pprof_parts *p)
{
	const struct store_recording *r = &profile_tables(p->profile)->recording;
	const struct profile_totals *totals = profile_totals(p->profile);

	if (r->period)
		return (int64_t)r->period;
	if (store_is_timed(r))
		return r->frequency_hz ? (int64_t)(1000000000 / r->frequency_hz) : 0;
	return totals->samples ? (int64_t)(totals->weight / totals->samples) : 0;
}

int pprof_parts_new(struct profile *profile, struct pprof_parts *ret_parts)
{
	const enum metric metric = profile_filter(profile)->metric;
	int err = 0;

	*ret_parts = (struct pprof_parts){.profile = profile};
	if (is_of_heap(metric)) {
		err = add_heap(ret_parts);
	} else {
		add_own(ret_parts);
		if (metric == METRIC_CPU) {
			ret_parts->period = period_of(ret_parts);
			err = add_others(ret_parts);
		}
	}
	ret_parts->period_type = ret_parts->values[1];
	return err;
}

void pprof_parts_free(struct pprof_parts *p)
{
	free(p->own_entries);
	profile_free(p->own_profile);
	*p = (struct pprof_parts){0};
}

static size_t begin_of(const struct pprof_parts *p, uint32_t part)
{
	return part ? p->parts[part - 1].end : 0;
}

size_t pprof_parts_count(const struct pprof_parts *p, uint32_t part)
{
	return p->parts[part].end - begin_of(p, part);
}

void pprof_parts_slice(const struct pprof_parts *p, uint32_t part, size_t from, size_t n,
		       struct pprof_parts *ret_slice)
{
	const struct pprof_part *of = &p->parts[part];

	*ret_slice = (struct pprof_parts){
		.profile = p->profile,
		.entries = p->entries + begin_of(p, part) + from,
		.n_entries = n,
		.parts[0] = {.end = n, .has_records = of->has_records},
		.n_parts = 1,
		.n_values = of->has_records ? 2 : 1,
		.first = from,
		.is_bare = true,
	};
	for (uint32_t i = 0; i < ret_slice->n_values; i++)
		ret_slice->values[i] = p->values[of->first_value + i];
	ret_slice->period_type = ret_slice->values[ret_slice->n_values - 1];
	ret_slice->period = part == 0 ? p->period : 1;
}

const struct pprof_part *pprof_parts_of(const struct pprof_parts *p, size_t entry)
{
	uint32_t i = 0;

	while (i + 1 < p->n_parts && entry >= p->parts[i].end)
		i++;
	return &p->parts[i];
}
