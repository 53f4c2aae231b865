/* SPDX-License-Identifier: MIT */
/* Groups samples by thread; see thread_samples.h. The profile has the number of samples of each
 * thread, so one pass over the samples puts each of them in its place. */
#include "export/thread_samples.h"

#include <errno.h>
#include <stdlib.h>

struct thread_samples_filler {
	struct profile *profile;
	struct thread_samples *sorted;
	size_t *next; /* by thread: where its next sample goes */
};

static int thread_samples_add(void *arg, const struct store_sample *stored)
{
	struct thread_samples_filler *filler = arg;
	const struct thread_samples *sorted = filler->sorted;
	struct store_sample sample;
	size_t at;

	if (!profile_sample(filler->profile, stored, &sample))
		return 0;
	at = filler->next[sample.thread]++;
	if (at >= sorted->first[sample.thread + 1])
		return -EBADMSG;
	sorted->samples[at] = (struct thread_samples_sample){
		.time_ns = sample.time_ns,
		.node = sample.node,
		.origin = sample.origin,
		.end_reason = sample.end_reason,
		.periods = profile_periods(filler->profile, sample.period),
		.amount = sample.period,
	};
	return 0;
}

static void count_threads(struct profile *profile, struct thread_samples *sorted)
{
	size_t n, at = 0;
	const struct profile_entry *entries = profile_entries(profile, &n);

	for (size_t i = 0; i < n; i++)
		sorted->first[entries[i].thread + 1] += entries[i].samples;
	for (uint32_t i = 0; i <= sorted->n_threads; i++)
		sorted->first[i] = at += sorted->first[i];
}

int thread_samples_make(struct profile *profile, struct thread_samples *ret_samples)
{
	struct thread_samples sorted = {.n_threads = profile_tables(profile)->n_threads};
	struct thread_samples_filler filler = {.profile = profile, .sorted = &sorted};
	uint64_t samples = profile_totals(profile)->samples;
	int err = -ENOMEM;

	sorted.first = calloc((size_t)sorted.n_threads + 1, sizeof(*sorted.first));
	filler.next = calloc((size_t)sorted.n_threads + 1, sizeof(*filler.next));
	sorted.samples = calloc(samples + 1, sizeof(*sorted.samples));
	if (sorted.first && filler.next && sorted.samples) {
		count_threads(profile, &sorted);
		for (uint32_t i = 0; i < sorted.n_threads; i++)
			filler.next[i] = sorted.first[i];
		err = store_reader_samples(profile_reader(profile), thread_samples_add, &filler);
	}
	free(filler.next);
	if (err < 0)
		thread_samples_free(&sorted);
	else
		*ret_samples = sorted;
	return err;
}

void thread_samples_free(struct thread_samples *sorted)
{
	free(sorted->samples);
	free(sorted->first);
	*sorted = (struct thread_samples){0};
}
