/* SPDX-License-Identifier: MIT */
/*
 * Checks walks by the tags that were read along with them, and finds the call paths of samples that
 * have only a tag.
 *
 * If a sample has both a walk and a tag, the walk is checked: the chained hash of those functions
 * of its path that keep a tag must equal the tag. So an instrumented program checks the walk frame
 * by frame, and each such sample also checks an entry of the table of known tags (known_tags.h).
 * Walk and tag can differ though both are right, when a function was entered and has not changed
 * the tag yet, or has restored the tag and not returned yet. The instructions at the sample's
 * location show whether it is one of these cases (tagged_functions_is_window()).
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

/* Checks a walk by the tag that was read at the same moment, and learns that the tag stands for the
 * walk's path. `path`: locations of the `count` user frames, root first. 0 or -ENOMEM. */
int tag_paths_learn(struct tag_paths *paths, const struct stackd_tag_record *record,
		    const uint32_t *path, size_t count, enum stackd_end_reason reason);

/* To be called when the trie and the locations are cleared. The paths of tags stay known. */
void tag_paths_begin_anew(struct tag_paths *paths);

/* The user path that a tag stands for. */
struct tag_path {
	uint32_t node;
	uint32_t frames;	       /* number of frames of the path; the tag covers all but the
					* leaf */
	enum stackd_end_reason reason; /* why the path ends; TAG_UNKNOWN: the tag is not known, and
					* `node` has one frame, which shows the tag's number */
};

/* Finds the user path of a sample of which only the tag and the program counter are known. The
 * program counter is at `offset` of `object`. 0 or -ENOMEM. */
int tag_paths_take(struct tag_paths *paths, const struct stackd_tag_record *record,
		   const struct object *object, uint64_t offset, struct tag_path *ret_path);

struct tag_paths_counts {
	uint64_t right;	    /* walks with exactly the functions of the tag */
	uint64_t window;    /* walks that differ from the tag by one function that was just being
			     * entered or left */
	uint64_t between;   /* walks that differ, at a location where a callee had just returned */
	uint64_t wrong;	    /* walks that differ from the tag otherwise */
	uint64_t unchecked; /* walks that were not complete, so they were not compared */
	uint64_t learned;   /* tags whose path was learned */
	uint64_t forgotten; /* learned tags that were forgotten to make room */
	uint64_t unknown;   /* samples whose tag was not known */
};

/* Gives the counters so far. */
void tag_paths_counts(const struct tag_paths *paths, struct tag_paths_counts *ret_counts);

#endif
