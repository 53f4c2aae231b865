/* SPDX-License-Identifier: MIT */
/* Parses the argument of --mark, FUNC[@OBJECT] or FILE:LINE[@OBJECT], and the spans of --region:
 * NAME=FILE:LINE..FILE:LINE. */
#ifndef REGIONS_MARK_SPEC_H
#define REGIONS_MARK_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/regions/region_spec.h"

/* A location in the code: the entry of a function, or a line. */
struct mark_place {
	struct region_spec spec; /* for a line, its member `function` is the text "FILE:LINE" */
	char *file;		 /* NULL: it is a function */
	uint32_t line;
};

struct mark_spec {
	const char *text;	     /* as it was given; borrowed */
	char *name;		     /* as it is shown */
	char *parts[2];		     /* texts of the locations */
	struct mark_place places[2]; /* of a span: its beginning and its end */
	size_t n_places;
};

/* Returns whether the argument of --region is a span. */
bool mark_spec_is_span(const char *text);

/* Parses a mark or a span. 0; -EINVAL: the text is neither; -ENOMEM. The caller calls
 * mark_spec_free() in any case. */
int mark_spec_parse(const char *text, struct mark_spec *ret_spec);
void mark_spec_free(struct mark_spec *spec);

#endif
