/* SPDX-License-Identifier: MIT */
/*
 * Inside the model: profile_sum.c sums samples up into it, profile.c answers from it. No other
 * module includes this.
 */
#ifndef MODEL_PROFILE_STATE_H
#define MODEL_PROFILE_STATE_H

#include "model/path_filter.h"
#include "base/int_map.h"
#include "model/names.h"
#include "model/reconstruct.h"
#include "model/path_suffix.h"
#include "stackd_abi.h"

/* How many end reasons the key of an entry tells apart. */
#define PROFILE_REASONS 32
_Static_assert(STACKD_END_COUNT < PROFILE_REASONS, "the last one stands for all unknown ones");

/* Most nodes are met by one group alone, and nodes are numbered as they came: an array of them is
 * looked at in order, where an index would miss the cache for each sample. */
struct profile_first {
	uint32_t entry; /* + 1; 0: none */
	uint32_t group;
};

/* The group of a thread's last sample. */
struct profile_last_group {
	uint64_t key;
	uint32_t group;
	bool is_known;
};

struct profile {
	struct store_reader *reader;
	const struct store_tables *tables; /* the reader's, trim's or reconstruct's */
	struct path_suffix *suffix;	   /* NULL unless inferred frames are left out */
	struct reconstruct *reconstruct;   /* NULL unless partial paths could be completed */
	uint64_t *tags; /* of the tables' nodes, if the reader has not them all */
	struct names *names;
	const struct profile_filter *filter;
	uint64_t from_ns, to_ns;	 /* CLOCK_MONOTONIC, both wanted */
	bool *wanted;			 /* by thread number */
	struct path_filter *path_filter; /* or NULL */
	struct profile_entry *entries;
	uint32_t n_entries;
	size_t cap_entries;
	/* Only while summing up: (thread, origin, end reason) -> group; the first entry of each
	 * node and its group; (group, node) -> entry, for nodes with more. */
	struct int_map lanes; /* (thread, CPU) -> number, with by_cpu; only while summing up */
	struct profile_first *first;
	struct int_map groups, by_key;
	struct profile_last_group *last_groups; /* by thread */
	struct profile_totals totals;
	const struct profile_symbol *marks[PROFILE_REASONS];
	const struct profile_symbol *no_frames;
	struct profile_frame *path; /* the answer of profile_frames() */
	size_t cap_path;
};

/* Makes entries, totals and marks of the reader's samples, as the filter says. 0, -ENOMEM, or what
 * store_reader_samples() says. */
int profile_sum_up(struct profile *profile);

/* Frees what is only there while summing up. */
void profile_free_sums(struct profile *profile);

/* Whether the numbers of a sample are those of the recording's tables. */
bool profile_is_known(const struct profile *profile, const struct store_sample *sample);

#endif
