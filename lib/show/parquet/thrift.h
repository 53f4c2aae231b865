/* SPDX-License-Identifier: MIT */
/*
 * Writes structures in Thrift's compact protocol, the form of the metadata of Parquet files:
 * https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
 *
 * A field's header has the difference between its number and that of the field before, so fields
 * come in rising order of their numbers. Structures nest up to THRIFT_MAX_DEPTH.
 */
#ifndef PARQUET_THRIFT_H
#define PARQUET_THRIFT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

#define THRIFT_MAX_DEPTH 8

enum thrift_type { THRIFT_I32 = 5, THRIFT_BINARY = 8, THRIFT_STRUCT = 12 };

/* A structure that is being written. */
struct thrift {
	struct buf *out;		/* borrowed */
	int16_t last[THRIFT_MAX_DEPTH]; /* by depth: the number of the structure's last field */
	unsigned depth;
};

/* Begins the outermost structure; thrift_end() ends it. */
struct thrift thrift_begin(struct buf *out);

/* Appends fields. */
void thrift_bool(struct thrift *t, int16_t field, bool value);
void thrift_i8(struct thrift *t, int16_t field, int8_t value);
void thrift_i16(struct thrift *t, int16_t field, int16_t value);
void thrift_i32(struct thrift *t, int16_t field, int32_t value);
void thrift_i64(struct thrift *t, int16_t field, int64_t value);
void thrift_binary(struct thrift *t, int16_t field, const void *bytes, uint32_t len);
void thrift_text(struct thrift *t, int16_t field, const char *text);

/* Begins a field that is a structure; thrift_end() ends it. */
void thrift_struct(struct thrift *t, int16_t field);

/* Appends a field that is an empty structure. */
void thrift_empty(struct thrift *t, int16_t field);

/* Begins a field that is a list of `count` items, which must follow: thrift_item_i32(),
 * thrift_item_text(), or thrift_item_struct() with thrift_end(). */
void thrift_list(struct thrift *t, int16_t field, enum thrift_type of, uint32_t count);
void thrift_item_i32(struct thrift *t, int32_t value);
void thrift_item_text(struct thrift *t, const char *text);
void thrift_item_struct(struct thrift *t);

/* Ends the innermost structure. */
void thrift_end(struct thrift *t);

#endif
