/* SPDX-License-Identifier: MIT */
/*
 * The SQL by which a fleet's database is read: which windows, samples and days a query chooses, and
 * the sums of the samples. Text goes into buffers, whose failures are left to the caller.
 */
#ifndef CLICKHOUSE_FLEET_SQL_H
#define CLICKHOUSE_FLEET_SQL_H

#include "clickhouse/fleet_build.h"

/* Returns whether the metric is about samples of an event; then windows of other events are not
 * added to them. Times of waits, bytes and so on are the same with each event. */
bool fleet_sql_is_of_samples(const struct fleet *f);

/* Appends a query, in parentheses, of the valid windows in the range of time, with all columns. */
void fleet_sql_windows(const struct fleet *f, struct buf *b);

/* Makes f->pushes, f->days and f->filter for the chosen windows, of which the first and the last
 * begin at these times, in ns since 1970. */
void fleet_sql_choose(struct fleet *f, uint64_t start_ns, uint64_t last_start_ns);

/* Chooses all days for the paths and locations that are fetched later. */
void fleet_sql_all_days(struct fleet *f);

/* Appends the condition that samples are of the metric; one that adds up others has those. */
void fleet_sql_metric(const struct fleet *f, struct buf *b);

/* Returns the most sums that the query of them gives; 0: all. */
uint32_t fleet_sql_most(const struct fleet *f);

/* Appends the query of the sums of all paths together, whose answer has the form of that of
 * fleet_sql_sums(). */
void fleet_sql_whole(const struct fleet *f, struct buf *b);

/* Appends the query of the sums. */
void fleet_sql_sums(const struct fleet *f, struct buf *b);

#endif
