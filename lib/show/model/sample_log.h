/* SPDX-License-Identifier: MIT */
/*
 * All samples of a recording, decoded once, for many profiles of it.
 *
 * The page of `stackctl web` asks for one part of the time or one set of threads after the other.
 * Each of these profiles would decode all samples and look up their sums again. A log has for each
 * sample its time and the number of its kind: (thread, node, origin, end reason). A profile of it
 * finds its time by a binary search, and counts by these numbers, without a hash table. Its entries
 * are those that the samples of the store give, in the same order.
 *
 * A sample takes 12 bytes, or 20 if periods differ, and a kind 16. The caller limits the bytes.
 */
#ifndef MODEL_SAMPLE_LOG_H
#define MODEL_SAMPLE_LOG_H

#include <stdatomic.h>

#include "model/reconstruct.h"

struct sample_log;

/* What several samples have in common. */
struct sample_kind {
	uint32_t thread, node, origin;
	uint8_t end_reason;
};

/* Samples in time order. */
struct sample_log_view {
	const uint64_t *times; /* CLOCK_MONOTONIC */
	const uint32_t *kind_of;
	const uint64_t *periods; /* NULL: all samples have `period` */
	uint64_t period;
	size_t count;
	const struct sample_kind *kinds;
	uint32_t n_kinds;
};

/* Reads all samples of a reader, which must outlive the log. Another thread can set *stop to end
 * the call; `stop` may be NULL. Returns 0; -EFBIG: the log would have more than `max_bytes`, or
 * samples are not in time order; -ECANCELED, -ENOMEM, or an error of store_reader_samples(). */
int sample_log_new(struct store_reader *reader, size_t max_bytes, const atomic_bool *stop,
		   struct sample_log **ret_log);
void sample_log_free(struct sample_log *log); /* NULL is allowed */

/* Returns the samples; the arrays belong to the log. */
struct sample_log_view sample_log_view(const struct sample_log *log);

/* Returns the first sample that is not before a time; the number of samples if there is none. */
size_t sample_log_find(const struct sample_log *log, uint64_t time_ns);

/* Returns a sample as the store has it, but without its CPU. */
struct store_sample sample_log_at(const struct sample_log_view *view, size_t at);

/* Gives the completed paths, which are made by the first call and belong to the log. Returns 0 or
 * an error of reconstruct_run(). */
int sample_log_reconstruct(struct sample_log *log, struct reconstruct **ret_reconstruct);

#endif
