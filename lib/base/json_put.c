/* SPDX-License-Identifier: MIT */
/* Writes JSON; see json_put.h. */
#include "base/json_put.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"

#define CHUNK 65536 /* bytes after which the text is written out */

static void flush(struct json *j)
{
	if (j->err)
		buf_clear(&j->text);
	else
		j->err = text_flush(&j->text, j->out);
}

/* Writes what stands before a value: a comma, a new line, and the key. */
static void begin(struct json *j, const char *key)
{
	const uint64_t here = UINT64_C(1) << j->depth;

	if (j->out && (j->text.len >= CHUNK || j->text.failed))
		flush(j);
	if (j->filled & here)
		buf_put_u8(&j->text, ',');
	j->filled |= here;
	if (j->on_new_line)
		buf_put_u8(&j->text, '\n');
	j->on_new_line = false;
	if (!key)
		return;
	text_put_json(&j->text, key);
	buf_put_u8(&j->text, ':');
}

static void open_level(struct json *j, const char *key, bool is_list)
{
	uint64_t level;

	begin(j, key);
	if (j->depth == JSON_PUT_DEPTH_MAX) {
		j->text.failed = true;
		return;
	}
	level = UINT64_C(1) << ++j->depth;
	j->filled &= ~level;
	j->lists = is_list ? j->lists | level : j->lists & ~level;
	buf_put_u8(&j->text, is_list ? '[' : '{');
}

void json_put_object(struct json *j, const char *key)
{
	open_level(j, key, false);
}

void json_put_array(struct json *j, const char *key)
{
	open_level(j, key, true);
}

void json_put_end(struct json *j)
{
	const bool is_list = j->lists >> j->depth & 1;

	if (j->on_new_line)
		buf_put_u8(&j->text, '\n');
	j->on_new_line = false;
	buf_put_u8(&j->text, is_list ? ']' : '}');
	if (j->depth)
		j->depth--;
}

void json_put_line(struct json *j)
{
	j->on_new_line = true;
}

void json_put_string(struct json *j, const char *key, const char *value)
{
	begin(j, key);
	text_put_json(&j->text, value ? value : "");
}

void json_put_text(struct json *j, const char *key, struct buf *value)
{
	buf_put_u8(value, '\0');
	json_put_string(j, key, value->failed ? "" : (const char *)value->data);
	j->text.failed |= value->failed;
	buf_free(value);
}

void json_put_raw(struct json *j, const char *key, const struct buf *value)
{
	begin(j, key);
	buf_put(&j->text, value->data, value->len);
	j->text.failed |= value->failed;
}

static void put_digits(struct json *j, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + value % 10);
	while (value /= 10);
	buf_put(&j->text, digits + at, sizeof(digits) - at);
}

void json_put_uint(struct json *j, const char *key, uint64_t value)
{
	begin(j, key);
	put_digits(j, value);
}

void json_put_int(struct json *j, const char *key, int64_t value)
{
	begin(j, key);
	if (value < 0)
		buf_put_u8(&j->text, '-');
	put_digits(j, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void json_put_bool(struct json *j, const char *key, bool value)
{
	begin(j, key);
	text_put_raw(&j->text, value ? "true" : "false");
}

void json_put_null(struct json *j, const char *key)
{
	begin(j, key);
	text_put_raw(&j->text, "null");
}

/* text_printf() would cut a number of a hundred digits or more, so such a number is written with an
 * exponent. */
void json_put_fixed(struct json *j, const char *key, double value, unsigned decimals)
{
	if (!isfinite(value) || fabs(value) >= 1e100) {
		json_put_double(j, key, value, 17);
		return;
	}
	begin(j, key);
	text_printf(&j->text, "%.*f", (int)decimals, value);
}

void json_put_double(struct json *j, const char *key, double value, unsigned digits)
{
	if (!isfinite(value)) {
		json_put_null(j, key);
		return;
	}
	begin(j, key);
	text_printf(&j->text, "%.*g", (int)digits, value);
}

void json_put_hex(struct json *j, const char *key, uint64_t value)
{
	begin(j, key);
	text_printf(&j->text, "\"%016" PRIx64 "\"", value);
}

int json_put_finish(struct json *j, int err)
{
	while (j->depth)
		json_put_end(j);
	buf_put_u8(&j->text, '\n');
	return text_end(&j->text, j->out, err ? err : j->err);
}
