/* SPDX-License-Identifier: MIT */
/*
 * The model behind all views and exports: a recording's samples, filtered, summed up by process,
 * thread and call path, with names.
 *
 * Display frames are made here, once for everybody: a location becomes one frame for its function
 * and one more for each function inlined there; a location without a name becomes
 * "libfoo.so+0x1a2b"; a path whose walk did not reach the thread's entry gets a root frame that
 * says so, "[incomplete: no_recipe]". Nothing inferred or missing is shown as observed: frames
 * that were not (stack/origin.h) are marked, or left out when the filter asks for that.
 */
#ifndef MODEL_PROFILE_H
#define MODEL_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/store_reader.h"

#define PROFILE_MAX_FOCUS 14

/* Names or patterns (model/pattern.h). */
struct profile_patterns {
	const char *const *items;
	size_t n;
};

/* What to leave out, and how paths are shown. Zero-initialised: nothing, and as they are. All
 * conditions must hold; within one list it is enough to meet one, but for `focus`. */
struct profile_filter {
	const int32_t *pids;
	size_t n_pids;
	const int32_t *tids;
	size_t n_tids;
	const char *const *comms; /* exact thread names */
	size_t n_comms;
	uint64_t from_ns, to_ns;	 /* since the recording's start; to_ns 0: to its end */
	struct profile_patterns dsos;	 /* objects in which samples hit */
	struct profile_patterns symbols; /* functions in which samples hit */
	struct profile_patterns focus;	 /* functions that are all somewhere in the path */
	struct profile_patterns ignore;	 /* functions that are nowhere in the path */
	uint32_t max_depth;    /* frames of a path from the root that are shown; 0: all. What hit
				* deeper counts as hit there */
	bool fold_recursion;   /* a function that calls itself is one frame */
	bool no_inlined;       /* leave out inlined frames: their time is their caller's */
	bool by_cpu;	       /* entries tell CPUs apart */
	bool no_reconstructed; /* leave out inferred frames: such paths are incomplete then */
};

/* A function as shown: interned, so equal names in one object are one pointer. */
struct profile_symbol {
	uint32_t number;      /* dense, from 0 */
	uint32_t name_number; /* dense, from 0: symbols of equal name share it */
	const char *name;     /* demangled; "libfoo.so+0x1a2b"; "[incomplete: ...]" */
	const char *object;   /* path, "[kernel.kallsyms]", "[vdso]", "" for marks */
	bool is_mark;	      /* not a function: says what is missing */
	bool is_kernel;
	bool is_unnamed; /* name is object+offset */
};

/* A frame as shown. */
struct profile_frame {
	const struct profile_symbol *symbol;
	uint32_t location; /* UINT32_MAX for marks */
	const char *file;  /* or NULL */
	uint32_t line;	   /* or 0 */
	bool is_inlined;
	bool is_inferred;   /* not observed, or only reached through a frame that was not */
	uint8_t source;	    /* enum frame_source */
	uint8_t confidence; /* percent */
};

/* Samples of one thread with one call path, one end reason and one origin; of one CPU, if the
 * filter has by_cpu. */
struct profile_entry {
	uint32_t thread; /* number in the store's tables */
	uint32_t node;
	uint32_t origin; /* number in the store's tables */
	uint8_t end_reason;
	uint8_t quality; /* enum profile_quality */
	uint16_t cpu;	 /* 0 without by_cpu */
	uint64_t samples;
	uint64_t weight; /* sum of the periods */
};

enum profile_quality { PROFILE_COMPLETE, PROFILE_RECONSTRUCTED, PROFILE_PARTIAL, PROFILE_LOST };

struct profile_totals {
	uint64_t samples, weight;		   /* after the filter */
	uint64_t complete, reconstructed, partial; /* samples, after the filter */
};

struct profile;

/* Sums up. 0; -ENODATA: no sample is left after the filter (*ret_profile is made all the same);
 * -EINVAL: too many functions to focus on; or what store_reader_samples() says. The reader and the
 * filter (NULL: none) are borrowed and must outlive the profile. */
int profile_new(struct store_reader *reader, const struct profile_filter *filter,
		struct profile **ret_profile);
void profile_free(struct profile *profile);

struct store_reader *profile_reader(const struct profile *profile);
const struct store_tables *profile_tables(const struct profile *profile);
/* The tags of their nodes, by number; [0] is 0. Borrowed. 0 or -ENOMEM. */
int profile_tags(struct profile *profile, const uint64_t **ret_tags);
const struct profile_totals *profile_totals(const struct profile *profile);
const struct profile_entry *profile_entries(const struct profile *profile, size_t *ret_count);
const struct profile_filter *profile_filter(const struct profile *profile); /* never NULL */

/* Whether the filter left anything out. */
bool profile_is_filtered(const struct profile *profile);

/* Whether the filter leaves a sample in: for those who go through the reader's samples. */
bool profile_includes(const struct profile *profile, const struct store_sample *sample);

/* The same, and the sample as this profile has it: path, origin and end reason are others where
 * inferred frames are left out. */
bool profile_sample(const struct profile *profile, const struct store_sample *sample,
		    struct store_sample *ret_sample);

/* The frames of a path, root first, marks and inlined frames included, as the filter has paths
 * shown (max_depth, fold_recursion): an array that lives until the next call. NULL for lack of
 * memory. */
const struct profile_frame *profile_frames(struct profile *profile, uint32_t node,
					   uint8_t end_reason, uint32_t origin, size_t *ret_count);

/* The frames that a location stands for, the enclosing function first, then those inlined into
 * it; same lifetime, never empty. NULL for lack of memory. */
const struct profile_frame *profile_location_frames(struct profile *profile, uint32_t location,
						    size_t *ret_count);

/* The same as numbers, `symbol->number << 1 | is_inlined`; quicker. */
const uint32_t *profile_location_keys(struct profile *profile, uint32_t location,
				      size_t *ret_count);

/* Returns the root mark of paths with an end reason and an origin, and makes it if no entry has it;
 * NULL where such paths have none, or for lack of memory. Making one changes the profile's symbols,
 * so no other thread may use the profile meanwhile. */
const struct profile_symbol *profile_mark(struct profile *profile, uint8_t end_reason,
					  uint32_t origin);

/* Returns the root mark of an entry's path, NULL if it has none. profile_new() has made the marks
 * of all entries, so this only reads and cannot fail: a second thread may call it at any time. */
const struct profile_symbol *profile_entry_mark(const struct profile *profile,
						const struct profile_entry *entry);

/* Whether paths with an end reason and an origin begin with a root mark. */
bool profile_has_mark(const struct profile *profile, uint8_t end_reason, uint32_t origin);

/* An origin by its number; numbers that are not known are walked ones. */
const struct origin *profile_origin(const struct profile *profile, uint32_t origin);

/* What stands for a path without any frame. */
const struct profile_symbol *profile_no_frames(const struct profile *profile);

size_t profile_symbol_count(const struct profile *profile);
const struct profile_symbol *profile_symbol_at(const struct profile *profile, uint32_t number);

/* Of a path with this end reason and origin. */
enum profile_quality profile_quality(const struct profile *profile, uint8_t end_reason,
				     uint32_t origin);

/* The same of a walk alone. */
enum profile_quality profile_quality_of(uint8_t end_reason);

#endif
