/* SPDX-License-Identifier: MIT */
/* Parses what --region asks for: FUNC, or FUNC@OBJECT, each with '*' and '?' as wildcards; and what
 * --mpi does. */
#ifndef REGIONS_REGION_SPEC_H
#define REGIONS_REGION_SPEC_H

#include <stdbool.h>

struct region_spec {
	char *title;	/* the option, as it was given; the spec's own */
	char *function; /* pattern; the spec's own; NULL: all functions of MPI */
	char *object;	/* pattern; NULL: any */
	bool is_glob;	/* it asks for all functions that match, rather than for one */
};

/* Parses; the last '@' begins the object. 0; -EINVAL: a part is empty; -ENOMEM. */
int region_spec_parse(const char *text, struct region_spec *ret_spec);

/* Asks for all functions of MPI. 0 or -ENOMEM. */
int region_spec_mpi(struct region_spec *ret_spec);
void region_spec_free(struct region_spec *spec);

/* Returns whether a file is one of those that are asked for. */
bool region_spec_is_object(const struct region_spec *spec, const char *path);

/* Returns whether a function is one of those that are asked for, by its linkage name or by what
 * that stands for. */
bool region_spec_is_function(const struct region_spec *spec, const char *name);

#endif
