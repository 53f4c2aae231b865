/* SPDX-License-Identifier: MIT */
/*
 * Tags and call paths: what a walk tells of the tag that was read along with it, and what path a
 * sample has of which only the tag was read.
 *
 * A walk is checked against the tag whenever both are there: the functions of the path that keep a
 * tag, chained, must give it. So an instrumented program judges the walk, frame by frame, and the
 * dictionary holds nothing that was not checked. There are moments at which the two differ though
 * both are right: a function has been entered and has not changed the tag yet, or has given it
 * back and not returned yet. Whether a sample hit at such a place is told by the instructions
 * there (tagged_functions_is_window()).
 */
#ifndef TAGS_TAG_PATHS_H
#define TAGS_TAG_PATHS_H

#include "proc/object.h"
#include "stack/location.h"
#include "stack/trie.h"
#include "stackd_abi.h"
#include "daemon/tags/tagger.h"

struct tag_paths;

/* All borrowed. `known_fd` and `max_known` as tag_book_new(); `judge`: check only, and never let
 * the kernel half do without a walk. 0 or -ENOMEM. */
struct tag_paths_options {
	struct object_table *objects;
	struct location_table *locations;
	struct trie *trie;
	struct tagger *tagger;
	int known_fd;
	uint32_t max_known;
	bool judge;
};
int tag_paths_new(const struct tag_paths_options *options, struct tag_paths **ret_paths);
void tag_paths_free(struct tag_paths *paths);

/* Checks a walk by the tag that was read at the same moment, and learns what the tag means.
 * `path`: the user part, locations, root first. 0 or -ENOMEM. */
int tag_paths_learn(struct tag_paths *paths, const struct stackd_tag_record *record,
		    const uint32_t *path, size_t count, enum stackd_end_reason reason);

/* The user path of a sample of which the tag was read, and the program counter: where that lies,
 * `object` and `offset` say. 0 or -ENOMEM. */
struct tag_path {
	uint32_t node;
	uint32_t frames;	       /* of it; all but the leaf are the tag's */
	enum stackd_end_reason reason; /* TAG_UNKNOWN: node is that of a mark with the tag */
};
int tag_paths_take(struct tag_paths *paths, const struct stackd_tag_record *record,
		   const struct object *object, uint64_t offset, struct tag_path *ret_path);

struct tag_paths_counts {
	uint64_t right;	    /* walks with all the tag's functions, and no others */
	uint64_t window;    /* ...but for a function that was just being entered or left */
	uint64_t between;   /* at a place where control had just come back from deeper down */
	uint64_t wrong;	    /* walk and tag differ */
	uint64_t unchecked; /* the walk was not complete */
	uint64_t learned;   /* tags */
	uint64_t unknown;   /* samples whose tag was not known */
};
void tag_paths_counts(const struct tag_paths *paths, struct tag_paths_counts *ret_counts);

#endif
