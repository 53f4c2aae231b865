/* SPDX-License-Identifier: MIT */
/* Writes pages; see pages.h. A page is a header in Thrift's format and a content, which is
 * compressed as a whole; the header has a checksum of the compressed content. */
#include "parquet/pages.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#include "parquet/thrift.h"

#define PAGES_LEVEL 3 /* level of zstd; higher ones take longer and save a few percent */

enum { PAGE_DATA = 0, PAGE_DICTIONARY = 2 };

struct pages {
	FILE *out;
	uint64_t at, raw;
	ZSTD_CCtx *zstd;
	struct buf packed, header;
};

int pages_new(FILE *out, uint64_t at, struct pages **ret_pages)
{
	struct pages *pages = calloc(1, sizeof(*pages));

	if (!pages)
		return -ENOMEM;
	pages->out = out;
	pages->at = at;
	pages->zstd = ZSTD_createCCtx();
	if (!pages->zstd) {
		free(pages);
		return -ENOMEM;
	}
	*ret_pages = pages;
	return 0;
}

void pages_free(struct pages *pages)
{
	if (!pages)
		return;
	ZSTD_freeCCtx(pages->zstd);
	buf_free(&pages->packed);
	buf_free(&pages->header);
	free(pages);
}

uint64_t pages_at(const struct pages *pages)
{
	return pages->at;
}

uint64_t pages_raw(const struct pages *pages)
{
	return pages->raw;
}

int pages_bytes(struct pages *pages, const void *bytes, size_t len)
{
	if (fwrite(bytes, 1, len, pages->out) != len)
		return -EIO;
	pages->at += len;
	return 0;
}

static int compress_page(struct pages *pages, const struct buf *content)
{
	size_t bound = ZSTD_compressBound(content->len), len;
	struct buf *b = &pages->packed;

	if (content->failed)
		return -ENOMEM;
	buf_clear(b);
	if (b->cap < bound) {
		uint8_t *grown = realloc(b->data, bound);

		if (!grown)
			return -ENOMEM;
		b->data = grown;
		b->cap = bound;
	}
	len = ZSTD_compressCCtx(pages->zstd, b->data, b->cap, content->data, content->len,
				PAGES_LEVEL);
	if (ZSTD_isError(len))
		return -ENOMEM;
	b->len = len;
	return 0;
}

static void put_data_header(struct thrift *t, uint32_t values, int encoding)
{
	thrift_struct(t, 5);
	thrift_i32(t, 1, (int32_t)values);
	thrift_i32(t, 2, encoding);
	thrift_i32(t, 3, PARQUET_RLE); /* encoding of the levels */
	thrift_i32(t, 4, PARQUET_RLE);
	thrift_end(t);
}

static void put_dictionary_header(struct thrift *t, uint32_t values)
{
	thrift_struct(t, 7);
	thrift_i32(t, 1, (int32_t)values);
	thrift_i32(t, 2, PARQUET_PLAIN);
	thrift_end(t);
}

static int write_page(struct pages *pages, int type, const struct buf *content, uint32_t values,
		      int encoding)
{
	int err = compress_page(pages, content);
	struct thrift t;

	if (err < 0)
		return err;
	buf_clear(&pages->header);
	t = thrift_begin(&pages->header);
	thrift_i32(&t, 1, type);
	thrift_i32(&t, 2, (int32_t)content->len);
	thrift_i32(&t, 3, (int32_t)pages->packed.len);
	thrift_i32(&t, 4, (int32_t)crc32_z(0, pages->packed.data, pages->packed.len));
	if (type == PAGE_DATA)
		put_data_header(&t, values, encoding);
	else
		put_dictionary_header(&t, values);
	thrift_end(&t);
	if (pages->header.failed)
		return -ENOMEM;
	pages->raw += pages->header.len + content->len;
	err = pages_bytes(pages, pages->header.data, pages->header.len);
	return err == 0 ? pages_bytes(pages, pages->packed.data, pages->packed.len) : err;
}

int pages_dictionary(struct pages *pages, const struct buf *content, uint32_t values)
{
	return write_page(pages, PAGE_DICTIONARY, content, values, PARQUET_PLAIN);
}

int pages_data(struct pages *pages, const struct buf *content, uint32_t values, int encoding)
{
	return write_page(pages, PAGE_DATA, content, values, encoding);
}
