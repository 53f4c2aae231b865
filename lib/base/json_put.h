/* SPDX-License-Identifier: MIT */
/*
 * Writes JSON, value by value. Nothing but the text that is not written out yet is held in memory,
 * so a list may have millions of elements.
 *
 *   struct json j = {.out = stdout};
 *
 *   json_put_object(&j, NULL);                {
 *   json_put_uint(&j, "samples", 5);          "samples":5
 *   json_put_array(&j, "names");              ,"names":[
 *   json_put_string(&j, NULL, "a");           "a"
 *   err = json_put_finish(&j, err);           ]}
 *
 * The writer puts commas, colons and quotes. Every value takes a key: a member's name in an object,
 * NULL in a list and for the outermost value. Strings and keys are escaped, and bytes that are not
 * UTF-8 become the four characters \xNN (base/text.h).
 *
 * The first error is kept in `err`, and later values are dropped, so callers check once, at the
 * end; only long loops stop early. Without `out` the text stays in `text`, for callers that put it
 * into something else.
 */
#ifndef BASE_JSON_PUT_H
#define BASE_JSON_PUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"

struct json {
	FILE *out;	 /* borrowed; NULL: the text stays in `text` */
	struct buf text; /* what is not written out yet; owned */
	int err;	 /* the first error: 0, -ENOMEM, or -EIO */
	unsigned depth;	 /* objects and lists that are open */
	uint64_t lists;	 /* bit d: what is open at depth d is a list */
	uint64_t filled; /* by depth: it has a value */
	bool on_new_line;
};

/* how deep objects and lists can be nested; one level more fails with -ENOMEM */
#define JSON_PUT_DEPTH_MAX 63

/* Begins an object or a list. */
void json_put_object(struct json *j, const char *key);
void json_put_array(struct json *j, const char *key);

/* Ends the innermost object or list that is open. */
void json_put_end(struct json *j);

/* Starts a new line before the next value or end. */
void json_put_line(struct json *j);

/* Writes a string, escaped; NULL becomes the empty string. */
void json_put_string(struct json *j, const char *key, const char *value);

/* Writes the content of a buffer as a string, and frees the buffer. */
void json_put_text(struct json *j, const char *key, struct buf *value);

/* Write a whole number, true or false, and null. */
void json_put_uint(struct json *j, const char *key, uint64_t value);
void json_put_int(struct json *j, const char *key, int64_t value);
void json_put_bool(struct json *j, const char *key, bool value);
void json_put_null(struct json *j, const char *key);

/* Write a number with `decimals` decimals, or with `digits` significant digits. Infinities and NAN
 * become null. */
void json_put_fixed(struct json *j, const char *key, double value, unsigned decimals);
void json_put_double(struct json *j, const char *key, double value, unsigned digits);

/* Writes a number as a string of 16 hexadecimal digits. */
void json_put_hex(struct json *j, const char *key, uint64_t value);

/* Writes a value that is JSON already. */
void json_put_raw(struct json *j, const char *key, const struct buf *value);

/* Ends all objects and lists that are open, ends the line, writes the rest out unless `err` is the
 * caller's failure, and frees the buffer. Returns err, -ENOMEM, or -EIO with errno as fflush() left
 * it. */
int json_put_finish(struct json *j, int err);

#endif
