/* SPDX-License-Identifier: MIT */
/*
 * Reads a set of tag exports as a recording, with its processes, threads, hosts and ranks, but with
 * sums instead of samples, and without times. So all views that need only sums can show merged
 * exports.
 */
#ifndef TAGSET_TAGSET_READER_H
#define TAGSET_TAGSET_READER_H

#include "stack/metric.h"
#include "store/store_reader.h"
#include "tagset/tagset.h"

/* Makes a reader of a set's records of a metric (as metric_summed() names it); `name` becomes the
 * recording's target. Leaves out recordings that count another event than the latest recording, and
 * gives their number in *ret_left_out. Returns 0; -ENODATA: the set has no record of the metric;
 * -EBADMSG: a sample does not conform to docs/TAGS.md, or has an end reason that this version does
 * not know; -ENOMEM. store_reader_close() frees the reader. The set may be freed before. */
int tagset_reader_new(const struct tagset *set, enum metric metric, const char *name,
		      struct store_reader **ret_reader, uint32_t *ret_left_out);

/* Appends the names of the metrics that a set has, with ", " between them. */
void tagset_reader_put_metrics(const struct tagset *set, struct buf *b);

#endif
