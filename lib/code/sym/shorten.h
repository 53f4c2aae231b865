/* SPDX-License-Identifier: MIT */
/* Shortens readable names of functions, so that what they are of stays. */
#ifndef SYM_SHORTEN_H
#define SYM_SHORTEN_H

#include <stddef.h>

#include "base/buf.h"

/* Appends `name`, a readable name of C++ or another language, in about `most` bytes: what stands in
 * brackets is replaced by "..." where the brackets are nested deepest, and only what is longer even
 * so is cut at its end. */
void shorten_name(const char *name, size_t len, size_t most, struct buf *out);

#endif
