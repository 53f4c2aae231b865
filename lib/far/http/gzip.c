/* SPDX-License-Identifier: MIT */
/* Compression by zlib; see gzip.h. */
#include "http/gzip.h"

#define ZLIB_CONST
#include <errno.h>
#include <zlib.h>

#define GZIP_WINDOW (15 + 16) /* the largest window, and gzip's header and trailer */
#define GZIP_MEMORY 9	      /* zlib's most */
#define GZIP_PIECE  65536     /* bytes that are compressed before they are appended */

/* Compresses the input, until a piece of output is full or all is done, and appends the piece.
 * Returns the status of deflate(). */
static int put_piece(z_stream *z, struct buf *b)
{
	uint8_t piece[GZIP_PIECE];
	int status;

	z->next_out = piece;
	z->avail_out = sizeof(piece);
	status = deflate(z, Z_FINISH);
	buf_put(b, piece, sizeof(piece) - z->avail_out);
	return status;
}

int gzip_put(const void *bytes, size_t len, struct buf *b)
{
	z_stream z = {.next_in = bytes, .avail_in = (uInt)len};
	int status;

	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	do
		status = put_piece(&z, b);
	while (status == Z_OK && !b->failed);
	deflateEnd(&z);
	return status == Z_STREAM_END && !b->failed ? 0 : -ENOMEM;
}
