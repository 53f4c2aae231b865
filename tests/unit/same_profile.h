/* SPDX-License-Identifier: MIT */
/* Asserts that a profile of a log of samples is that of the samples themselves. */
#ifndef TESTS_SAME_PROFILE_H
#define TESTS_SAME_PROFILE_H

#include "model/profile.h"
#include "model/sample_log.h"

static inline void same_entry(const struct profile_entry *a, const struct profile_entry *b)
{
	assert_int_equal(a->thread, b->thread);
	assert_int_equal(a->node, b->node);
	assert_int_equal(a->origin, b->origin);
	assert_int_equal(a->end_reason, b->end_reason);
	assert_int_equal(a->cpu, b->cpu);
	assert_int_equal(a->quality, b->quality);
	assert_int_equal(a->is_valued, b->is_valued);
	assert_int_equal(a->samples, b->samples);
	assert_int_equal(a->periods, b->periods);
	assert_int_equal(a->weight, b->weight);
}

/* Sums up what a filter selects without and with the log. Returns how many samples that is; of
 * these, *reconstructed have completed paths. */
static inline uint64_t same_profile(struct store_reader *r, struct sample_log *log,
				    struct profile_filter filter, uint64_t *reconstructed)
{
	struct profile_filter with_log = filter;
	const struct profile_entry *a, *b;
	struct profile *plain, *logged;
	size_t n_a, n_b;
	uint64_t samples;
	int err;

	filter.log = NULL;
	err = profile_new(r, &filter, &plain);
	assert_true(err == 0 || err == -ENODATA);
	a = profile_entries(plain, &n_a);
	with_log.log = log;
	assert_int_equal(profile_new(r, &with_log, &logged), err);
	b = profile_entries(logged, &n_b);
	assert_int_equal(n_a, n_b);
	for (size_t i = 0; i < n_a; i++)
		same_entry(&a[i], &b[i]);
	assert_int_equal(profile_totals(plain)->samples, profile_totals(logged)->samples);
	assert_int_equal(profile_totals(plain)->periods, profile_totals(logged)->periods);
	assert_int_equal(profile_totals(plain)->weight, profile_totals(logged)->weight);
	assert_int_equal(profile_totals(plain)->complete, profile_totals(logged)->complete);
	assert_int_equal(profile_totals(plain)->partial, profile_totals(logged)->partial);
	assert_int_equal(profile_totals(plain)->reconstructed,
			 profile_totals(logged)->reconstructed);
	assert_int_equal(profile_recorded(plain), profile_recorded(logged));
	assert_int_equal(profile_is_filtered(plain), profile_is_filtered(logged));
	assert_int_equal(profile_tables(plain)->n_nodes, profile_tables(logged)->n_nodes);
	assert_int_equal(profile_tables(plain)->n_origins, profile_tables(logged)->n_origins);
	samples = profile_totals(plain)->samples;
	*reconstructed += profile_totals(plain)->reconstructed;
	profile_free(plain);
	profile_free(logged);
	return samples;
}

#endif
