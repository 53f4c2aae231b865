/* SPDX-License-Identifier: MIT */
/* Makes file ids for objects without a build-id, from what else identifies them, and has the names
 * of the kinds of objects. */
#ifndef PROC_OBJECT_ID_H
#define PROC_OBJECT_ID_H

#include <stdbool.h>
#include <stdint.h>

/* in place of a language: the frames of an activation are missing, and their object's path says
 * so */
#define OBJECT_NO_LANGUAGE 32

/* Returns a hash of a string. */
uint64_t object_hash_text(const char *s);

/* Returns the name of a kind (enum object_kind) as exports have it: "elf", "jit"; "unknown" for
 * another number. */
const char *object_kind_name(uint32_t kind);

/* Returns a hash as a file id, which is never 0. */
uint64_t object_nonzero_id(uint64_t id);

/* Returns the file id of a source file (OBJECT_MANAGED), by language (enum stackd_runtime) and
 * path. */
uint64_t object_managed_id(uint32_t language, const char *path);

/* Returns whether a source file with this id and path is of the language: a file whose id was taken
 * has one of the next ids (object_next_id()). */
bool object_is_managed_id(uint64_t file_id, uint32_t language, const char *path);

#endif
