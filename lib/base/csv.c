/* SPDX-License-Identifier: MIT */
/* Writes tables for programs; see csv.h. */
#include "base/csv.h"

#include <inttypes.h>
#include <math.h>

#include "base/text.h"

static void begin(struct csv *c)
{
	if (c->in_row)
		buf_put_u8(&c->text, ',');
	c->in_row = true;
}

void csv_head(struct csv *c, const char *names)
{
	text_put_raw(&c->text, names);
	buf_put_u8(&c->text, '\n');
}

void csv_word(struct csv *c, const char *word)
{
	begin(c);
	text_put_raw(&c->text, word);
}

void csv_name(struct csv *c, const char *name)
{
	struct buf text = {0};

	text_put(&text, name, NULL);
	csv_text(c, &text);
}

void csv_text(struct csv *c, struct buf *text)
{
	begin(c);
	buf_put_u8(&c->text, '"');
	for (size_t i = 0; i < text->len; i++) {
		if (text->data[i] == '"')
			buf_put_u8(&c->text, '"');
		buf_put_u8(&c->text, text->data[i]);
	}
	buf_put_u8(&c->text, '"');
	c->text.failed |= text->failed;
	buf_free(text);
}

void csv_uint(struct csv *c, uint64_t value)
{
	begin(c);
	text_printf(&c->text, "%" PRIu64, value);
}

void csv_int(struct csv *c, int64_t value)
{
	begin(c);
	text_printf(&c->text, "%" PRId64, value);
}

void csv_fixed(struct csv *c, double value, unsigned decimals)
{
	begin(c);
	if (isfinite(value))
		text_printf(&c->text, "%.*f", (int)decimals, value);
}

void csv_double(struct csv *c, double value, unsigned digits)
{
	begin(c);
	if (isfinite(value))
		text_printf(&c->text, "%.*g", (int)digits, value);
}

int csv_end_row(struct csv *c)
{
	buf_put_u8(&c->text, '\n');
	c->in_row = false;
	return text_flush(&c->text, c->out);
}

int csv_finish(struct csv *c, int err)
{
	return text_end(&c->text, c->out, err);
}
