/* SPDX-License-Identifier: MIT */
/*
 * The standard error of a sampled metric's sum (docs/ALLOC.md). The errors of bytes are in further
 * series, with one record for each record of bytes; their squares add up. A record that stands for
 * n blocks was sampled with probability 1/n, so the square of its error is n (n - 1). Of regions,
 * only estimates have an error.
 */
#include <math.h>

#include "model/profile.h"

struct error_sum {
	const struct profile *profile;
	double variance;
	int sign;
	bool is_count; /* the records are numbers of blocks, not standard errors */
	uint64_t records;
	size_t number; /* of the record in its series */
};

static int take(void *arg, const struct store_sample *record)
{
	struct error_sum *sum = arg;
	const double value = (double)record->period;
	struct store_sample s;
	double share;

	sum->records++;
	if (profile_sample_numbered(sum->profile, record, sum->sign < 0, sum->number++, &s, &share))
		sum->variance += sum->sign * share * value * (sum->is_count ? value - 1 : value);
	return 0;
}

/* Adds (sign 1) or subtracts (-1) the squares of the errors in a series. SERIES_CPU: does
 * nothing. */
static int take_series(struct error_sum *sum, enum metric_series series, int sign)
{
	if (series == SERIES_CPU)
		return 0;
	sum->sign = sign;
	sum->number = 0;
	return store_reader_records(profile_reader(sum->profile), series, take, sum);
}

double profile_error(const struct profile *profile)
{
	const struct metric_info *metric = metric_info(profile_filter(profile)->metric);
	struct error_sum sum = {.profile = profile};
	int err;

	if (profile_totals(profile)->estimated)
		return sqrt(profile_totals(profile)->estimated_variance);
	sum.is_count = metric->series == SERIES_ALLOC_OBJECTS;
	if (!sum.is_count && metric->error == SERIES_CPU)
		return -1;
	err = take_series(&sum, sum.is_count ? metric->series : metric->error, 1);
	if (!err && !sum.records)
		return -1;
	if (!err)
		err = take_series(&sum, sum.is_count ? metric->less : metric->error_less, -1);
	return err ? -1 : sqrt(sum.variance > 0 ? sum.variance : 0);
}
