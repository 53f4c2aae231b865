/* SPDX-License-Identifier: MIT */
/*
 * Shows where in a function its samples are: by source line and by location. The names and lines of
 * locations are in the store, so this needs neither the program nor its source
 * (report/annotate_code.h does).
 *
 * "self" counts the samples that hit a location; "total" the samples that hit the location or
 * something called from it. Each sample counts once, however often its path goes through the
 * location.
 */
#ifndef REPORT_ANNOTATE_H
#define REPORT_ANNOTATE_H

#include "model/profile.h"

struct annotate_location {
	uint32_t location; /* number in the store's tables */
	uint32_t line;	   /* index in the function's lines */
	uint64_t self, total;
	/* `self`, plus the samples that hit functions inlined into this function at the location */
	uint64_t hit;
	bool is_inlined; /* The function itself is inlined into another one at the location. */
};

struct annotate_line {
	const char *file; /* or NULL: unknown */
	uint32_t line;	  /* or 0 */
	uint64_t self, total;
};

struct annotate_function {
	const struct profile_symbol *symbol;
	uint64_t self, total;
	struct annotate_location *locations; /* sorted by object and offset */
	struct annotate_line *lines;	     /* sorted by file and line */
	uint32_t n_locations, n_lines;
};

struct annotate {
	struct annotate_function *functions; /* most self first */
	uint32_t n;
	uint32_t n_more; /* number of further functions that match the pattern */
};

/* Annotates the functions that match a pattern (model/pattern.h), at most `max` of them; without a
 * pattern (NULL), the function with the largest self. The caller frees the result with
 * annotate_free(); the profile must outlive it. Returns 0; -ENOENT: no path goes through such a
 * function; -ENOMEM. */
int annotate_make(struct profile *profile, const char *pattern, uint32_t max,
		  struct annotate *ret_annotate);

/* Frees the arrays and zeroes the structure; it may be zeroed already. */
void annotate_free(struct annotate *annotate);

#endif
