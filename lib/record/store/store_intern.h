/* SPDX-License-Identifier: MIT */
/*
 * Interning for the writer: strings and functions to numbers, in order of first appearance.
 * Numbers given out start at 1; 0 stands for none.
 */
#ifndef STORE_STORE_INTERN_H
#define STORE_STORE_INTERN_H

#include "base/buf.h"
#include "base/hash_index.h"
#include "store/table_codec.h"

struct store_intern {
	struct buf bytes;	   /* all strings, one after the other */
	VEC(size_t) ends;	   /* by string: its end in `bytes` */
	struct hash_index strings; /* by hash of the content */
	VEC(struct table_function) functions;
	struct hash_index function_index;
};

/* Frees the strings and functions and leaves an empty table. */
void store_intern_fini(struct store_intern *names);

/* Gives the number of a string: 1 and up, or 0 for NULL. A new string is copied and gets the next
 * number; *ret_is_new tells whether it is new. Returns 0 or -ENOMEM. */
int store_intern_string(struct store_intern *names, const char *s, size_t len, uint32_t *ret_number,
			bool *ret_is_new);

/* Does the same for a function. */
int store_intern_function(struct store_intern *names, const struct table_function *f,
			  uint32_t *ret_number, bool *ret_is_new);

#endif
