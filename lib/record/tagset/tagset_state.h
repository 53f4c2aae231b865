/* SPDX-License-Identifier: MIT */
/* Shared by the reading and the writing half of a tag set; see tagset.h. */
#ifndef TAGSET_TAGSET_STATE_H
#define TAGSET_TAGSET_STATE_H

#include "base/vec.h"
#include "tagset/tagset.h"
#include "base/int_map.h"
#include "base/strings.h"

struct tagset_recording {
	uint64_t start_unix_ns;
	/* text: ID, TIME, HOST, KERNEL, EVENT and possibly more */
	uint32_t fields;
	uint32_t inputs; /* number of inputs that had it */
};

struct tagset_object {
	uint32_t identity; /* text: KIND, FILE-ID, BUILD-ID, and LAYOUT if known */
	uint32_t path;	   /* text */
	uint64_t file_id;
};

struct tagset_process {
	uint32_t recording;
	uint32_t fields; /* text: PID, parent's PID, COMM, EXE */
	/* rank of the process in its MPI job, as a value of SERIES_MPI_RANK; 0: none */
	uint64_t rank;
};

/* An element of a chain: numbers of things whose contents have the same hash. */
struct tagset_link {
	uint32_t number, next;
};

struct tagset_chains {
	struct int_map heads;
	VEC(struct tagset_link) links;
};

#define TAGSET_NONE UINT32_MAX

struct tagset_totals {
	/* sums over all metrics: if these do not overflow, no sum over a part does */
	uint64_t samples, weight;
};

struct tagset {
	struct strings *strings;
	VEC(struct tagset_recording) recordings;
	VEC(struct tagset_object) objects;
	VEC(struct tagset_location) locations;
	VEC(struct tagset_node) nodes;
	VEC(struct tagset_process) processes;
	VEC(struct tagset_sample) samples;
	struct tagset_chains by_recording, by_object, by_location, by_node, by_process, by_sample;
	struct tagset_totals totals[TAGSET_SIDES];
	uint64_t skipped;
	uint32_t inputs;
};

/* Returns the first link of the chain for a hash; TAGSET_NONE: there is none. */
uint32_t tagset_chain(const struct tagset_chains *chains, uint64_t key);
int tagset_chain_add(struct tagset_chains *chains, uint64_t key, uint32_t number);

/* Return whether a text replaces `other` for the same thing. Of two paths of an object, the first
 * in alphabetical order is kept, but any path rather than none. Of two texts of a location's names,
 * one that has a function is kept rather than one without, then the longer, then the greater
 * one. */
bool tagset_is_better_path(const char *path, const char *other);
bool tagset_says_more(const char *names, const char *other);

#endif
