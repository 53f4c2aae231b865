/* SPDX-License-Identifier: MIT */
/* Lists the samples of a profile by thread, in time order, for formats with a time axis. */
#ifndef EXPORT_THREAD_SAMPLES_H
#define EXPORT_THREAD_SAMPLES_H

#include "model/profile.h"

struct thread_samples_sample {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t node;
	uint32_t origin;
	uint8_t end_reason;
	uint64_t periods; /* number of sampling periods that the sample stands for */
	uint64_t amount;  /* of the event, for which it stands: ns if that is a clock */
};

struct thread_samples {
	struct thread_samples_sample *samples; /* thread by thread */
	/* by thread, n_threads + 1 elements: thread i has samples[first[i] .. first[i + 1]) */
	size_t *first;
	uint32_t n_threads;
};

/* Groups the samples that the profile's filter selects by thread; the caller frees the result with
 * thread_samples_free(). Returns 0, -ENOMEM, or an error of store_reader_samples(). */
int thread_samples_make(struct profile *profile, struct thread_samples *ret_samples);
void thread_samples_free(struct thread_samples *samples);

#endif
