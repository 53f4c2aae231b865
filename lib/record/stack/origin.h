/* SPDX-License-Identifier: MIT */
/*
 * Origins: the sources of the frames of a sample's path.
 *
 * Nearly always the walk has found all frames: that is origin 0. Otherwise an origin is a list of
 * runs, root to leaf, each of some frames (nodes of the trie; inlined functions do not count) with
 * one source; frames beyond the last run come from the walk. Origins repeat, so they are interned:
 * samples, and the store, refer to them by number.
 *
 * A frame is inferred if its source is an inference, or if any frame nearer to the leaf is
 * inferred, because then only that inference connects the frame to this sample. So the inferred
 * frames are always the root part of a path, and origin_inferred() returns their number.
 */
#ifndef STACK_ORIGIN_H
#define STACK_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(enumerator, name, is_observed, meaning). Stores and output contain the numbers and names: they
 * never change, and new ones go to the end. */
#define FRAME_SOURCES(X)                                                                           \
	X(WALKED, "walked", true, "found by the walk of this sample's stack")                      \
	X(PREFIX, "prefix", false,                                                                 \
	  "of the thread's sample before, above a frame in the same slot")                         \
	X(BRANCH, "branch", true, "a call among the processor's branch records")                   \
	X(STITCHED, "stitched", false, "of the thread's sample before, which this one overlaps")   \
	X(ALIGNED, "aligned", false, "of other samples, by alignment")                             \
	X(TAG, "tag", true,                                                                        \
	  "a function of the program's own tag, at the location of its first walk")

enum frame_source {
#define FRAME_SOURCE_X(e, name, is_observed, meaning) FRAME_SOURCE_##e,
	FRAME_SOURCES(FRAME_SOURCE_X)
#undef FRAME_SOURCE_X
		FRAME_SOURCE_COUNT
};

const char *frame_source_name(uint8_t source); /* "walked", ...; "unknown" */
bool frame_source_is_observed(uint8_t source); /* false for unknown ones */

struct origin_run {
	uint32_t frames;    /* at least 1 */
	uint8_t source;	    /* enum frame_source */
	uint8_t confidence; /* percent: how sure it is that these frames are right */
};

struct origin {
	bool is_complete; /* the path, its inferred frames included, begins at the thread's entry */
	uint32_t height; /* bytes from the stack's end to the stack slot that held the first frame's
			  * program counter; 0: not known */
	uint32_t n_runs;
	const struct origin_run *runs; /* from root to leaf */
};

#define ORIGIN_WALKED	0u    /* the number of the origin without runs and height */
#define ORIGIN_MAX_RUNS 4096u /* of one origin */

/* Returns the number of inferred frames, which are at the path's root. */
uint32_t origin_inferred(const struct origin *origin);

/* Returns the run of a frame, `index` frames from the root. For a frame beyond the last run: one of
 * source WALKED. */
struct origin_run origin_run_of(const struct origin *origin, uint32_t index);

struct origin_table;

int origin_table_new(struct origin_table **ret_table); /* returns 0 or -ENOMEM */

/* Frees the table and its origins; NULL is fine. */
void origin_table_free(struct origin_table *table);

/* Removes all origins but ORIGIN_WALKED and frees their memory. */
void origin_table_clear(struct origin_table *table);

/* Gives the number of an origin, and adds it if it is new. Neighbouring runs with the same source
 * and confidence become one. An origin of walked runs alone, without a height, is ORIGIN_WALKED.
 * Returns 0; -ENOMEM; -EINVAL: a run without frames, an unknown source, a confidence above 100, or
 * more runs than ORIGIN_MAX_RUNS. */
int origin_intern(struct origin_table *table, const struct origin *origin, uint32_t *ret_number);

/* Returns the number of origins; and an origin by its number, which must be below origin_count().
 * Numbers are dense from 0, and 0 is ORIGIN_WALKED. The origin lives until the next
 * origin_intern(). */
uint32_t origin_count(const struct origin_table *table);
struct origin origin_at(const struct origin_table *table, uint32_t number);

#endif
