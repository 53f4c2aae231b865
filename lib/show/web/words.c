/* SPDX-License-Identifier: MIT */
/* The strings and frames of an answer; see words.h. */
#include "web/words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "model/frame_kind.h"

#define WORDS_CUT   "\u2026"
#define WORDS_FRAME 16 /* bytes that a frame takes in the answer, about */

int words_begin(struct words *w)
{
	uint32_t empty;
	int err;

	*w = (struct words){0};
	err = strings_new(&w->strings);
	return err ? err : words_string(w, "", &empty);
}

void words_end(struct words *w)
{
	strings_free(w->strings);
	free(w->frames.items);
	int_map_fini(&w->by_symbol);
	int_map_fini(&w->by_name);
	buf_free(&w->text);
	*w = (struct words){0};
}

/* Returns whether a byte is the second or a later one of a character. */
static bool is_inside(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Appends a text without its middle, which begins and ends between characters. */
static void put_cut(struct buf *b, const char *text, size_t len)
{
	size_t head = WORDS_LONGEST / 2, tail = len - WORDS_LONGEST / 2;
	char first[WORDS_LONGEST / 2 + 1];

	while (head && is_inside(text[head]))
		head--;
	while (tail < len && is_inside(text[tail]))
		tail++;
	memcpy(first, text, head);
	first[head] = '\0';
	text_put(b, first, NULL);
	text_put_raw(b, WORDS_CUT);
	text_put(b, text + tail, NULL);
}

/* Appends a text as answers show it, with a NUL behind it. */
static void put_shown(struct buf *b, const char *text)
{
	const size_t len = text ? strlen(text) : 0;

	if (len > WORDS_LONGEST)
		put_cut(b, text, len);
	else if (len)
		text_put(b, text, NULL);
	buf_put_u8(b, '\0');
}

bool words_is(const char *text, const char *shown)
{
	struct buf b = {0};
	bool is_equal = strcmp(text, shown) == 0;

	if (is_equal)
		return true;
	/* Most names are shown as they are, and those that are not begin the same. */
	if (*text != *shown && *shown != '\\')
		return false;
	put_shown(&b, text);
	is_equal = !b.failed && strcmp((const char *)b.data, shown) == 0;
	buf_free(&b);
	return is_equal;
}

int words_string(struct words *w, const char *text, uint32_t *ret_number)
{
	const uint32_t before = strings_count(w->strings);
	int err;

	buf_clear(&w->text);
	put_shown(&w->text, text);
	if (w->text.failed)
		return -ENOMEM;
	err = strings_intern(w->strings, (const char *)w->text.data, ret_number);
	if (err == 0 && strings_count(w->strings) > before) {
		w->bytes += w->text.len + 3;
		/* Each of these takes up to five bytes more in JSON. */
		for (size_t i = 0; i < w->text.len; i++)
			if (strchr("<\"\\", w->text.data[i]) && w->text.data[i])
				w->bytes += 5;
	}
	return err;
}

enum words_kind words_kind(const struct profile_symbol *symbol, bool is_inlined)
{
	const enum profile_wait wait = profile_symbol_wait(symbol);

	if (profile_symbol_is_awaited(symbol))
		return WORDS_AWAITED;
	if (wait)
		return wait == PROFILE_RUNNABLE ? WORDS_RUNNABLE : WORDS_BLOCKED;
	switch ((enum frame_kind)symbol->kind) {
	case FRAME_NOTE:
		return WORDS_MARK;
	case FRAME_KERNEL:
		return WORDS_KERNEL;
	case FRAME_PYTHON:
		return WORDS_PYTHON;
	case FRAME_RUBY:
		return WORDS_RUBY;
	case FRAME_PHP:
		return WORDS_PHP;
	case FRAME_PERL:
		return WORDS_PERL;
	case FRAME_ERLANG:
		return WORDS_ERLANG;
	case FRAME_JAVA:
		return WORDS_JAVA;
	case FRAME_JAVASCRIPT:
		return WORDS_JAVASCRIPT;
	case FRAME_MANAGED:
		return WORDS_MANAGED;
	default:
		if (is_inlined)
			return WORDS_INLINED;
		return symbol->is_unnamed	   ? WORDS_UNNAMED
		       : symbol->kind == FRAME_JIT ? WORDS_JIT
						   : WORDS_NATIVE;
	}
}

const char *words_kind_name(enum words_kind kind)
{
	static const char *const names[] = {
#define WORDS_X(e, name) [WORDS_##e] = (name),
		WORDS_KINDS(WORDS_X)
#undef WORDS_X
	};

	return names[kind];
}

static int words_append(struct words *w, const char *name, const char *object, enum words_kind kind)
{
	struct words_frame frame = {.kind = kind};
	int err = words_string(w, name, &frame.name);

	if (err == 0)
		err = words_string(w, object, &frame.object);
	if (err == 0)
		err = VEC_RESERVE(&w->frames, 1);
	if (err == 0)
		w->frames.items[w->frames.count++] = frame;
	return err;
}

int words_symbol(struct words *w, const struct profile_symbol *symbol, bool is_inlined,
		 uint32_t *ret_frame)
{
	const uint32_t next = (uint32_t)w->frames.count;
	int err = int_map_enter(&w->by_symbol, (uint64_t)symbol->number << 1 | is_inlined, next,
				ret_frame);

	return err || *ret_frame != next ? err
					 : words_append(w, symbol->name, symbol->object,
							words_kind(symbol, is_inlined));
}

/* Finds or adds the frame with a name, an object and a kind. */
static int enter_text(struct words *w, const char *name, const char *object, enum words_kind kind,
		      uint32_t *ret_frame)
{
	const uint32_t next = (uint32_t)w->frames.count;
	uint32_t name_number, object_number;
	int err = words_string(w, name, &name_number);

	if (err == 0)
		err = words_string(w, object, &object_number);
	if (err == 0)
		err = int_map_enter_wide(&w->by_name, (uint64_t)name_number << 32 | object_number,
					 kind, next, ret_frame);
	return err || *ret_frame != next ? err : words_append(w, name, object, kind);
}

int words_unified(struct words *w, const struct profile_symbol *symbol, const char *object,
		  bool is_inlined, uint32_t *ret_frame)
{
	return enter_text(w, symbol->name, object, words_kind(symbol, is_inlined), ret_frame);
}

int words_named(struct words *w, const char *name, enum words_kind kind, uint32_t *ret_frame)
{
	return enter_text(w, name, "", kind, ret_frame);
}

size_t words_size(const struct words *w)
{
	return w->bytes + w->frames.count * WORDS_FRAME;
}

static void put_frames(const struct words *w, struct json *j)
{
	json_put_object(j, "frames");
	json_put_array(j, "name");
	for (size_t i = 0; i < w->frames.count; i++)
		json_put_uint(j, NULL, w->frames.items[i].name);
	json_put_end(j);
	json_put_array(j, "object");
	for (size_t i = 0; i < w->frames.count; i++)
		json_put_uint(j, NULL, w->frames.items[i].object);
	json_put_end(j);
	json_put_array(j, "kind");
	for (size_t i = 0; i < w->frames.count; i++)
		json_put_uint(j, NULL, w->frames.items[i].kind);
	json_put_end(j);
	json_put_end(j);
}

void words_put(const struct words *w, bool frames, struct json *j)
{
	json_put_array(j, "strings");
	for (uint32_t i = 0; i < strings_count(w->strings); i++)
		json_put_string(j, NULL, strings_at(w->strings, i));
	json_put_end(j);
	json_put_array(j, "kinds");
	for (enum words_kind kind = 0; kind <= WORDS_OTHER; kind++)
		json_put_string(j, NULL, words_kind_name(kind));
	json_put_end(j);
	if (frames)
		put_frames(w, j);
}
