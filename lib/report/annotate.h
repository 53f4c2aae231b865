/* SPDX-License-Identifier: MIT */
/*
 * Where in functions samples are: by source line and by place in the code. A place is a location
 * of the recording; what it is called and which line it is of stand in the store, so this needs
 * neither the program nor its source (report/annotate_code.h does).
 *
 * "self" are samples that hit there; "total" those that hit there or in something called from
 * there, each counted once however often a path goes through the place.
 */
#ifndef REPORT_ANNOTATE_H
#define REPORT_ANNOTATE_H

#include "model/profile.h"

struct annotate_location {
	uint32_t location; /* number in the store's tables */
	uint32_t line;	   /* index in the function's lines */
	uint64_t self, total;
	uint64_t hit;	 /* self, and what hit there in functions inlined into this one */
	bool is_inlined; /* the function is inlined into another one there */
};

struct annotate_line {
	const char *file; /* or NULL: not known */
	uint32_t line;	  /* or 0 */
	uint64_t self, total;
};

struct annotate_function {
	const struct profile_symbol *symbol;
	uint64_t self, total;
	struct annotate_location *locations; /* by object and offset */
	struct annotate_line *lines;	     /* by file and line */
	uint32_t n_locations, n_lines;
};

struct annotate {
	struct annotate_function *functions; /* most self first */
	uint32_t n;
	uint32_t n_more; /* functions that meet the pattern but are not among them */
};

/* The functions that meet a pattern (model/pattern.h; NULL: the one with most self), at most
 * `max` of them. 0, -ENOENT: no path goes through such a function; -ENOMEM. */
int annotate_make(struct profile *profile, const char *pattern, uint32_t max,
		  struct annotate *ret_annotate);
void annotate_free(struct annotate *annotate);

#endif
