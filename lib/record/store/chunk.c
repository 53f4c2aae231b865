/* SPDX-License-Identifier: MIT */
/* Columns to blobs and back; see chunk.h. */
#include "store/chunk.h"

#include <errno.h>
#include <stdlib.h>

#include <zstd.h>

static int pack_column(ZSTD_CCtx *zstd, const struct buf *column, int level, struct buf *scratch,
		       struct buf *ret_blob)
{
	size_t bound = ZSTD_compressBound(column->len), n;

	if (column->failed)
		return -ENOMEM;
	if (scratch->cap < bound) {
		uint8_t *data = realloc(scratch->data, bound);

		if (!data)
			return -ENOMEM;
		scratch->data = data;
		scratch->cap = bound;
	}
	n = ZSTD_compressCCtx(zstd, scratch->data, scratch->cap, column->data, column->len, level);
	if (ZSTD_isError(n))
		return -ENOMEM;
	buf_put_varint(ret_blob, n);
	buf_put(ret_blob, scratch->data, n);
	return 0;
}

int chunk_pack(const struct buf *columns, size_t n_columns, int level, struct buf *ret_blob)
{
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	struct buf scratch = {0};
	int err = zstd ? 0 : -ENOMEM;

	for (size_t i = 0; err == 0 && i < n_columns; i++)
		err = pack_column(zstd, &columns[i], level, &scratch, ret_blob);
	if (err == 0 && ret_blob->failed)
		err = -ENOMEM;
	buf_free(&scratch);
	ZSTD_freeCCtx(zstd);
	return err;
}

struct chunk_frame {
	const uint8_t *data;
	size_t len;
	size_t content;
};

/* Finds the frames of a blob and their unpacked sizes. */
static int find_frames(struct buf_reader *r, size_t n_columns, struct chunk_frame *frames,
		       size_t *ret_total)
{
	size_t total = 0;

	for (size_t i = 0; i < n_columns; i++) {
		uint64_t len = buf_get_varint(r);
		unsigned long long content;

		if (r->failed || len > (size_t)(r->end - r->at))
			return -EBADMSG;
		content = ZSTD_getFrameContentSize(r->at, len);
		/* This also refuses an unknown size, and bytes that are no zstd frame. */
		if (content > CHUNK_COLUMN_MAX)
			return -EBADMSG;
		frames[i] = (struct chunk_frame){.data = r->at, .len = len, .content = content};
		total += content;
		r->at += len;
	}
	*ret_total = total;
	return r->at == r->end ? 0 : -EBADMSG;
}

static int unpack_frames(const struct chunk_frame *frames, struct chunk *chunk)
{
	uint8_t *at = chunk->raw;

	for (size_t i = 0; i < chunk->n_columns; i++) {
		size_t n = ZSTD_decompress(at, frames[i].content, frames[i].data, frames[i].len);

		if (ZSTD_isError(n) || n != frames[i].content)
			return -EBADMSG;
		chunk->column[i] = buf_reader(at, n);
		at += n;
	}
	return 0;
}

int chunk_unpack(const void *blob, size_t len, size_t n_columns, struct chunk *ret_chunk)
{
	struct buf_reader reader = buf_reader(blob, len);
	struct chunk_frame frames[CHUNK_MAX_COLUMNS];
	struct chunk chunk = {.n_columns = n_columns};
	size_t total;
	int err;

	if (n_columns > CHUNK_MAX_COLUMNS)
		return -EBADMSG;
	err = find_frames(&reader, n_columns, frames, &total);
	if (err < 0)
		return err;
	chunk.raw = malloc(total ? total : 1);
	if (!chunk.raw)
		return -ENOMEM;
	err = unpack_frames(frames, &chunk);
	if (err < 0) {
		chunk_release(&chunk);
		return err;
	}
	*ret_chunk = chunk;
	return 0;
}

void chunk_release(struct chunk *chunk)
{
	free(chunk->raw);
	*chunk = (struct chunk){0};
}

bool chunk_done(const struct chunk *chunk)
{
	for (size_t i = 0; i < chunk->n_columns; i++) {
		if (chunk->column[i].failed || chunk->column[i].at != chunk->column[i].end)
			return false;
	}
	return true;
}
