/* SPDX-License-Identifier: MIT */
/*
 * Names locations: turns the store's tables into the frames that reports show. Only the model
 * (model/profile.h) and what completes paths for it use this; views use the model.
 *
 * A location gets its names when they are first needed, and keeps them, so a view that hides most
 * of a recording demangles few names. No function here may run in two threads at once.
 */
#ifndef MODEL_NAMES_H
#define MODEL_NAMES_H

#include "model/profile.h"

struct names;

/* Makes an empty table of names. `tables` is borrowed and must outlive it. Returns 0,
 * -ENOMEM or -EOVERFLOW. */
int names_new(const struct store_tables *tables, struct names **ret_names);
void names_free(struct names *names); /* frees all symbols; NULL is allowed */

/* Returns the frames of a location, the enclosing function first; there is at least one. The frames
 * are owned by `names` and live as long as it does. Returns 0 or -ENOMEM. */
int names_location(struct names *names, uint32_t location, const struct profile_frame **ret_frames,
		   uint32_t *ret_count);

/* Gives the same frames as keys, `symbol->number << 1 | is_inlined`, with which code that builds
 * trees need not read frames or symbols. Lifetime and errors are those of names_location(). */
int names_keys(struct names *names, uint32_t location, const uint32_t **ret_keys,
	       uint32_t *ret_count);

/* Returns the symbol of a root mark. Marks of equal text share one symbol; the text is copied. NULL
 * if memory is short. */
const struct profile_symbol *names_mark(struct names *names, const char *text);

/* Returns the number of symbols that exist so far. */
uint32_t names_symbol_count(const struct names *names);

/* Returns a symbol by its number, which must be below the count. */
const struct profile_symbol *names_symbol_at(const struct names *names, uint32_t number);

#endif
