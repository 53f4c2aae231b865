/* SPDX-License-Identifier: MIT */
/*
 * Lines of scripts. V8 keeps where the lines of a script end only if it has needed that itself, so
 * they are found in the script's text otherwise, once.
 *
 * A text can be long, and the daemon has other work, so a call searches a piece of it, and the next
 * one goes on. Until all of it is searched, the functions of the script are not read.
 *
 * A script with too many lines has none. If all scripts together have too many, all are forgotten,
 * but not again before many calls: then new ones have no lines meanwhile. So scripts that do not
 * have room beside each other are not searched in turns.
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
#define MOST_ENDS    (1u << 20)		  /* of lines, of a script */
#define MOST_BYTES   (UINT64_C(16) << 20) /* of the ends of lines */
#define FORGET_AFTER 65536		  /* calls */
#define SAMPLE	     512		  /* bytes of each end of a text */
#define CHUNK	     2048		  /* characters that are read at once, ... */
#define PIECE	     (1u << 20)		  /* ... and in a call */

static int add_end(struct v8_script *script, uint32_t at)
{
	if (script->ends.count >= MOST_ENDS)
		return -E2BIG;
	if (VEC_RESERVE(&script->ends, 1))
		return -ENOMEM;
	script->ends.items[script->ends.count++] = at;
	return 0;
}

static int take_char(struct v8_script *script, uint32_t at, uint16_t c)
{
	int err = 0;

	if (script->has_return && c != '\n')
		err = add_end(script, at - 1);
	script->has_return = c == '\r';
	if (!err && (c == '\n' || c == 0x2028 || c == 0x2029))
		err = add_end(script, at);
	return err;
}

/* Finds the ends in the next characters of a text, CHUNK at most. As search(). */
static int search_chunk(const struct v8 *v8, const struct v8_chars *chars, struct v8_script *script)
{
	uint8_t bytes[2 * CHUNK];
	const uint32_t at = script->searched, left = chars->length - at;
	const uint32_t n = left < CHUNK ? left : CHUNK;
	int err = 0;

	if (!v8_read(v8, chars->address + ((uint64_t)at << chars->is_wide), bytes,
		     (size_t)n << chars->is_wide))
		return -ENOENT;
	for (uint32_t i = 0; i < n && !err; i++)
		err = take_char(script, at + i,
				chars->is_wide ? (uint16_t)(bytes[2 * i] | bytes[2 * i + 1] << 8)
					       : bytes[i]);
	script->searched += n;
	return err;
}

/* Searches the next piece of a text. 0: that was the last one; -EAGAIN: there are more; -ENOENT: it
 * cannot be read; -E2BIG: it has too many lines; -ENOMEM. */
static int search(const struct v8 *v8, const struct v8_chars *chars, struct v8_script *script)
{
	const uint32_t left = chars->length - script->searched;
	const uint32_t end = left < PIECE ? chars->length : script->searched + PIECE;
	int err = 0;

	while (script->searched < end && !err)
		err = search_chunk(v8, chars, script);
	if (err || end < chars->length)
		return err ? err : -EAGAIN;
	return add_end(script, chars->length);
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

void v8_script_free_all(struct v8 *v8)
{
	for (size_t i = 0; i < v8->scripts.count; i++)
		free(v8->scripts.items[i].ends.items);
	v8->scripts.count = 0;
	v8->line_bytes = 0;
	v8->scripts_kept = 0;
	int_map_clear(&v8->by_script);
}

static uint64_t bytes_of(const struct v8_script *script)
{
	return script->ends.cap * sizeof(*script->ends.items);
}

/* Frees the lines of a script, which has none then. */
static void drop_lines(struct v8 *v8, struct v8_script *script)
{
	v8->line_bytes -= bytes_of(script);
	free(script->ends.items);
	memset(&script->ends, 0, sizeof(script->ends));
}

/* Makes room. Returns false if there is none now. */
static bool make_room(struct v8 *v8)
{
	if (v8->line_bytes < MOST_BYTES && v8->scripts.count < MOST_SCRIPTS)
		return true;
	if (v8->scripts_kept < FORGET_AFTER)
		return false;
	v8_script_free_all(v8);
	return true;
}

/* Keeps a script, whose lines are not known yet, in the place of the one that was there. 0 or
 * -ENOMEM. */
static int keep(struct v8 *v8, uint64_t address, const struct v8_script *new,
		struct v8_script **ret_script)
{
	uint32_t index = int_map_find(&v8->by_script, address);

	if (index == INT_MAP_NONE) {
		index = (uint32_t)v8->scripts.count;
		if (VEC_RESERVE(&v8->scripts, 1) || int_map_set(&v8->by_script, address, index))
			return -ENOMEM;
		v8->scripts.count++;
	} else {
		drop_lines(v8, &v8->scripts.items[index]);
	}
	v8->scripts.items[index] = *new;
	*ret_script = &v8->scripts.items[index];
	return 0;
}

/* Searches on in a script that is kept. As v8_script_find(). */
static int search_on(struct v8 *v8, const struct v8_chars *chars, struct v8_script *script)
{
	const uint64_t before = bytes_of(script);
	int err = v8->line_bytes < 2 * MOST_BYTES ? search(v8, chars, script) : -E2BIG;

	v8->line_bytes += bytes_of(script) - before;
	if (err == -E2BIG)
		drop_lines(v8, script);
	script->is_done = !err || err == -E2BIG;
	return script->is_done || err == -ENOENT ? 0 : err;
}

/* Reads what tells a script from others, and where its text is. Returns false if it is none. */
static bool read_script(const struct v8 *v8, uint64_t address, struct v8_script *ret_script,
			struct v8_chars *ret_chars)
{
	struct v8_script new = {0};
	uint64_t source;

	if (!v8_object(v8, address, (uint32_t)v8->is.is[V8_SCRIPT_SOURCE], &source) ||
	    !v8_smi(v8, address, V8_SCRIPT_ID, &new.id) ||
	    !v8_smi(v8, address, FIRST_LINE, &new.first_line) ||
	    !v8_smi(v8, address, FIRST_COLUMN, &new.first_column) ||
	    !v8_chars(v8, source, ret_chars))
		return false;
	new.text = hash_text(v8, ret_chars);
	new.is_done = ret_chars->length > MOST_CHARS;
	*ret_script = new;
	return new.text;
}

int v8_script_find(struct v8 *v8, uint64_t address, const struct v8_script **ret_script)
{
	uint32_t index = int_map_find(&v8->by_script, address);
	struct v8_script new, *script = NULL;
	struct v8_chars chars;
	int err = 0;

	*ret_script = NULL;
	v8->scripts_kept++;
	if (!read_script(v8, address, &new, &chars))
		return 0;
	if (index != INT_MAP_NONE)
		script = &v8->scripts.items[index];
	if (!script || script->id != new.id || script->text != new.text) {
		if (!make_room(v8))
			return 0;
		err = keep(v8, address, &new, &script);
	}
	if (!err && !script->is_done)
		err = search_on(v8, &chars, script);
	if (!err && script->is_done && script->ends.count)
		*ret_script = script;
	return err;
}

void v8_script_place(const struct v8_script *script, uint32_t position, uint32_t *ret_line,
		     uint32_t *ret_column)
{
	size_t low = 0, high = script->ends.count;

	*ret_line = *ret_column = 0;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (script->ends.items[middle] < position)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == script->ends.count)
		return;
	*ret_line = (uint32_t)low + script->first_line + 1;
	*ret_column =
		low ? position - script->ends.items[low - 1] : position + script->first_column + 1;
}
