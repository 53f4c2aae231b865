/* SPDX-License-Identifier: MIT */
/*
 * The reports: a profile as a call-path tree, a flat list, a tree of callers, the callers and
 * callees of one function, or samples over time; by process or otherwise (tree/partition.h), as
 * text or JSON. Each begins with the header: host, kernel, event, samples, lost and quality.
 *
 * With every percentage, the text says what 100 % is. Times of day are in the time zone of TZ.
 */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "model/profile.h"
#include "tree/partition.h"

enum report_view {
	REPORT_TREE,
	REPORT_FLAT,
	REPORT_CALLERS,
	REPORT_AROUND,
	REPORT_TIME,
	REPORT_REGIONS, /* for a profile of METRIC_REGION_TIME */
	REPORT_WAKERS,	/* for a profile of METRIC_WAIT_BLOCKED */
	/* of a profile of METRIC_WAIT, METRIC_WAIT_BLOCKED or METRIC_WAIT_RUNNABLE */
	REPORT_WAITS,
};

struct report_options {
	enum report_view view;
	enum partition_by by;
	const char *around;   /* REPORT_AROUND: the functions, as a pattern (model/pattern.h) */
	uint32_t n_bins;      /* REPORT_TIME: steps */
	size_t top;	      /* REPORT_WAITS: rows that are shown; 0: all */
	bool by_time;	      /* REPORT_WAITS: rows by their begin, rather than the longest first */
	double percent_limit; /* rows below this share of their part are summed up in one row */
	unsigned width;	      /* columns that rows are cut to; 0: rows are not cut */
	bool color;	      /* Shows large rows in bold. */
	bool utf8;	      /* Uses characters beyond ASCII in names and branches. */
	bool is_brief;	   /* The recording's head takes two lines, and columns have one heading. */
	bool full_names;   /* Shows functions with what they return, all arguments. */
	bool with_sources; /* REPORT_TREE: shows where each row's frames come from. */
	bool calls_apart;  /* Shows each call of a recursive function as a row. */
};

/* Checks whether any path of a profile goes through a function that matches a pattern, which
 * REPORT_AROUND requires. Returns 0; -ENOENT: no path does; -ENOMEM. */
int report_find(struct profile *profile, const char *pattern);

/* Writes a report as text. Returns 0; -ENOMEM; -EIO: the stream failed (a full disk, a closed
 * pipe); or for REPORT_TIME an error of histogram_make(). */
int report_write_text(struct profile *profile, const struct report_options *options, FILE *out);

/* Writes a report as one JSON object; docs/JSON.md has its members. Returns as report_write_text()
 * does. */
int report_write_json(struct profile *profile, const struct report_options *options, FILE *out);

/* Writes a symbol as an element of a list of symbols. */
void report_json_symbol(const struct profile_symbol *symbol, struct json *j);

/* Writes a report of REPORT_WAITS as CSV. Returns as report_write_text() does. */
int report_write_csv(struct profile *profile, const struct report_options *options, FILE *out);

/* Writes the figures of a recording for `stackctl stats` as JSON: samples by end reason, sizes and
 * costs. Returns 0, -ENOMEM, -EIO if the stream failed, or an error of profile_tags(). */
int report_write_stats_json(struct profile *profile, FILE *out);

/* Writes on one screen, as text, what was recorded, what it cost, and which counters mean trouble.
 * Returns 0, -ENOMEM, or -EIO if the stream failed. */
int report_write_stats_short(struct profile *profile, FILE *out);

/* Returns what a counter means that should be 0, as a clause without its value ("samples were
 * lost: ..."); NULL: the counter means no trouble. */
const char *report_trouble(const char *counter);

/* Writes all figures and counters as text. Returns as report_write_stats_json() does. */
int report_write_stats_text(struct profile *profile, FILE *out);

/* Writes the figures of a recording as metrics for Prometheus. Returns 0, -ENOMEM, or -EIO if the
 * stream failed. */
int report_write_prometheus(const struct store_tables *tables, FILE *out);

#endif
