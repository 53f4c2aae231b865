/* SPDX-License-Identifier: MIT */
/*
 * The sampling error of each entry of a profile; see profile_variance.h.
 *
 * A second pass over the records adds up their variances by entry. The variance of a sample is the
 * square of its weight (samples arrive like a Poisson process); the variance of a wait comes from
 * lasting.h; the variance of an allocation is in the store, computed by the daemon.
 */
#include "model/profile_variance.h"

#include <errno.h>

#include "base/int_map.h"

struct variance_sum {
	const struct profile *profile;
	struct int_map by_key; /* (thread, node), (origin, end reason) -> entry */
	double *variances;
	int sign;
	size_t number; /* of the record in its series */
	/* the records are numbers of blocks: a record of n blocks was sampled with probability 1 /
	 * n */
	bool is_count;
};

static int enter_entries(struct variance_sum *sum, const struct profile_entry *entries, size_t n)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < n; i++) {
		const struct profile_entry *e = &entries[i];
		uint32_t at;

		sum->variances[i] = 0;
		err = int_map_enter_wide(&sum->by_key, (uint64_t)e->thread << 32 | e->node,
					 e->origin << 8 | e->end_reason, (uint32_t)i, &at);
	}
	return err;
}

static void add(struct variance_sum *sum, const struct store_sample *s, double variance)
{
	uint32_t at = int_map_find_wide(&sum->by_key, (uint64_t)s->thread << 32 | s->node,
					s->origin << 8 | s->end_reason);

	if (at != INT_MAP_NONE)
		sum->variances[at] += variance;
}

/* Adds a record's variance to its entry. If only a part of the record's value is in the range, the
 * variance is multiplied by the square of that share. */
static int take_part(void *arg, const struct store_sample *record, const struct lasting *lasting)
{
	struct variance_sum *sum = arg;
	struct store_sample s;
	double part;

	if (!(lasting->variance > 0) || !profile_part(sum->profile, record, lasting, &s))
		return 0;
	part = record->period ? (double)s.period / (double)record->period : 1;
	add(sum, &s, part * part * lasting->variance);
	return 0;
}

static int take_error(void *arg, const struct store_sample *record)
{
	struct variance_sum *sum = arg;
	const double value = (double)record->period;
	struct store_sample s;
	double share;

	if (profile_sample_numbered(sum->profile, record, sum->sign < 0, sum->number++, &s, &share))
		add(sum, &s, sum->sign * share * value * (sum->is_count ? value - 1 : value));
	return 0;
}

/* Adds the variances of a metric of memory: those of allocations, minus those of freed blocks,
 * which were added with their allocations. Returns 0 or an error. */
static int take_memory(struct variance_sum *sum, const struct metric_info *metric)
{
	struct store_reader *reader = profile_reader(sum->profile);
	enum metric_series more = sum->is_count ? metric->series : metric->error;
	enum metric_series less = sum->is_count ? metric->less : metric->error_less;
	int err;

	sum->sign = 1;
	sum->number = 0;
	err = store_reader_records(reader, more, take_error, sum);
	sum->sign = -1;
	sum->number = 0;
	return err || less == SERIES_CPU ? err
					 : store_reader_records(reader, less, take_error, sum);
}

/* Sets the bool at `arg` to true and stops at the first record: recordings of older versions have
 * no records of errors. */
static int has_record(void *arg, const struct store_sample *record)
{
	(void)record;
	*(bool *)arg = true;
	return 1;
}

bool profile_has_variances(const struct profile *profile)
{
	const enum metric metric = profile_filter(profile)->metric;
	const struct metric_info *info = metric_info(metric);
	bool has = false;
	size_t n;

	if (store_reader_sums(profile_reader(profile), &n) ||
	    (!info->is_sampled && !profile_totals(profile)->estimated))
		return false;
	if (info->error == SERIES_CPU)
		return metric == METRIC_CPU || lasting_is(metric) ||
		       info->series == SERIES_ALLOC_OBJECTS;
	store_reader_records(profile_reader(profile), info->error, has_record, &has);
	return has;
}

int profile_variances(struct profile *profile, double *ret_variances)
{
	const enum metric metric = profile_filter(profile)->metric;
	const struct metric_info *info = metric_info(metric);
	struct variance_sum sum = {.profile = profile, .variances = ret_variances};
	size_t n;
	const struct profile_entry *entries = profile_entries(profile, &n);
	int err = enter_entries(&sum, entries, n);

	sum.is_count = info->series == SERIES_ALLOC_OBJECTS;
	if (err == 0 && (sum.is_count || info->error != SERIES_CPU))
		err = take_memory(&sum, info);
	else if (err == 0)
		err = profile_lasting(profile, metric, take_part, &sum);
	for (size_t i = 0; i < n; i++)
		if (ret_variances[i] < 0)
			ret_variances[i] = 0;
	int_map_fini(&sum.by_key);
	return err;
}
