/* SPDX-License-Identifier: MIT */
/*
 * Checks walks by the tags that were read along with them, and finds the call paths of samples that
 * have only a tag.
 *
 * A sample with both a walk and a tag checks the walk: the chained hash of those functions of the
 * path that keep a tag must equal it. So an instrumented program checks the walk frame by frame,
 * and each such sample also checks an entry of the dictionary (known_tags.h). The two can differ
 * though both are right: a function has been entered and has not changed the tag yet, or has
 * restored it and not returned yet. The instructions at the sample's location show whether it is
 * one of these cases (tagged_functions_is_window()).
 */
#ifndef RECORDER_TAG_PATHS_H
#define RECORDER_TAG_PATHS_H

#include "proc/object.h"
#include "stack/location.h"
#include "stack/tag_trie.h"
#include "stackd_abi.h"
#include "daemon/recorder/tagger.h"

struct tag_paths;

/* All pointers are borrowed. `known_fd` and `max_known`: as in known_tags_new(). `judge`: tags only
 * check walks, and the kernel half never skips a walk. */
struct tag_paths_options {
	struct object_table *objects;
	struct location_table *locations;
	struct tag_trie *trie;
	struct tagger *tagger;
	int known_fd;
	uint32_t max_known;
	bool judge;
};

/* 0 or -ENOMEM. */
int tag_paths_new(const struct tag_paths_options *options, struct tag_paths **ret_paths);
void tag_paths_free(struct tag_paths *paths); /* NULL is fine */

/* Checks a walk by the tag that was read at the same moment, and learns that tag's path.
 * `path`: locations of the user part, root first. 0 or -ENOMEM. */
int tag_paths_learn(struct tag_paths *paths, const struct stackd_tag_record *record,
		    const uint32_t *path, size_t count, enum stackd_end_reason reason);

/* To be called when the trie and the locations are cleared: the paths of tags are kept. */
void tag_paths_begin_anew(struct tag_paths *paths);

/* The user path that a tag stands for. */
struct tag_path {
	uint32_t node;
	uint32_t frames;	       /* number of frames of the path; the tag covers all but the
					* leaf */
	enum stackd_end_reason reason; /* TAG_UNKNOWN: node is that of a mark with the tag */
};

/* Finds the user path of a sample for which only the tag and the program counter were read; the
 * latter is at `offset` of `object`. 0 or -ENOMEM. */
int tag_paths_take(struct tag_paths *paths, const struct stackd_tag_record *record,
		   const struct object *object, uint64_t offset, struct tag_path *ret_path);

struct tag_paths_counts {
	uint64_t right;	    /* walks with exactly the functions of the tag */
	uint64_t window;    /* walks that differ from the tag by one function that was just being
			     * entered or left */
	uint64_t between;   /* walks that differ, at a location where a callee had just returned */
	uint64_t wrong;	    /* walk and tag differ */
	uint64_t unchecked; /* the walk was not complete */
	uint64_t learned;   /* tags */
	uint64_t forgotten; /* learned tags that were forgotten to make room */
	uint64_t unknown;   /* samples whose tag was not known */
};

/* Gives the counters so far. */
void tag_paths_counts(const struct tag_paths *paths, struct tag_paths_counts *ret_counts);

#endif
