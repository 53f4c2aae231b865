/* SPDX-License-Identifier: MIT */
/*
 * Unpacks by liblzma, zlib and zstd; see unpack.h.
 *
 * Sizes in the file are not trusted. An .xz file has its size only at the end, so the output grows
 * up to the limit. The header of a section has the unpacked size. That much memory is allocated, of
 * which the kernel provides only what is written, and the content must fill it exactly.
 */
#include "elf/unpack.h"

#include <elf.h>
#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

#define FIRST_BYTES (64u << 10)
/* limit of the decoder's memory; dictionaries of `xz -9` are 64 MiB */
#define XZ_MEMORY_BYTES (80u << 20)

/* --- xz -------------------------------------------------------------------------------------- */

/* Doubles the room for output. Returns 0, -E2BIG or -ENOMEM. */
static int grow(lzma_stream *stream, uint8_t **bytes, size_t *room, size_t most)
{
	size_t used = *room, bigger = used ? used * 2 : FIRST_BYTES;
	uint8_t *moved;

	if (used >= most)
		return -E2BIG;
	if (bigger > most)
		bigger = most;
	moved = realloc(*bytes, bigger);
	if (!moved)
		return -ENOMEM;
	*bytes = moved;
	*room = bigger;
	stream->next_out = moved + used;
	stream->avail_out = bigger - used;
	return 0;
}

static int xz_error(lzma_ret ret)
{
	return ret == LZMA_MEM_ERROR ? -ENOMEM : ret == LZMA_MEMLIMIT_ERROR ? -E2BIG : -EBADMSG;
}

static int run_xz(lzma_stream *stream, size_t most, uint8_t **bytes)
{
	lzma_ret ret = LZMA_OK;
	size_t room = 0;
	int err = 0;

	while (!err && ret == LZMA_OK) {
		if (!stream->avail_out)
			err = grow(stream, bytes, &room, most);
		if (!err)
			ret = lzma_code(stream, LZMA_FINISH);
	}
	return err ? err : ret == LZMA_STREAM_END ? 0 : xz_error(ret);
}

int unpack_xz(const void *packed, size_t len, size_t most, uint8_t **ret_bytes, size_t *ret_len)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	uint8_t *bytes = NULL;
	int err;

	if (lzma_stream_decoder(&stream, XZ_MEMORY_BYTES, 0) != LZMA_OK)
		return -ENOMEM;
	stream.next_in = packed;
	stream.avail_in = len;
	err = run_xz(&stream, most, &bytes);
	*ret_len = (size_t)stream.total_out;
	lzma_end(&stream);
	if (err) {
		free(bytes);
		return err;
	}
	*ret_bytes = bytes;
	return 0;
}

/* --- sections -------------------------------------------------------------------------------- */

static int run_zlib(const void *packed, size_t len, uint8_t *bytes, size_t size)
{
	uLongf got = size;
	int ret = uncompress(bytes, &got, packed, len);

	return ret == Z_OK && got == size ? 0 : ret == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
}

static int run_zstd(const void *packed, size_t len, uint8_t *bytes, size_t size)
{
	return ZSTD_decompress(bytes, size, packed, len) == size ? 0 : -EBADMSG;
}

int unpack_section(const void *packed, size_t len, size_t most, uint8_t **ret_bytes,
		   size_t *ret_len)
{
	const uint8_t *content = (const uint8_t *)packed + sizeof(Elf64_Chdr);
	Elf64_Chdr header;
	uint8_t *bytes;
	int err;

	if (len < sizeof(header))
		return -EBADMSG;
	memcpy(&header, packed, sizeof(header));
	if (header.ch_size > most)
		return -E2BIG;
	bytes = malloc(header.ch_size ? header.ch_size : 1);
	if (!bytes)
		return -ENOMEM;
	len -= sizeof(header);
	err = header.ch_type == ELFCOMPRESS_ZLIB   ? run_zlib(content, len, bytes, header.ch_size)
	      : header.ch_type == ELFCOMPRESS_ZSTD ? run_zstd(content, len, bytes, header.ch_size)
						   : -EBADMSG;
	if (err) {
		free(bytes);
		return err;
	}
	*ret_bytes = bytes;
	*ret_len = header.ch_size;
	return 0;
}
