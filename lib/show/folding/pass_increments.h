/* SPDX-License-Identifier: MIT */
/*
 * Collects the increments of a multiplexed counter (SERIES_COUNTED): the differences of its values
 * at two samples of a thread, with the place of both samples in their passes. Such a counter is not
 * read at the ends of passes, so shares of a pass's total are not known; fold_math/increments.h
 * computes the curve from increments.
 */
#ifndef FOLDING_PASS_INCREMENTS_H
#define FOLDING_PASS_INCREMENTS_H

#include "folding/passes.h"

/* Collects the increments of the counter with this number in the passes that `passes` has already;
 * none if the counter is not multiplexed. Returns 0, -ENOMEM, or an error of
 * store_reader_records(). */
int pass_increments_read(struct profile *profile, struct passes *passes, unsigned counter);

/* Copies the increments that are within one pass from `passes` to `to`. numbers[pass] is the number
 * that the pass has in `to`; UINT32_MAX: `to` lacks it. Returns 0 or -ENOMEM. */
int pass_increments_pick(const struct passes *passes, const uint32_t *numbers, struct passes *to);

#endif
