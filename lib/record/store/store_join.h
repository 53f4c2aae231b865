/* SPDX-License-Identifier: MIT */
/*
 * Adds recordings up to one: inside the reader; see store_join.c.
 */
#ifndef STORE_STORE_JOIN_H
#define STORE_STORE_JOIN_H

#include "store/reader_state.h"
#include "store/store_range.h"

struct store_join;

/* Begins a join in a reader without tables. 0 or -ENOMEM. */
int store_join_new(struct store_reader *r, struct store_join **ret_join);

/* Adds a recording, whose tables are loaded; `is_later`: it is behind the range, and there for what
 * began in it. The join takes `window` over; it may read samples from it, and nothing else. 0,
 * -ENOMEM, -EBADMSG. */
int store_join_add(struct store_join *join, struct store_reader *window, bool is_later);

/* Makes the reader's tables of all that was added; samples outside of the range are left out. 0 or
 * -ENOMEM. */
int store_join_finish(struct store_join *join, const struct store_range *range);

/* Frees the join, not the reader's tables. NULL is fine. */
void store_join_free(struct store_join *join);

/* As store_reader_records(), of all recordings that were added; `all`: also outside of the range.
 */
int store_join_records(struct store_reader *r, enum metric_series series, bool all,
		       int (*each)(void *arg, const struct store_sample *sample), void *arg);

#endif
