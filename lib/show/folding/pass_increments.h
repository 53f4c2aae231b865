/* SPDX-License-Identifier: MIT */
/*
 * Increments of a counter that has to share the processor's with others (SERIES_COUNTED): between
 * two readings in a thread, with where in their passes both are. Such a counter is not read at the
 * passes' ends, so shares of a pass's total are not known (fold/increments.h makes a course of it).
 */
#ifndef FOLDING_PASS_INCREMENTS_H
#define FOLDING_PASS_INCREMENTS_H

#include "folding/passes.h"

/* Collects the increments of a counter, by its number, over passes that are known; none if the
 * counter is no such one. 0, -ENOMEM, or an error of store_reader_records(). */
int pass_increments_read(struct profile *profile, struct passes *passes, unsigned counter);

/* Copies those that lie within one pass; numbers[pass] is its number in `to`, UINT32_MAX: it is not
 * there. 0 or -ENOMEM. */
int pass_increments_pick(const struct passes *passes, const uint32_t *numbers, struct passes *to);

#endif
