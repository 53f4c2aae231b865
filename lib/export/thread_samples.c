/* SPDX-License-Identifier: MIT */
/* Samples by thread; see timeline.h. The model knows how many there are of each thread, so one
 * pass over them puts every one in its place. */
#include "export/thread_samples.h"

#include <errno.h>
#include <stdlib.h>

struct thread_samples_filler {
	struct profile *profile;
	struct thread_samples *timeline;
	size_t *next; /* by thread */
};

static int thread_samples_add(void *arg, const struct store_sample *stored)
{
	struct thread_samples_filler *filler = arg;
	const struct thread_samples *timeline = filler->timeline;
	struct store_sample sample;
	size_t at;

	if (!profile_sample(filler->profile, stored, &sample))
		return 0;
	at = filler->next[sample.thread]++;
	if (at >= timeline->first[sample.thread + 1])
		return -EBADMSG;
	timeline->samples[at] = (struct thread_samples_sample){
		.time_ns = sample.time_ns,
		.node = sample.node,
		.origin = sample.origin,
		.end_reason = sample.end_reason,
	};
	return 0;
}

static void place(struct profile *profile, struct thread_samples *timeline)
{
	size_t n, at = 0;
	const struct profile_entry *entries = profile_entries(profile, &n);

	for (size_t i = 0; i < n; i++)
		timeline->first[entries[i].thread + 1] += entries[i].samples;
	for (uint32_t i = 0; i <= timeline->n_threads; i++)
		timeline->first[i] = at += timeline->first[i];
}

int thread_samples_make(struct profile *profile, struct thread_samples *ret_timeline)
{
	struct thread_samples timeline = {.n_threads = profile_tables(profile)->n_threads};
	struct thread_samples_filler filler = {.profile = profile, .timeline = &timeline};
	uint64_t samples = profile_totals(profile)->samples;
	int r = -ENOMEM;

	timeline.first = calloc((size_t)timeline.n_threads + 1, sizeof(*timeline.first));
	filler.next = calloc((size_t)timeline.n_threads + 1, sizeof(*filler.next));
	timeline.samples = calloc(samples + 1, sizeof(*timeline.samples));
	if (timeline.first && filler.next && timeline.samples) {
		place(profile, &timeline);
		for (uint32_t i = 0; i < timeline.n_threads; i++)
			filler.next[i] = timeline.first[i];
		r = store_reader_samples(profile_reader(profile), thread_samples_add, &filler);
	}
	free(filler.next);
	if (r < 0)
		thread_samples_free(&timeline);
	else
		*ret_timeline = timeline;
	return r;
}

void thread_samples_free(struct thread_samples *timeline)
{
	free(timeline->samples);
	free(timeline->first);
	*timeline = (struct thread_samples){0};
}
