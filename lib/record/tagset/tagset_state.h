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
	uint32_t fields; /* text: ID, TIME, HOST, KERNEL, EVENT and what may follow */
	uint32_t inputs; /* how many had it */
};

struct tagset_object {
	uint32_t identity; /* text: KIND, FILE-ID, BUILD-ID and, if it is known, LAYOUT */
	uint32_t path;	   /* text */
	uint64_t file_id;
};

struct tagset_process {
	uint32_t recording;
	uint32_t fields; /* text: PID, parent's PID, COMM, EXE */
	uint64_t rank;	 /* in its MPI job, as SERIES_MPI_RANK has it; 0: none */
};

/* Numbers of things by a hash of their content: a chain for each hash. */
struct tagset_link {
	uint32_t number, next;
};

struct tagset_chains {
	struct int_map heads;
	VEC(struct tagset_link) links;
};

#define TAGSET_NONE UINT32_MAX

struct tagset_totals {
	uint64_t samples, weight; /* of all metrics: what adds up has no overflow then */
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

/* Returns the first link of a chain, TAGSET_NONE at its end. */
uint32_t tagset_chain(const struct tagset_chains *chains, uint64_t key);
int tagset_chain_add(struct tagset_chains *chains, uint64_t key, uint32_t number);

/* Returns whether a name replaces another one of the same thing. Of two paths of an object the
 * first in order stays, but any rather than none; of two texts of a location's names the one with a
 * function, then the longer, then the greater text. */
bool tagset_is_better_path(const char *path, const char *other);
bool tagset_says_more(const char *names, const char *other);

#endif
