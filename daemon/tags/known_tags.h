/* SPDX-License-Identifier: MIT */
/*
 * Maps each tag of a program to its call path, learned from walks.
 *
 * A tag identifies the instrumented functions of a path, but neither the locations in them nor code
 * without instrumentation. So an entry holds the part of a walk from the root to the innermost
 * instrumented function. It is added only if the chained hash of its functions equals the tag, so
 * that a sample between a function's first instruction and its change of the tag adds no wrong
 * entry.
 *
 * The kernel half has a set of the known tags, of bounded size. When it is full, it is emptied and
 * a new round begins, in which tags are learned again. The daemon keeps the entries of the previous
 * round, since samples with these tags may not have arrived yet.
 */
#ifndef TAGS_KNOWN_TAGS_H
#define TAGS_KNOWN_TAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stackd_abi.h"

struct known_tags;

/* The meaning of a tag: a path from the root to the innermost function that the tag contains. */
struct tag_meaning {
	uint32_t caller;  /* node of the path up to the caller of the innermost function, in
			   * tag_paths' own trie of learned paths */
	uint32_t waiting; /* location of a call in the function, from a walk in which the function
			   * had called another; UINT32_MAX: there was none */
	uint32_t frames;  /* number of frames of the path, including the function */
	uint32_t object;  /* number of the object that has the function. The next members are
			   * file offsets in it */
	uint64_t entry;	  /* the function's entry */
	uint64_t start, end; /* the part of the function's code (it can have several) in which the
			      * walk saw it */
	uint8_t end_reason;  /* end reason of the walk from which it was learned */
};

/* `max`: the size of the kernel half's set, whose descriptor `known_fd` is borrowed (-1: there is
 * none). 0 or -ENOMEM. */
int known_tags_new(int known_fd, uint32_t max, struct known_tags **ret_tags);
void known_tags_free(struct known_tags *tags);

/* Adds the meaning of a tag, unless it is known already. 0 or -ENOMEM. */
int known_tags_teach(struct known_tags *tags, uint32_t program, uint64_t tag,
		     const struct tag_meaning *meaning);

/* Returns the meaning of a tag, valid until the next known_tags_teach(). NULL: not known. */
const struct tag_meaning *known_tags_find(const struct known_tags *tags, uint32_t program,
					  uint64_t tag);

/* Returns how many tags were learned so far. */
uint64_t known_tags_count(const struct known_tags *tags);

/* Returns how many tags were forgotten to make room. */
uint64_t known_tags_forgotten(const struct known_tags *tags);

#endif
