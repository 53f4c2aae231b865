/* SPDX-License-Identifier: MIT */
/*
 * The inside of a profile: profile_sum.c sums samples up into it, profile.c reads it. No other
 * module includes this.
 */
#ifndef MODEL_PROFILE_STATE_H
#define MODEL_PROFILE_STATE_H

#include "model/heap.h"
#include "model/path_filter.h"
#include "base/int_map.h"
#include "model/names.h"
#include "model/reconstruct.h"
#include "model/path_suffix.h"
#include "stackd_abi.h"

/* How many end reasons the key of an entry distinguishes. */
#define PROFILE_REASONS 32
_Static_assert(STACKD_END_COUNT < PROFILE_REASONS, "the last one stands for all unknown ones");

/* The first entry of a node. Most nodes have entries of one group only, and nodes are numbered in
 * the order of their first samples. So this array is read nearly in order, while a map would cost a
 * cache miss for each sample. */
struct profile_first {
	uint32_t entry; /* index of the entry + 1; 0: none */
	uint32_t group;
};

/* The group of the thread's previous sample. */
struct profile_last_group {
	uint64_t key;
	uint32_t group;
	bool is_known;
};

struct profile {
	struct store_reader *reader;
	/* the tables of the reader, of `suffix` or of `reconstruct` */
	const struct store_tables *tables;
	struct path_suffix *suffix;	 /* NULL unless inferred frames are left out */
	struct reconstruct *reconstruct; /* NULL unless partial paths could be completed */
	bool is_borrowed;		 /* `reconstruct` belongs to the filter's log */
	uint64_t *tags; /* of all nodes of the tables, if the reader lacks some; owned */
	struct names *names;
	const struct profile_filter *filter;
	const struct metric_info *metric;
	uint64_t recorded;	 /* number of the metric's records before the filter */
	uint64_t period_ns;	 /* of the clock; 0: there is no clock, or several periods */
	uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC, both inclusive */
	bool *wanted;		 /* by thread number: the filter selects the thread */
	struct heap heap;	 /* of a metric of peaks; otherwise zeroed */
	size_t peak_at;		 /* index of the next record's part in `heap` */
	struct path_filter *path_filter; /* or NULL */
	/* NULL if no region's probes were taken off, or has_rest is false */
	struct region_rest *rest;
	bool has_rest; /* profile_region_rest() has run, so `rest` is set */
	struct profile_entry *entries;
	uint32_t n_entries;
	size_t cap_entries;

	/* The next five members exist only while samples are summed up (profile_free_sums()). A
	 * group is the samples with one thread (and CPU, with by_cpu), one origin and one end
	 * reason. */
	struct int_map lanes;	     /* with by_cpu: (thread, CPU) -> lane */
	struct profile_first *first; /* by node */
	struct int_map groups;	     /* (lane or thread, origin, end reason) -> group */
	/* (group, node) -> entry, for all groups of a node except the one in `first` */
	struct int_map by_key;
	struct profile_last_group *last_groups; /* by thread */

	struct profile_totals totals;
	const struct profile_symbol *marks[PROFILE_REASONS];
	const struct profile_symbol *no_frames;
	struct profile_frame *path; /* the path that profile_frames() returned last */
	size_t cap_path;
};

/* Makes the entries, totals and marks from the reader's samples that the filter selects. Errors are
 * those of profile_new(), except -ENODATA. */
int profile_sum_up(struct profile *profile);

/* Frees what is needed only while samples are summed up. */
void profile_free_sums(struct profile *profile);

typedef int (*profile_each)(void *arg, const struct store_sample *record);

/* Does what profile_records() does, but calls `sample` for samples and `record` for records of
 * other series. */
int profile_records_apart(const struct profile *profile, profile_each sample, profile_each record,
			  void *arg);

/* Returns whether the thread, node and origin of a sample are in the recording's tables. */
bool profile_is_known(const struct profile *profile, const struct store_sample *sample);

#endif
