/* SPDX-License-Identifier: MIT */
/*
 * Text that is safe to print: names in a recording come from files and processes that we do not
 * control, and must not be able to end a line, move the cursor, or reorder what a reader sees.
 *
 * Escaped as \xNN (the byte's value): control characters (C0, DEL, C1), bytes that are not valid
 * UTF-8, and the characters that change the direction of text or separate lines (U+202A to
 * U+202E, U+2066 to U+2069, U+2028, U+2029). Where the result is to be read back by a program,
 * the backslash itself is escaped too, and the escape is reversible.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"

/* Appends `s` with what is unsafe to print escaped, and also the ASCII characters in `also`, unless
 * it is NULL. */
void text_put(struct buf *b, const char *s, const char *also);

/* Appends `s` for an output in ASCII: everything that text_put() escapes, and every character
 * beyond ASCII, is escaped. */
void text_put_ascii(struct buf *b, const char *s);

/* Appends `name` by text_put() if the terminal shows UTF-8, else by text_put_ascii(). */
void text_put_name(struct buf *b, const char *name, bool utf8);

/* Appends `s` as it is. */
void text_put_raw(struct buf *b, const char *s);

/* Appends bytes in base64, with padding and without line breaks. */
void text_put_base64(struct buf *b, const void *data, size_t len);

/* Appends formatted text, meant for numbers and short words, and cuts it at 255 bytes. */
void text_printf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Cuts the content to `columns` characters; 0 leaves it whole. */
void text_cut(struct buf *b, unsigned columns);

/* Breaks lines of the content at blanks, so that none has more columns, unless a word does. What
 * continues a line begins with four blanks, or behind a '#' with three. 0 leaves all as it is. */
void text_wrap(struct buf *b, unsigned columns);

/* Writes the content and empties the buffer. Returns 0, -ENOMEM if an append failed, or -EIO. */
int text_flush(struct buf *b, FILE *out);

/* Ends a text: writes what is left in the buffer unless `err`, the result of writing so far, is an
 * error; flushes the file, and frees the buffer. Returns err, -ENOMEM, or -EIO with errno as
 * fflush() left it. */
int text_end(struct buf *b, FILE *out, int err);

/* Writes `s` as a JSON string, quotes included; bytes that are not UTF-8 become \\xNN. */
void text_put_json(struct buf *b, const char *s);

/* Returns `one` for 1, else `many`: "%u file%s", n, text_plural(n, " was", "s were"). */
const char *text_plural(uint64_t n, const char *one, const char *many);

/* Returns the part of a path after its last '/'. */
const char *text_basename(const char *path);

#define TEXT_SHARE_MAX 8

/* Formats a share in percent with one decimal, without the sign. It never rounds to all or to
 * nothing: "100.0" and "0.0" are exact, "<0.1" and "99.9" may not be. Returns `ret_text`. */
const char *text_share(uint64_t part, uint64_t whole, char ret_text[TEXT_SHARE_MAX]);

#endif
