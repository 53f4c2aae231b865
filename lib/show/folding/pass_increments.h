/* SPDX-License-Identifier: MIT */
/*
 * Collects the increments of a multiplexed counter (SERIES_COUNTED): differences of two readings in
 * a thread, with the places of both in their passes. Such a counter is not read at the ends of
 * passes, so shares of a pass's total are not known; fold_math/increments.h computes the course
 * from increments.
 */
#ifndef FOLDING_PASS_INCREMENTS_H
#define FOLDING_PASS_INCREMENTS_H

#include "folding/passes.h"

/* Collects the increments of a counter, by its number, in the passes that `passes` has already;
 * none if the counter is not multiplexed. Returns 0, -ENOMEM, or an error of
 * store_reader_records(). */
int pass_increments_read(struct profile *profile, struct passes *passes, unsigned counter);

/* Copies the increments that lie within one pass. numbers[pass] is the pass's number in `to`, or
 * UINT32_MAX if `to` lacks it. Returns 0 or -ENOMEM. */
int pass_increments_pick(const struct passes *passes, const uint32_t *numbers, struct passes *to);

#endif
