/* SPDX-License-Identifier: MIT */
/*
 * Reads a set of tag exports as a recording: with its processes, threads, hosts and ranks, sums in
 * the place of samples, and without times. So all views of sums show what was merged.
 */
#ifndef TAGSET_TAGSET_READER_H
#define TAGSET_TAGSET_READER_H

#include "stack/metric.h"
#include "store/store_reader.h"
#include "tagset/tagset.h"

/* Makes a reader of what a set has of a metric (as metric_summed() names it); `name` is what the
 * recording's target is called. Recordings of another event than the latest one's are left out:
 * *ret_left_out is how many. Returns 0; -ENODATA: it has none of the metric; -EBADMSG: a sample is
 * not as docs/TAGS.md has it, or has an end reason that this version does not know; -ENOMEM.
 * store_reader_close() frees the reader, which needs the set no longer. */
int tagset_reader_new(const struct tagset *set, enum metric metric, const char *name,
		      struct store_reader **ret_reader, uint32_t *ret_left_out);

/* Appends the names of the metrics that a set has, parted by ", ". */
void tagset_reader_put_metrics(const struct tagset *set, struct buf *b);

#endif
