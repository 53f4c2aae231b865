/* SPDX-License-Identifier: MIT */
/* The one function that a question is about, from its parameters `function` and `object`. */
#ifndef WEB_ASKED_H
#define WEB_ASKED_H

#include "tree/flat.h"
#include "web/selection.h"
#include "web/words.h"

/* Finds the function in the selection: the name is one that an answer had (web/words.h); of several
 * objects with that name, the one with most self. Returns its row of selection_flat(), or an error
 * after ask_fail(). */
int asked_find(struct ask *ask, struct selection *selection, const struct flat_row **ret_row);

/* Writes the member "function": {"name","object","kind"}. */
void asked_put(struct json *j, const struct profile_symbol *symbol);

#endif
