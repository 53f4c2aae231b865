/* SPDX-License-Identifier: MIT */
/*
 * Lines of scripts. V8 keeps where the lines of a script end only if it has needed that itself, so
 * they are found in the script's text otherwise, once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "runtime/v8/v8_heap.h"

#define FIRST_LINE   24 /* these fields of a Script have been there in all versions */
#define FIRST_COLUMN 32
#define MOST_SCRIPTS 65536
#define MOST_CHARS   (1u << 24)		  /* of a script whose lines are looked for */
#define MOST_BYTES   (UINT64_C(16) << 20) /* of the ends of lines */
#define SAMPLE	     512		  /* bytes of each end of a text */
#define CHUNK	     2048		  /* characters, or words */

/* The ends of lines that are being found. */
struct ends {
	VEC(uint32_t) at;
	bool has_return; /* the last character was one, which is no end if a newline follows */
};

static int add_end(struct ends *ends, uint32_t at)
{
	if (VEC_RESERVE(&ends->at, 1))
		return -ENOMEM;
	ends->at.items[ends->at.count++] = at;
	return 0;
}

static int take_char(struct ends *ends, uint32_t at, uint16_t c)
{
	int err = 0;

	if (ends->has_return && c != '\n')
		err = add_end(ends, at - 1);
	ends->has_return = c == '\r';
	if (!err && (c == '\n' || c == 0x2028 || c == 0x2029))
		err = add_end(ends, at);
	return err;
}

/* Finds the ends in a text. 0; -ENOENT: it cannot be read; -ENOMEM. */
static int search_text(const struct v8 *v8, const struct v8_chars *chars, struct ends *ends)
{
	uint8_t bytes[2 * CHUNK];
	int err = 0;

	for (uint32_t at = 0, n; at < chars->length && !err; at += n) {
		n = chars->length - at < CHUNK ? chars->length - at : CHUNK;
		if (!v8_read(v8, chars->address + ((uint64_t)at << chars->is_wide), bytes,
			     (size_t)n << chars->is_wide))
			return -ENOENT;
		for (uint32_t i = 0; i < n && !err; i++)
			err = take_char(ends, at + i,
					chars->is_wide
						? (uint16_t)(bytes[2 * i] | bytes[2 * i + 1] << 8)
						: bytes[i]);
	}
	return err ? err : add_end(ends, chars->length);
}

/* Hashes what tells a script's text from that of another isolate's script, which can have been at
 * the same address with the same id. Returns 0 if it cannot be read. */
static uint64_t hash_text(const struct v8 *v8, const struct v8_chars *chars)
{
	uint64_t words[SAMPLE / 8], hash = hash_mix64(chars->address ^ chars->length);
	uint64_t bytes = (uint64_t)chars->length << chars->is_wide;
	uint64_t n = bytes < SAMPLE ? bytes & ~UINT64_C(7) : SAMPLE;

	for (int end = 0; end < 2; end++) {
		memset(words, 0, sizeof(words));
		if (n && !v8_read(v8, chars->address + (end ? bytes - n : 0), words, n))
			return 0;
		for (size_t i = 0; i < SAMPLE / 8; i++)
			hash = hash_mix64(hash ^ words[i]);
	}
	return hash ? hash : 1;
}

/* Finds the lines of a script. It has none if its text is too long. 0; -ENOENT: the text cannot be
 * read; -ENOMEM. */
static int read_lines(const struct v8 *v8, const struct v8_chars *chars, struct v8_script *script)
{
	struct ends ends = {0};
	int err;

	if (chars->length > MOST_CHARS)
		return 0;
	err = search_text(v8, chars, &ends);
	if (err) {
		free(ends.at.items);
		return err;
	}
	script->ends = ends.at.items;
	script->count = ends.at.count;
	return 0;
}

void v8_script_free_all(struct v8 *v8)
{
	for (size_t i = 0; i < v8->scripts.count; i++)
		free(v8->scripts.items[i].ends);
	v8->scripts.count = 0;
	v8->line_bytes = 0;
	int_map_clear(&v8->by_script);
}

/* Keeps the lines of a script. 0 or -ENOMEM. */
static int keep(struct v8 *v8, uint64_t address, uint32_t index, const struct v8_script *script)
{
	if (index == INT_MAP_NONE) {
		index = (uint32_t)v8->scripts.count;
		if (VEC_RESERVE(&v8->scripts, 1) || int_map_set(&v8->by_script, address, index))
			return -ENOMEM;
		v8->scripts.count++;
	} else {
		v8->line_bytes -= v8->scripts.items[index].count * sizeof(*script->ends);
		free(v8->scripts.items[index].ends);
	}
	v8->scripts.items[index] = *script;
	v8->line_bytes += script->count * sizeof(*script->ends);
	return 0;
}

int v8_script_find(struct v8 *v8, uint64_t address, const struct v8_script **ret_script)
{
	uint32_t index = int_map_find(&v8->by_script, address);
	struct v8_script new = {0};
	struct v8_chars chars;
	uint64_t source;
	int err;

	*ret_script = NULL;
	if (!v8_object(v8, address, (uint32_t)v8->is.is[V8_SCRIPT_SOURCE], &source) ||
	    !v8_smi(v8, address, V8_SCRIPT_ID, &new.id) ||
	    !v8_smi(v8, address, FIRST_LINE, &new.first_line) ||
	    !v8_smi(v8, address, FIRST_COLUMN, &new.first_column) || !v8_chars(v8, source, &chars))
		return 0;
	new.text = hash_text(v8, &chars);
	if (!new.text)
		return 0;
	if (index == INT_MAP_NONE || v8->scripts.items[index].id != new.id ||
	    v8->scripts.items[index].text != new.text) {
		if (v8->line_bytes > MOST_BYTES || v8->scripts.count >= MOST_SCRIPTS) {
			v8_script_free_all(v8);
			index = INT_MAP_NONE;
		}
		err = read_lines(v8, &chars, &new);
		if (!err)
			err = keep(v8, address, index, &new);
		if (err) {
			free(new.ends);
			return err == -ENOENT ? 0 : err;
		}
		index = int_map_find(&v8->by_script, address);
	}
	if (v8->scripts.items[index].count)
		*ret_script = &v8->scripts.items[index];
	return 0;
}

void v8_script_place(const struct v8_script *script, uint32_t position, uint32_t *ret_line,
		     uint32_t *ret_column)
{
	size_t low = 0, high = script->count;

	*ret_line = *ret_column = 0;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (script->ends[middle] < position)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == script->count)
		return;
	*ret_line = (uint32_t)low + script->first_line + 1;
	*ret_column = low ? position - script->ends[low - 1] : position + script->first_column + 1;
}
