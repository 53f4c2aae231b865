/* SPDX-License-Identifier: MIT */
/*
 * Decides which of the functions that match a specification (an argument of --region) are meant.
 *
 * A specification with a wildcard means all of them. Any other specification means one function.
 * Preferred are the functions in the best file (enum region_file); among these, those with exactly
 * the name (REGION_SAME); among these, those whose symbol is not weak. If several remain, they
 * count as one function if they are clones of one function (region_name.h), or constructors of one
 * class; otherwise the name is ambiguous.
 */
#ifndef REGIONS_REGION_CHOICE_H
#define REGIONS_REGION_CHOICE_H

#include <stdbool.h>
#include <stddef.h>

#include "daemon/regions/region_find.h"

/* What a file is to the target. Functions in files with a lower value are preferred. */
enum region_file {
	REGION_FILE_PROGRAM,  /* the command itself */
	REGION_FILE_STARTED,  /* a program that it starts, or that of a process */
	REGION_FILE_LAUNCHER, /* the command, if it is known to start other programs
			       * (shell_words_is_launcher()) */
	REGION_FILE_LIBRARY,
	REGION_FILE_LINKER, /* the dynamic linker, which alone calls its copies of functions */
};

/* Returns whether two functions that match one specification are one function in the source. */
bool region_choice_is_same(const struct found_region *a, const struct found_region *b);

/* Sets is_left_out of each function of specification `number` that is not among the preferred ones.
 * `files` has an enum region_file for each file. Returns how many different functions of the source
 * are left. */
size_t region_choice_make(struct found_regions *found, const struct region_spec *spec,
			  size_t number, const enum region_file *files);

/* Returns a specification that means the function at `index` alone, for the message that a name is
 * ambiguous. malloc()ed; NULL without memory. `paths` has the path of each file. */
char *region_choice_words(const struct found_regions *found, size_t index,
			  const char *const *paths);

#endif
