/* SPDX-License-Identifier: MIT */
/*
 * Estimates when a heap was largest, and how large, without bias. At each moment the sum over the
 * sampled blocks errs by chance, so the largest of many sums is mostly one that is too large: a
 * program that never has more than 5 KB, but allocates often, would seem to have a MB.
 *
 * So one part of the sample chooses the moment, and the rest estimates the heap at that moment, as
 * in cross-validation. The sampling points are distributed to HEAP_FOLDS folds: for each block,
 * chance decides which folds have sampled it, so each fold is a sample of its own with fewer
 * points. A chooser consists of all folds but one. Its moment is the last one at which its own sum
 * is largest (the end, for a heap that only grows). All this is done HEAP_DEALS times. With two
 * folds, a chooser would have half of the points, too few to hit the moment of a heap of large
 * blocks; with eight it has 7/8 of them (docs/DECISIONS.md). Four deals make 32 choosers, as many
 * as a word has bits.
 *
 * The peak is the mean of the heap at the choosers' moments. A block adds its weight times an
 * estimate of the probability that it was live at a chooser's moment. Choosers that contain the
 * block and choosers that do not are averaged separately, and weighted by q and 1 - q, where q is
 * the probability that a chooser contains the block. A plain average would favour choosers that
 * contain it, because only blocks that were sampled are stored. A block that was sampled with
 * certainty is in all choosers, so a heap of such blocks has exactly its peak.
 *
 * Where the choosers miss the moment of the peak, the estimate is too small, by less than the
 * standard error. The folds are drawn by a hash of the block's record, so all views have the same
 * folds.
 */
#ifndef MODEL_HEAP_PEAK_H
#define MODEL_HEAP_PEAK_H

#include <stdint.h>

#define HEAP_FOLDS    8
#define HEAP_DEALS    4
#define HEAP_CHOOSERS (HEAP_FOLDS * HEAP_DEALS)

/* A sampled block. */
struct heap_member {
	double bytes;	      /* bytes that it stands for */
	uint32_t in_choosers; /* the choosers that have sampled it, as bits */
	double weight;	      /* bytes that it stands for in each of these choosers */
	/* what the block adds to the estimated peak for each chooser in `in_choosers` at whose
	 * moment the block is live */
	double estimate_if_in;
	double estimate_if_out; /* what the block adds for each of the other choosers */
};

/* Sums over the live blocks, by chooser: `chosen` over blocks that the chooser contains, `estimate`
 * over all blocks. */
struct heap_live {
	double chosen[HEAP_CHOOSERS], estimate[HEAP_CHOOSERS];
};

/* For each chooser, the largest sum so far, and the moment at which it was reached. */
struct heap_peak {
	double most[HEAP_CHOOSERS], estimate[HEAP_CHOOSERS];
	/* when the largest sum was first reached, and last held */
	uint64_t first[HEAP_CHOOSERS], last[HEAP_CHOOSERS];
	uint32_t still; /* the choosers whose sum is at its largest now, as bits */
};

/* Draws the choosers that contain a block. The block stands for `bytes` bytes with the standard
 * error `error`; an error of 0: it was sampled with certainty. `key` is a number of this block: the
 * same key always gives the same draw. */
struct heap_member heap_member_of(uint64_t bytes, uint64_t error, uint64_t key);

/* Adds a block to the live heap (sign 1) or removes it (-1). */
void heap_live_change(struct heap_live *live, const struct heap_member *member, int sign);

/* Begins the search with the heap as it is at `time_ns`. */
void heap_peak_begin(struct heap_peak *moment, const struct heap_live *live, uint64_t time_ns);

/* Notes that the heap is `live` from `time_ns` on: for each chooser, checks whether its sum is the
 * largest so far. Times of successive calls must not fall. */
void heap_peak_look(struct heap_peak *moment, const struct heap_live *live, uint64_t time_ns);

/* Returns the estimated peak, in bytes. */
double heap_peak_bytes(const struct heap_peak *moment);

/* Returns the median over the choosers of the time at which a chooser's sum first had its largest
 * value. */
uint64_t heap_peak_time(const struct heap_peak *moment);

/* Returns the weighted share, from 0 to 1, of the choosers whose moment is at or after `time_ns`,
 * the time at which the block was allocated or freed. */
double heap_peak_share(const struct heap_peak *moment, const struct heap_member *member,
		       uint64_t time_ns);

#endif
