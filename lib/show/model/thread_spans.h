/* SPDX-License-Identifier: MIT */
/*
 * Spans of threads' time (passes, calls or bursts), sorted by thread, then end. Finds the span to
 * which a record belongs: the records of a series come in order of time, so each thread has a
 * cursor that only moves forward, and a series is read once.
 */
#ifndef MODEL_THREAD_SPANS_H
#define MODEL_THREAD_SPANS_H

#include <stdint.h>

#include "model/profile.h"
#include "stack/metric.h"
#include "store/store_reader.h"

#define THREAD_SPANS_NONE UINT32_MAX

struct thread_spans {
	uint64_t *end_ns; /* by span */
	uint32_t *first;  /* by thread: index of its first span; one more than threads */
	uint32_t *cursor; /* by thread: index of the current span */
	uint32_t n, n_threads, n_begun;
};

/* Makes room for `n` spans of a profile's threads. Returns 0 or -ENOMEM; the caller frees
 * *ret_spans in any case. */
int thread_spans_make(const struct profile *profile, size_t n, struct thread_spans *ret_spans);
void thread_spans_free(struct thread_spans *spans);

/* Appends a span. Spans must come in the order of thread number, then of their ends. */
void thread_spans_add(struct thread_spans *spans, uint32_t thread, uint64_t end_ns);

/* Moves all cursors back to the first spans, for the next series. */
void thread_spans_rewind(struct thread_spans *spans);

/* Returns the index of the first span of a record's thread that does not end before the record;
 * THREAD_SPANS_NONE: there is none. */
uint32_t thread_spans_at(struct thread_spans *spans, const struct store_sample *record);

/* Returns the index of the span that ends at the time of a record of its thread; THREAD_SPANS_NONE:
 * none does. */
uint32_t thread_spans_ending(struct thread_spans *spans, const struct store_sample *record);

/* Rewinds the cursors and calls `each` for all records of a series. Returns 0, or an error of
 * `each` or store_reader_all_records(). */
int thread_spans_read(struct thread_spans *spans, struct profile *profile, unsigned series,
		      int (*each)(void *arg, const struct store_sample *record), void *arg);

#endif
