/* SPDX-License-Identifier: MIT */
/*
 * Which functions of two recordings are the same one: those of equal names. A new version of a
 * program can lie at another path, so the object does not tell; it does only for a name that
 * functions of several objects have in one recording (`main`, in a recording of many programs).
 */
#ifndef WEB_DIFFERENCE_NAMES_H
#define WEB_DIFFERENCE_NAMES_H

#include "model/profile.h"
#include "tree/flat.h"

struct difference_names;

/* Makes an empty table, which the caller frees with difference_names_free(). Returns 0 or -ENOMEM.
 */
int difference_names_new(struct difference_names **ret_names);
void difference_names_free(struct difference_names *names);

/* Adds the functions of a side: 0, the base, or 1. The profile must live as long as the table.
 * Returns 0, -ENOMEM or -EOVERFLOW. */
int difference_names_add(struct difference_names *names, unsigned side,
			 const struct profile *profile, const struct flat *functions);

/* Finds the object under which a function is matched and shown: that of the selection's function of
 * this name, or its own if the name is not enough; NULL: it has none. Returns 0, -ENOMEM or
 * -EOVERFLOW. */
int difference_names_object(struct difference_names *names, const struct profile_symbol *symbol,
			    const char **ret_object);

#endif
