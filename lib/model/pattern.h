/* SPDX-License-Identifier: MIT */
/*
 * What a user writes for functions and objects: the name itself, or with '*' and '?' for any
 * letters and any one letter. A C++ function is also met by its name without arguments, and a
 * file by its name without folders.
 */
#ifndef MODEL_PATTERN_H
#define MODEL_PATTERN_H

#include <limits.h>
#include <stdbool.h>

bool pattern_is_function(const char *pattern, const char *name);
bool pattern_is_object(const char *pattern, const char *path);

/* How far a function's name is from what was asked for, to tell what may have been meant: 0 if it
 * holds it, else edits from its last part; UINT_MAX if it is nothing like it. */
unsigned pattern_distance(const char *asked, const char *name);

#endif
