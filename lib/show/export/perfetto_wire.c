/* SPDX-License-Identifier: MIT */
/* Writes fields of protocol buffers; see perfetto_wire.h. A field begins with its number and the
 * way in which it is encoded. */
#include "export/perfetto_wire.h"

#include "base/text.h"

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };

static void begin(struct buf *b, enum perfetto_field field, unsigned wire)
{
	buf_put_varint(b, (uint64_t)field << 3 | wire);
}

void perfetto_number(struct buf *b, enum perfetto_field field, uint64_t value)
{
	begin(b, field, WIRE_VARINT);
	buf_put_varint(b, value);
}

void perfetto_fixed64(struct buf *b, enum perfetto_field field, uint64_t value)
{
	begin(b, field, WIRE_FIXED64);
	for (unsigned i = 0; i < 64; i += 8)
		buf_put_u8(b, (uint8_t)(value >> i));
}

void perfetto_bytes(struct buf *b, enum perfetto_field field, const void *bytes, size_t len)
{
	begin(b, field, WIRE_BYTES);
	buf_put_varint(b, len);
	if (len)
		buf_put(b, bytes, len);
}

void perfetto_text(struct buf *b, enum perfetto_field field, const char *text)
{
	struct buf safe = {0};

	text_put(&safe, text ? text : "", NULL);
	perfetto_message(b, field, &safe);
	buf_free(&safe);
}

void perfetto_message(struct buf *b, enum perfetto_field field, struct buf *message)
{
	b->failed |= message->failed;
	perfetto_bytes(b, field, message->data, message->len);
	buf_clear(message);
}
