/* SPDX-License-Identifier: MIT */
/*
 * Adds recordings up to one: inside the reader; see store_join.c.
 */
#ifndef STORE_STORE_JOIN_H
#define STORE_STORE_JOIN_H

#include "store/reader_state.h"
#include "store/store_range.h"

struct store_join;

/* Begins a join in a reader whose tables are empty. Returns 0 or -ENOMEM. */
int store_join_new(struct store_reader *r, struct store_join **ret_join);

/* Adds a recording, whose reader `window` has loaded its tables. `is_later`: the recording comes
 * after the range, and only its records that began in the range count. The join owns `window` from
 * now on, and will read only samples through it. Returns 0, -ENOMEM or -EBADMSG. */
int store_join_add(struct store_join *join, struct store_reader *window, bool is_later);

/* Makes the reader's tables from all recordings that were added, and limits samples to the range.
 * Returns 0 or -ENOMEM. */
int store_join_finish(struct store_join *join, const struct store_range *range);

/* Frees the join, but not the reader's tables. NULL is fine. */
void store_join_free(struct store_join *join);

/* Does what store_reader_records() does, for all recordings that were added. `all`: also gives
 * records outside of the range. */
int store_join_records(struct store_reader *r, enum metric_series series, bool all,
		       int (*each)(void *arg, const struct store_sample *sample), void *arg);

#endif
