/* SPDX-License-Identifier: MIT */
/*
 * The content of tag exports (docs/TAGS.md), of one or of many, as one set: what `merge` writes and
 * `diff` compares.
 *
 * A thing is identified by its content, not by its number in a file: an object by its kind and ids,
 * a location by object and offset, a path by its parent and location, a process by its recording
 * and fields. So reading a second export adds counts to the paths that both have, and the order of
 * writing depends on the content alone. Merging is therefore associative and commutative to the
 * byte; counts are added exactly, or the merge fails.
 *
 * Text stays as the format escapes it; tagset_text() gives the original.
 */
#ifndef TAGSET_TAGSET_H
#define TAGSET_TAGSET_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"

#define TAGSET_VERSION 1
#define TAGSET_SIDES   2
#define TAGSET_CPU     "cpu"

/* The variances of a metric are a metric with its name and this suffix. Their unit is
 * TAGSET_VARIANCE_UNIT times the square of the metric's unit. */
#define TAGSET_VARIANCE	     ".variance"
#define TAGSET_VARIANCE_UNIT 1048576.0

struct tagset;

struct tagset_location {
	uint64_t id;
	uint32_t object;
	uint32_t offset; /* text: hexadecimal */
	/* text, with tabs between: FRAME, FUNCTION, SOURCE, LINE, then FUNCTION, SOURCE, LINE of
	 * each inlined function */
	uint32_t names;
};

struct tagset_node {
	uint64_t tag;
	uint32_t parent; /* a smaller number; 0 is the empty path */
	uint32_t location;
	uint32_t depth;
};

/* Samples, or records of another metric, of one path and thread. */
struct tagset_sample {
	uint32_t node, process;
	uint32_t metric;	/* text: the metric's name; TAGSET_CPU for samples */
	uint32_t comm;		/* text */
	uint32_t remainder;	/* text, parted by tabs: TID and what follows it */
	uint32_t side;		/* the side of the input, as passed to tagset_read() */
	uint64_t count, weight; /* never overflow */
};

int tagset_new(struct tagset **ret_set); /* returns 0 or -ENOMEM */

/* NULL is fine. */
void tagset_free(struct tagset *set);

/* Adds an export. Returns 0; -EINVAL: the file is no export; -ENOTSUP: of another version;
 * -EBADMSG: broken or cut short; -EOVERFLOW: a count beyond 64 bits; -EIO; -ENOMEM. On failure the
 * set can only be passed to tagset_free(), and *ret_error is a malloc()ed sentence or NULL. */
int tagset_read(struct tagset *set, FILE *in, uint32_t side, char **ret_error);

/* Writes the whole set as an export. Returns 0, -ENOMEM or -EIO. tagset_share() does this for the
 * sets of many processes. */
int tagset_write(const struct tagset *set, FILE *out);

/* Returns the number of recordings that were read, each counted once. */
uint32_t tagset_recordings(const struct tagset *set);
uint32_t tagset_repeated(const struct tagset *set); /* recordings that more than one input had */
bool tagset_is_timed(const struct tagset *set);	    /* the events of all recordings are clocks */
uint64_t tagset_skipped(const struct tagset *set);  /* lines of unknown kinds */

/* Return arrays of the set, which live until the next tagset_read(). Node 0 is the empty path. */
const struct tagset_sample *tagset_samples(const struct tagset *set, uint32_t *ret_count);
const struct tagset_node *tagset_nodes(const struct tagset *set, uint32_t *ret_count);
const struct tagset_location *tagset_locations(const struct tagset *set, uint32_t *ret_count);

/* Returns a text by its number, escaped as it is in the file. */
const char *tagset_escaped(const struct tagset *set, uint32_t text);

/* Returns the path of an object, escaped as it is in the file; "" if it has none. */
const char *tagset_object_path(const struct tagset *set, uint32_t object);

/* Appends the original of an escaped text of `len` bytes. Bytes of zero stay escaped. */
void tagset_text(struct buf *b, const char *escaped, size_t len);

#endif
