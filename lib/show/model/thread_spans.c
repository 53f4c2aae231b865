/* SPDX-License-Identifier: MIT */
/* Finds the spans that records belong to; see thread_spans.h. */
#include "model/thread_spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int thread_spans_make(const struct profile *profile, size_t n, struct thread_spans *ret_spans)
{
	const uint32_t n_threads = profile_tables(profile)->n_threads;

	*ret_spans = (struct thread_spans){.n_threads = n_threads};
	ret_spans->end_ns = calloc(n + 1, sizeof(*ret_spans->end_ns));
	ret_spans->first = calloc((size_t)n_threads + 1, sizeof(*ret_spans->first));
	ret_spans->cursor = calloc((size_t)n_threads + 1, sizeof(*ret_spans->cursor));
	return ret_spans->end_ns && ret_spans->first && ret_spans->cursor ? 0 : -ENOMEM;
}

void thread_spans_free(struct thread_spans *spans)
{
	free(spans->end_ns);
	free(spans->first);
	free(spans->cursor);
	*spans = (struct thread_spans){0};
}

void thread_spans_add(struct thread_spans *spans, uint32_t thread, uint64_t end_ns)
{
	while (spans->n_begun <= thread)
		spans->first[spans->n_begun++] = spans->n;
	spans->end_ns[spans->n++] = end_ns;
}

void thread_spans_rewind(struct thread_spans *spans)
{
	while (spans->n_begun <= spans->n_threads)
		spans->first[spans->n_begun++] = spans->n;
	memcpy(spans->cursor, spans->first, spans->n_threads * sizeof(*spans->cursor));
}

uint32_t thread_spans_at(struct thread_spans *spans, const struct store_sample *record)
{
	uint32_t *cursor = &spans->cursor[record->thread];
	const uint32_t end = spans->first[record->thread + 1];

	while (*cursor < end && spans->end_ns[*cursor] < record->time_ns)
		++*cursor;
	return *cursor < end ? *cursor : THREAD_SPANS_NONE;
}

uint32_t thread_spans_ending(struct thread_spans *spans, const struct store_sample *record)
{
	const uint32_t at = thread_spans_at(spans, record);

	return at != THREAD_SPANS_NONE && spans->end_ns[at] == record->time_ns ? at
									       : THREAD_SPANS_NONE;
}

int thread_spans_read(struct thread_spans *spans, struct profile *profile, unsigned series,
		      int (*each)(void *arg, const struct store_sample *record), void *arg)
{
	thread_spans_rewind(spans);
	return store_reader_all_records(profile_reader(profile), (enum metric_series)series, each,
					arg);
}
