/* SPDX-License-Identifier: MIT */
/* Parses the argument of --region: FUNC, FUNC@OBJECT, or FUNC@SOURCE for a static function, each
 * with '*' and '?' as wildcards; makes the specification for --mpi. */
#ifndef REGIONS_REGION_SPEC_H
#define REGIONS_REGION_SPEC_H

#include <stdbool.h>

#include "daemon/regions/region_name.h"

struct region_spec {
	char *title;	/* the option, as it was given; owned */
	char *function; /* pattern; owned; NULL: all functions of MPI */
	char *object;	/* pattern, or a real path; NULL: any */
	bool is_glob; /* it has wildcards, so it means all functions that match, rather than one */
};

/* Parses; the last '@' begins the object. 0; -EINVAL: a part is empty; -ENOMEM. */
int region_spec_parse(const char *text, struct region_spec *ret_spec);

/* Makes a specification of all functions of MPI. 0 or -ENOMEM. */
int region_spec_mpi(struct region_spec *ret_spec);
void region_spec_free(struct region_spec *spec);

/* Returns whether a file matches the object of a specification. */
bool region_spec_is_object(const struct region_spec *spec, const char *path);

/* Returns whether the object of a specification is the name of a source file: "a.c". */
bool region_spec_is_source(const struct region_spec *spec);

/* Returns whether a file may have functions that match. */
bool region_spec_may_be_in(const struct region_spec *spec, const char *path);

/* Compares a specification with a function of the file at `path`, by its linkage name `name`.
 * `source` is the name of its source file; NULL: not known. */
enum region_match region_spec_match(const struct region_spec *spec, const char *path,
				    const char *name, const char *source);

/* Returns whether the linkage name of a function or variable, or the readable form of it, matches
 * the specification's function. */
bool region_spec_is_function(const struct region_spec *spec, const char *name);

#endif
