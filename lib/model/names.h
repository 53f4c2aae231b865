/* SPDX-License-Identifier: MIT */
/*
 * Names of locations: from the store's tables to the frames that are shown. A part of the model
 * (model/profile.h), which is what everybody else uses.
 *
 * A location is looked up when it is first asked for and then kept, so a view that hides most of
 * a recording demangles little of it.
 */
#ifndef MODEL_NAMES_H
#define MODEL_NAMES_H

#include "model/profile.h"

struct names;

int names_new(const struct store_tables *tables, struct names **ret_names); /* 0 or -ENOMEM */
void names_free(struct names *names);

/* The frames of a location, the enclosing function first; at least one. They live until the next
 * call. 0 or -ENOMEM. */
int names_location(struct names *names, uint32_t location, const struct profile_frame **ret_frames,
		   uint32_t *ret_count);

/* The same as numbers, `symbol->number << 1 | is_inlined`: what trees are made of, without a look
 * at the frames and symbols themselves. */
int names_keys(struct names *names, uint32_t location, const uint32_t **ret_keys,
	       uint32_t *ret_count);

/* The symbol of a mark: entered once for each text. NULL for lack of memory. */
const struct profile_symbol *names_mark(struct names *names, const char *text);

uint32_t names_symbol_count(const struct names *names);
const struct profile_symbol *names_symbol_at(const struct names *names, uint32_t number);

#endif
