/* SPDX-License-Identifier: MIT */
/*
 * Matches the names of functions and objects that a user writes: the exact name, or a pattern in
 * which '*' stands for any characters and '?' for one. A function also matches by its name without
 * what it returns, its template arguments and its parameters, and a file by its name without
 * folders.
 */
#ifndef MODEL_PATTERN_H
#define MODEL_PATTERN_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* Returns whether the first `len` bytes of a name match a pattern. */
bool pattern_matches(const char *pattern, const char *name, size_t len);

/* Returns whether a demangled function name matches a pattern. */
bool pattern_is_function(const char *pattern, const char *name);

/* Returns whether the name of a function of a managed kind (model/frame_kind.h) matches: whole, or
 * without its parameters. It has no template arguments, whatever is in angle brackets. */
bool pattern_is_managed(const char *pattern, const char *name);

/* Returns whether the path of an object matches a pattern. */
bool pattern_is_object(const char *pattern, const char *path);

/* Returns how far a function's name is from the name `asked` that a user wrote, so that the nearest
 * name can be suggested: 0 if the name contains `asked`, else the edit distance
 * (argp_table_distance()) of the last components of both. Returns UINT_MAX if the distance exceeds
 * a quarter of the number of letters plus one; that limit was chosen by hand. */
unsigned pattern_distance(const char *asked, const char *name);

#endif
