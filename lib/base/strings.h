/* SPDX-License-Identifier: MIT */
/* Interned strings: equal content, one dense number and one pointer. */
#ifndef BASE_STRINGS_H
#define BASE_STRINGS_H

#include <stdint.h>

struct strings;

int strings_new(struct strings **ret_strings); /* 0 or -ENOMEM */

/* Frees the table and its strings; NULL is fine. */
void strings_free(struct strings *strings);

/* The number of a string, entered (copied) if it is new. 0, -ENOMEM, -EOVERFLOW (2^31). */
int strings_intern(struct strings *strings, const char *s, uint32_t *ret_number);

/* Lives as long as the table. `number` must come from strings_intern(). */
const char *strings_at(const struct strings *strings, uint32_t number);

/* Returns the number of strings entered. */
uint32_t strings_count(const struct strings *strings);

#endif
