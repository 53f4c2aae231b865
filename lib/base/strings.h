/* SPDX-License-Identifier: MIT */
/* Interned strings: equal content, one dense number and one pointer. */
#ifndef BASE_STRINGS_H
#define BASE_STRINGS_H

#include <stdint.h>

struct strings;

/* Makes an empty table, which the caller frees with strings_free(). Returns 0 or -ENOMEM. */
int strings_new(struct strings **ret_strings);

/* Frees the table and its strings; NULL is fine. */
void strings_free(struct strings *strings);

/* Finds the number of a string; a new string is copied and gets the next number. Returns 0,
 * -ENOMEM, or -EOVERFLOW (2^31 strings). */
int strings_intern(struct strings *strings, const char *s, uint32_t *ret_number);

/* Returns the string with this number, which must come from strings_intern(). It lives as long as
 * the table. */
const char *strings_at(const struct strings *strings, uint32_t number);

/* Returns the number of strings. */
uint32_t strings_count(const struct strings *strings);

#endif
