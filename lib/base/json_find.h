/* SPDX-License-Identifier: MIT */
/*
 * Finds members of JSON texts by their place: a member of this object, an item of this array. So
 * text that others have put into other objects is never taken for it.
 *
 * Values are places within the text, which is borrowed and ends with a NUL. The text may be cut off
 * or be no JSON at all: then less is found. Nesting may be of any depth.
 */
#ifndef BASE_JSON_FIND_H
#define BASE_JSON_FIND_H

#include <stddef.h>

/* Returns the value of an object's member. NULL: `object` is NULL or no object, or lacks it. */
const char *json_find_member(const char *object, const char *name);

/* Returns an array's first item, and the item behind another one. NULL: there is none. */
const char *json_find_first(const char *array);
const char *json_find_next(const char *item);

/* Returns the text of a value, and its length. NULL: it is no string, or has a backslash. */
const char *json_find_string(const char *value, size_t *ret_len);

#endif
