/* SPDX-License-Identifier: MIT */
/* Text that is safe to print; see text.h. */
#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <wchar.h>

/* Returns the number of bytes of the UTF-8 character at `s`, or 0 if it is not valid (RFC 3629: no
 * overlong forms, no surrogates, nothing above U+10FFFF). It never reads past the terminating NUL.
 */
static unsigned decode(const uint8_t *s, uint32_t *ret_code)
{
	unsigned n = *s < 0x80	 ? 1
		     : *s < 0xc2 ? 0
		     : *s < 0xe0 ? 2
		     : *s < 0xf0 ? 3
		     : *s < 0xf5 ? 4
				 : 0;
	uint32_t code = n == 1 ? *s : n ? *s & (0x7f >> n) : 0;

	for (unsigned i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	if ((n == 3 && code < 0x800) || (n == 4 && (code < 0x10000 || code > 0x10ffff)) ||
	    (code >= 0xd800 && code < 0xe000))
		return 0;
	*ret_code = code;
	return n;
}

static bool is_unsafe(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2066 && code <= 0x2069);
}

static void put_escaped(struct buf *b, const uint8_t *s, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		text_printf(b, "\\x%02x", s[i]);
}

/* Returns the first byte from `at` on that is not plain ASCII, or is in `special`. */
static const uint8_t *skip_plain(const uint8_t *at, const uint64_t special[2])
{
	while (*at >= 0x20 && *at < 0x7f && !(special[*at >> 6] >> (*at & 63) & 1))
		at++;
	return at;
}

void text_put(struct buf *b, const char *s, const char *also)
{
	const uint8_t *at = (const uint8_t *)s;
	uint64_t special[2] = {0};

	for (; also && *also; also++)
		special[*also >> 6 & 1] |= UINT64_C(1) << (*also & 63);
	for (;;) {
		const uint8_t *plain_end = skip_plain(at, special);
		uint32_t code = 0;
		unsigned n;

		buf_put(b, at, (size_t)(plain_end - at));
		at = plain_end;
		if (!*at)
			break;
		n = decode(at, &code);
		if (n < 2 || is_unsafe(code))
			put_escaped(b, at, n ? n : 1);
		else
			buf_put(b, at, n);
		at += n ? n : 1;
	}
}

void text_put_ascii(struct buf *b, const char *s)
{
	for (const uint8_t *at = (const uint8_t *)s; *at; at++) {
		if (*at < 0x20 || *at >= 0x7f)
			put_escaped(b, at, 1);
		else
			buf_put(b, at, 1);
	}
}

void text_put_name(struct buf *b, const char *name, bool utf8)
{
	if (utf8)
		text_put(b, name, NULL);
	else
		text_put_ascii(b, name);
}

void text_put_raw(struct buf *b, const char *s)
{
	buf_put(b, s, strlen(s));
}

void text_printf(struct buf *b, const char *format, ...)
{
	char line[256];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (n > 0)
		buf_put(b, line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);
}

/* Returns how many columns a character takes in a terminal: two for East Asian scripts, none for
 * combining characters. */
static unsigned text_columns(uint32_t code)
{
	int n = code < 0x80 ? 1 : wcwidth((wchar_t)code);

	return n < 0 ? 1 : (unsigned)n;
}

void text_cut(struct buf *b, unsigned columns)
{
	unsigned used = 0;

	buf_put_u8(b, 0); /* ends what decode() reads */
	if (b->failed)
		return;
	b->len--;
	for (size_t i = 0; columns && i < b->len;) {
		uint32_t code = 0;
		unsigned n = decode(b->data + i, &code);

		used += text_columns(code);
		if (used > columns) {
			b->len = i;
			return;
		}
		i += n ? n : 1;
	}
}

/* Returns how many columns the text takes. */
static unsigned width_of(const uint8_t *text, size_t len)
{
	unsigned columns = 0;

	for (size_t i = 0; i < len;) {
		uint32_t code = 0;
		const unsigned n = decode(text + i, &code);

		columns += text_columns(code);
		i += n ? n : 1;
	}
	return columns;
}

/* Appends a line without its end to `to`, broken at blanks. */
static void wrap_line(struct buf *to, const uint8_t *line, size_t len, unsigned columns)
{
	const char *indent = len && line[0] == '#' ? "#   " : "    ";
	unsigned used = 0;

	for (size_t at = 0; at < len;) {
		size_t end = at;
		unsigned width;

		while (end < len && line[end] == ' ')
			end++;
		while (end < len && line[end] != ' ')
			end++;
		width = width_of(line + at, end - at);
		if (used && used + width > columns) {
			text_put_raw(to, "\n");
			text_put_raw(to, indent);
			for (used = 4; at < end && line[at] == ' '; at++)
				width--;
		}
		buf_put(to, line + at, end - at);
		used += width;
		at = end;
	}
}

void text_wrap(struct buf *b, unsigned columns)
{
	struct buf to = {0};

	buf_put_u8(b, 0); /* ends what decode() reads */
	if (b->failed || !columns) {
		b->len -= !b->failed;
		return;
	}
	for (size_t at = 0; at + 1 < b->len;) {
		const uint8_t *end = memchr(b->data + at, '\n', b->len - 1 - at);
		const size_t len = end ? (size_t)(end - b->data) - at : b->len - 1 - at;

		wrap_line(&to, b->data + at, len, columns);
		if (end)
			text_put_raw(&to, "\n");
		at += len + 1;
	}
	buf_free(b);
	*b = to;
}

int text_flush(struct buf *b, FILE *out)
{
	int err = b->failed ? -ENOMEM : 0;

	if (!err && b->len && fwrite(b->data, 1, b->len, out) != b->len)
		err = -EIO;
	buf_clear(b);
	return err;
}

int text_end(struct buf *b, FILE *out, int err)
{
	if (!err)
		err = text_flush(b, out);
	if (!err && fflush(out) != 0)
		err = -EIO;
	buf_free(b);
	return err;
}

void text_put_json(struct buf *b, const char *s)
{
	static const uint64_t special[2] = {UINT64_C(1) << '"', UINT64_C(1) << ('\\' & 63)};
	const uint8_t *at = (const uint8_t *)s;

	buf_put_u8(b, '"');
	for (;;) {
		const uint8_t *plain_end = skip_plain(at, special);
		uint32_t code = 0;
		unsigned n;

		buf_put(b, at, (size_t)(plain_end - at));
		at = plain_end;
		if (!*at)
			break;
		n = decode(at, &code);
		if (!n)
			text_printf(b, "\\\\x%02x", *at);
		else if (code == '"' || code == '\\')
			text_printf(b, "\\%c", (char)code);
		else if (code < 0x20 || (code >= 0x7f && code < 0xa0))
			text_printf(b, "\\u%04x", code);
		else
			buf_put(b, at, n);
		at += n ? n : 1;
	}
	buf_put_u8(b, '"');
}

const char *text_plural(uint64_t n, const char *one, const char *many)
{
	return n == 1 ? one : many;
}

const char *text_basename(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

const char *text_share(uint64_t part, uint64_t whole, char ret_text[TEXT_SHARE_MAX])
{
	double percent = whole ? 100.0 * (double)part / (double)whole : 0;

	if (part && part < whole && percent < 0.05)
		snprintf(ret_text, TEXT_SHARE_MAX, "<0.1");
	else if (part < whole && percent >= 99.95)
		snprintf(ret_text, TEXT_SHARE_MAX, "99.9");
	else
		snprintf(ret_text, TEXT_SHARE_MAX, "%.1f", percent);
	return ret_text;
}

void text_put_base64(struct buf *b, const void *data, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *from = data;

	for (size_t i = 0; i < len; i += 3) {
		const size_t left = len - i;
		const uint32_t three = (uint32_t)from[i] << 16 |
				       (left > 1 ? (uint32_t)from[i + 1] << 8 : 0) |
				       (left > 2 ? from[i + 2] : 0);

		buf_put_u8(b, (uint8_t)digits[three >> 18]);
		buf_put_u8(b, (uint8_t)digits[three >> 12 & 63]);
		buf_put_u8(b, left > 1 ? (uint8_t)digits[three >> 6 & 63] : '=');
		buf_put_u8(b, left > 2 ? (uint8_t)digits[three & 63] : '=');
	}
}
