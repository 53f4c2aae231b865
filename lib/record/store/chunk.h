/* SPDX-License-Identifier: MIT */
/*
 * Chunks: the large data of a store, as blobs of compressed columns.
 *
 * Numbers of one kind stand beside each other (all first differences of time, then all CPUs, and
 * so on), and every column is a zstd frame of its own: its entropy coder then learns that
 * column's bytes alone, which halves the samples' size against one frame for all.
 *
 *   blob   := column*                     as many as its kind of chunk has
 *   column := varint frame_bytes, zstd frame with its content size
 *
 * Nothing in a blob is trusted: a column beyond CHUNK_COLUMN_MAX is refused before it is
 * allocated, and a decoder checks with chunk_done() that it consumed every byte.
 */
#ifndef STORE_CHUNK_H
#define STORE_CHUNK_H

#include "base/buf.h"

#define CHUNK_MAX_COLUMNS 12u
#define CHUNK_COLUMN_MAX  (16u << 20) /* bytes of one column, unpacked */

/* Compression levels: for a chunk that will be written again soon, and for a full chunk. (Level 9
 * would make columns only 3 % smaller, since they hold little that repeats, for seven times the
 * work.) */
#define CHUNK_LEVEL_TAIL 1
#define CHUNK_LEVEL_FULL 3

/* Compresses the columns, and appends the blob to `ret_blob`. Returns 0; -ENOMEM, also if memory
 * was short when a column was filled. */
int chunk_pack(const struct buf *columns, size_t n_columns, int level, struct buf *ret_blob);

struct chunk {
	struct buf_reader column[CHUNK_MAX_COLUMNS];
	uint8_t *raw; /* owned */
	size_t n_columns;
};

/* Unpacks a blob. Returns 0, -EBADMSG or -ENOMEM. */
int chunk_unpack(const void *blob, size_t len, size_t n_columns, struct chunk *ret_chunk);
void chunk_release(struct chunk *chunk);

/* Returns whether every column was read exactly to the column's end. */
bool chunk_done(const struct chunk *chunk);

#endif
