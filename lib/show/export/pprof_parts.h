/* SPDX-License-Identifier: MIT */
/*
 * Decides which values the samples of a pprof file have, and which entries become samples. A part
 * of export_pprof.c.
 *
 * A profile of samples has the number of samples and their periods first, and then a value for each
 * other metric of the recording. A profile of allocations has the four values of Go's heap
 * profiles. A profile of any other metric has the number of its records and the sum of their
 * values. Each metric has records of its own, so an entry belongs to one metric. Its sample has
 * zeros for the values of the other metrics, and readers add samples up by path. A slice
 * (pprof_parts_slice()) has entries and values of one part only, for servers that want a profile
 * for each metric.
 */
#ifndef EXPORT_PPROF_PARTS_H
#define EXPORT_PPROF_PARTS_H

#include "model/profile.h"

#define PPROF_VALUES_MAX (METRIC_COUNT + 2) /* values of a sample */

struct pprof_value {
	const char *name, *unit;
};

/* The entries of one metric: from the end of the previous part to `end`. */
struct pprof_part {
	size_t end;
	uint32_t first_value; /* number of its first value */
	bool has_records;     /* samples have two values: the number of records comes first */
};

struct pprof_parts {
	struct profile *profile; /* its tables have the paths of all entries */
	const struct profile_entry *entries;
	size_t n_entries;
	struct pprof_part parts[METRIC_COUNT];
	struct pprof_value values[PPROF_VALUES_MAX];
	uint32_t n_parts, n_values;
	/* What a sample was taken each `period` of; the unit is that of `period_type`. 0: the
	 * profile is not periodic. */
	struct pprof_value period_type;
	int64_t period;
	size_t first; /* of a slice: number of its first entry in the part */
	/* number of the value of the metric that the user chose; for samples, that of the number of
	 * samples */
	uint32_t chosen;
	bool is_bare; /* samples have the labels of export_pprof.h only */
	/* These are owned; they are NULL if `entries` is borrowed. */
	struct profile_entry *own_entries;
	size_t room;
	struct profile_filter filter;
	struct profile *own_profile;
};

/* Sums up all that a profile's file has. The profile is borrowed. Returns 0, or an error of
 * profile_new() or store_reader_series(); `ret_parts` must be freed in any case. */
int pprof_parts_new(struct profile *profile, struct pprof_parts *ret_parts);
void pprof_parts_free(struct pprof_parts *parts);

/* Returns how many entries a part has. */
size_t pprof_parts_count(const struct pprof_parts *parts, uint32_t part);

/* Makes the parts for `n` entries of one part, from the part's number `from` on. Its samples have
 * labels that are few (is_bare), and its period is that of the part: that of the
 * samples, or 1 of the metric's unit, since values are what records stand for. The slice borrows
 * from `parts` and must not be freed. */
void pprof_parts_slice(const struct pprof_parts *parts, uint32_t part, size_t from, size_t n,
		       struct pprof_parts *ret_slice);

/* Returns which part an entry belongs to. */
const struct pprof_part *pprof_parts_of(const struct pprof_parts *parts, size_t entry);

#endif
