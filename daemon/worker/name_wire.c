/* SPDX-License-Identifier: MIT */
/* Strings are their length with the final NUL, and the bytes; a length of 0 is NULL. See
 * name_wire.h. */
#include "daemon/worker/name_wire.h"

#include <errno.h>
#include <string.h>

struct fixed {
	uint64_t function_start;
	uint32_t line;
	uint32_t is_inlined;
};

static void put_text(const char *text, struct buf *bytes)
{
	static const char end = '\0';
	size_t len = text ? strnlen(text, NAME_WIRE_MAX_BYTES - 1) : 0;

	buf_put_varint(bytes, text ? len + 1 : 0);
	if (!text)
		return;
	buf_put(bytes, text, len);
	BUF_PUT(bytes, end);
}

void name_wire_put(const struct store_line *line, struct buf *bytes)
{
	const struct fixed fixed = {line->function_start, line->line, line->is_inlined};

	BUF_PUT(bytes, fixed);
	put_text(line->function, bytes);
	put_text(line->file, bytes);
}

/* Returns a string, which stays in the bytes; NULL: it was NULL, or the bytes are invalid and
 * `failed` is set. */
static const char *get_text(struct buf_reader *r)
{
	uint64_t len = buf_get_varint(r);
	const char *text = (const char *)r->at;

	if (!len)
		return NULL;
	r->failed |= len > NAME_WIRE_MAX_BYTES || len > buf_left(r);
	r->failed |= !r->failed && memchr(text, '\0', len) != text + len - 1;
	if (r->failed)
		return NULL;
	r->at += len;
	return text;
}

int name_wire_get(struct buf_reader *r, uint32_t location,
		  int (*each)(void *arg, const struct store_line *line), void *arg)
{
	int err = 0;

	for (uint32_t depth = 0; !err && buf_left(r); depth++) {
		struct fixed fixed;
		struct store_line line = {.location = location, .depth = depth};

		BUF_GET(r, fixed);
		line.function = get_text(r);
		line.file = get_text(r);
		if (r->failed || depth >= NAME_WIRE_MAX_LINES || fixed.is_inlined > 1)
			return -EBADMSG;
		line.function_start = fixed.function_start;
		line.line = fixed.line;
		line.is_inlined = fixed.is_inlined;
		err = each(arg, &line);
	}
	return err;
}
