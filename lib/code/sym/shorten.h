/* SPDX-License-Identifier: MIT */
/* Shortens readable names of functions, and keeps their most informative parts. */
#ifndef SYM_SHORTEN_H
#define SYM_SHORTEN_H

#include <stddef.h>

#include "base/buf.h"

/* Appends `name`, a readable name of C++ or another language, shortened to about `most` bytes.
 * First replaces the contents of the most deeply nested brackets by "...", and cuts the end only if
 * the name is still longer. */
void shorten_name(const char *name, size_t len, size_t most, struct buf *out);

#endif
