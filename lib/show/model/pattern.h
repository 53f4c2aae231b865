/* SPDX-License-Identifier: MIT */
/*
 * Matches the names of functions and objects that a user writes: the exact name, or a pattern in
 * which '*' stands for any characters and '?' for one. A C++ function also matches by its name
 * without arguments, and a file by its name without folders.
 */
#ifndef MODEL_PATTERN_H
#define MODEL_PATTERN_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* Whether the first `len` bytes of a name match a pattern. */
bool pattern_matches(const char *pattern, const char *name, size_t len);

/* Whether a demangled function name matches a pattern. */
bool pattern_is_function(const char *pattern, const char *name);

/* Whether the path of an object matches a pattern. */
bool pattern_is_object(const char *pattern, const char *path);

/* Returns how far a function's name is from the one that was asked for, to suggest what may have
 * been meant: 0 if it contains `asked`, else the edit distance (argp_table_distance()) of the last
 * parts of both names; UINT_MAX if more than a quarter of the letters and one more differ. */
unsigned pattern_distance(const char *asked, const char *name);

#endif
