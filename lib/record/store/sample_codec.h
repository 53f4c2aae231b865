/* SPDX-License-Identifier: MIT */
/* Samples to chunks and back, and their order; see sample_codec.c for the format. */
#ifndef STORE_SAMPLE_CODEC_H
#define STORE_SAMPLE_CODEC_H

#include "base/buf.h"
#include "store/store.h"

#define SAMPLE_CODEC_MAX 32768u /* samples of a chunk */

/* Sorts samples by time; samples of equal time keep their order. Takes linear time if they are
 * sorted already. Returns 0 or -ENOMEM. */
int sample_codec_sort(struct store_sample *samples, size_t count);

/* Merges two sorted arrays into `ret_merged`, which has room for both. At equal times, samples of
 * `a` come first. */
void sample_codec_merge(const struct store_sample *a, size_t n_a, const struct store_sample *b,
			size_t n_b, struct store_sample *ret_merged);

/* Appends the blob of 1 to SAMPLE_CODEC_MAX samples, sorted by time. Returns 0 or -ENOMEM. */
int sample_codec_encode(const struct store_sample *samples, size_t count, int level,
			struct buf *ret_blob);

/* Decodes exactly `count` samples, sorted by time, and at equal times by thread. Does not check
 * that their threads and nodes exist: the caller must. Returns 0, -EBADMSG or -ENOMEM. */
int sample_codec_decode(const void *blob, size_t len, size_t count,
			struct store_sample *ret_samples);

#endif
