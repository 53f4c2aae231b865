/* SPDX-License-Identifier: MIT */
/* Makes file ids for objects without a build-id, from what else identifies them, and has the names
 * of the kinds of objects. */
#ifndef PROC_OBJECT_ID_H
#define PROC_OBJECT_ID_H

#include <stdint.h>

/* Returns a hash of a string. */
uint64_t object_hash_text(const char *s);

/* Returns the name of a kind (enum object_kind) as exports have it: "elf", "jit"; "unknown" for
 * another number. */
const char *object_kind_name(uint32_t kind);

/* Returns a hash as a file id, which is never 0. */
uint64_t object_nonzero_id(uint64_t id);

#endif
