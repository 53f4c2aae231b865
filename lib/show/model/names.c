/* SPDX-License-Identifier: MIT */
/*
 * Names of locations; see names.h.
 *
 *   location ──► spans[]: first frame and count in keys[], and in frames[] if those are asked for
 *   (object number, linkage name) ──► symbol     "raw": spares demangling a name again; the name
 *                                                 by its address: the store has each once
 *   (object number, start) ──► symbol            "unnamed": functions without a name
 *   (object path, shown name) ──► symbol         "shown": equal names in one object are one symbol
 *
 * Functions that have a namesake in their object (model/namesakes.h) are shown with a suffix, and
 * looked up by the name with the suffix: "raw" lacks them.
 *
 * Names that differ only in what demangling drops (the clones of a constructor) get one symbol by
 * the table "shown". That table identifies an object by its path: a file that was replaced during
 * the recording has two objects and two file ids, but for a reader of a report its functions are
 * the same.
 */
#include "model/names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "proc/object.h"
#include "stack/left_out_name.h"
#include "stack/wait_name.h"
#include "base/int_map.h"
#include "base/strings.h"
#include "base/text.h"
#include "model/frame_kind.h"
#include "model/namesakes.h"
#include "sym/demangle.h"

#define NAMES_OBJECT 48 /* bits of an address or file offset that fit into names_key() */

struct names_span {
	uint32_t first; /* index of its first frame in names.keys and names.frames */
	uint32_t count; /* number of its frames; 0: not looked up yet */
};

struct names {
	const struct store_tables *tables;
	struct namesakes *namesakes; /* NULL: no function has a namesake */
	struct strings *strings;
	struct names_span *spans; /* by location */
	/* room for the frames of all locations: there are at most n_lines + n_locations */
	struct profile_frame *frames;
	uint32_t *keys; /* by frame, as names_keys() returns them */
	uint32_t n_frames;
	struct profile_symbol **symbols;
	uint32_t n_symbols;
	size_t cap_symbols;
	struct strings *shown_names; /* names alone, whose numbers are profile_symbol.name_number */
	struct int_map raw, unnamed, shown;
};

int names_new(const struct store_tables *tables, struct names **ret_names)
{
	struct names *names = calloc(1, sizeof(*names));
	size_t n;
	int err;

	if (!names)
		return -ENOMEM;
	names->tables = tables;
	names->spans = calloc((size_t)tables->n_locations + 1, sizeof(*names->spans));
	n = (size_t)tables->n_lines + tables->n_locations;
	names->frames = calloc(n + 1, sizeof(*names->frames));
	names->keys = calloc(n + 1, sizeof(*names->keys));
	if (!names->spans || !names->frames || !names->keys || strings_new(&names->strings) < 0 ||
	    strings_new(&names->shown_names) < 0) {
		names_free(names);
		return -ENOMEM;
	}
	err = namesakes_find(tables, &names->namesakes);
	if (err < 0) {
		names_free(names);
		return err;
	}
	*ret_names = names;
	return 0;
}

void names_free(struct names *names)
{
	if (!names)
		return;
	for (uint32_t i = 0; i < names->n_symbols; i++)
		free(names->symbols[i]);
	free(names->symbols);
	free(names->frames);
	free(names->keys);
	free(names->spans);
	namesakes_free(names->namesakes);
	strings_free(names->strings);
	strings_free(names->shown_names);
	int_map_fini(&names->raw);
	int_map_fini(&names->unnamed);
	int_map_fini(&names->shown);
	free(names);
}

static int reserve_symbol(struct names *names)
{
	if (names->n_symbols >= UINT32_MAX / 4)
		return -ENOMEM;
	return VEC_GROW(names->symbols, names->cap_symbols, (size_t)names->n_symbols + 1);
}

/* Finds the symbol with the shown name and object of `like`. If there is none, makes one as a copy
 * of `like`. Returns 0 or -ENOMEM. */
static int names_symbol(struct names *names, const struct profile_symbol *like,
			const struct profile_symbol **ret_symbol)
{
	uint32_t name = 0, object = 0, plain = 0, at, number;
	struct profile_symbol *symbol;
	int err;

	err = strings_intern(names->shown_names, like->name, &name);
	if (err == 0)
		err = strings_intern(names->strings, like->object, &object);
	if (err == 0 && like->plain)
		err = strings_intern(names->strings, like->plain, &plain);
	if (err == 0)
		err = reserve_symbol(names);
	if (err < 0)
		return err;
	number = names->n_symbols;
	err = int_map_enter(&names->shown,
			    (uint64_t)like->is_region << 63 | (uint64_t)object << 32 | name, number,
			    &at);
	if (err < 0)
		return err;
	if (at == number) {
		symbol = malloc(sizeof(*symbol));
		/* If memory is short, the symbol of this number is NULL from now on. */
		names->symbols[names->n_symbols++] = symbol;
		if (!symbol)
			return -ENOMEM;
		*symbol = *like;
		symbol->number = number;
		symbol->name_number = name;
		symbol->name = strings_at(names->shown_names, name);
		symbol->plain = like->plain ? strings_at(names->strings, plain) : NULL;
		symbol->object = strings_at(names->strings, object);
	}
	*ret_symbol = names->symbols[at];
	return *ret_symbol ? 0 : -ENOMEM;
}

/* Returns whether an object stands for addresses outside of all known mappings, so that its path is
 * missing or "[unknown]". */
static bool is_nowhere(const struct store_object *object)
{
	return !object->path || !strcmp(object->path, "[unknown]");
}

/* Returns the object that views show for a frame that is no code: a mark, a wait's reason, or a
 * part of the stack that was left out. */
static const char *mark_object(const char *name)
{
	if (*name != '[')
		return "[mark]";
	return strstr(name, LEFT_OUT_END) ? LEFT_OUT_OBJECT : WAIT_OBJECT;
}

/* Returns a symbol with the fields that all symbols of an object share. */
static struct profile_symbol of_object(const struct store_object *object)
{
	return (struct profile_symbol){
		.object = is_nowhere(object)		   ? "[unknown]"
			  : object->kind == OBJECT_JIT	   ? "[jit]"
			  : object->kind == OBJECT_MARK	   ? mark_object(object->path)
			  : object->kind == OBJECT_AWAITED ? AWAITED_OBJECT
							   : object->path,
		.is_kernel = object->kind == OBJECT_KERNEL || object->kind == OBJECT_MODULE,
		.kind = frame_kind_of_object(object),
	};
}

/* Returns the same for a function, with what its line tells besides the name. */
static struct profile_symbol of_function(const struct store_object *object,
					 const struct store_line *line)
{
	struct profile_symbol symbol = of_object(object);

	if (frame_kind_is_managed(symbol.kind))
		symbol.first_line = (uint32_t)line->function_start;
	symbol.is_region = is_region_name(line->function);
	return symbol;
}

/* Returns a function's demangled name; NULL if it is not mangled, or memory is short. */
static char *readable_name(const struct profile_symbol *symbol, const char *function)
{
	return frame_kind_is_managed(symbol->kind) ? NULL : demangle(function);
}

/* Packs an object's number and an address of NAMES_OBJECT bits into a key. Returns 0, which is
 * never a valid key, if they do not fit. */
static uint64_t names_key(uint32_t object, uint64_t at)
{
	return object < UINT16_MAX && !(at >> NAMES_OBJECT)
		       ? (uint64_t)(object + 1) << NAMES_OBJECT | at
		       : 0;
}

static int names_function(struct names *names, uint32_t object, const struct store_line *line,
			  const struct profile_symbol **ret_symbol)
{
	struct profile_symbol like = of_function(&names->tables->objects[object], line);
	const char *function = line->function;
	uint64_t key = names_key(object, (uintptr_t)function);
	uint32_t at = key ? int_map_find(&names->raw, key) : INT_MAP_NONE;
	char *readable;
	int err;

	if (at != INT_MAP_NONE) {
		*ret_symbol = names->symbols[at];
		return 0;
	}
	readable = readable_name(&like, function);
	like.name = readable ? readable : function;
	err = names_symbol(names, &like, ret_symbol);
	free(readable);
	return err < 0 || !key ? err : int_map_enter(&names->raw, key, (*ret_symbol)->number, &at);
}

/* Finds the symbol of a function that has a namesake in its object, by the function's name with its
 * suffix. Returns 0 or an error. */
static int names_namesake(struct names *names, uint32_t object, const struct store_line *line,
			  const char *suffix, const struct profile_symbol **ret_symbol)
{
	struct profile_symbol like = of_function(&names->tables->objects[object], line);
	char *readable = readable_name(&like, line->function), *name;
	int err;

	like.plain = readable ? readable : line->function;
	if (asprintf(&name, "%s%s", like.plain, suffix) < 0) {
		free(readable);
		return -ENOMEM;
	}
	like.name = name;
	err = names_symbol(names, &like, ret_symbol);
	free(name);
	free(readable);
	return err;
}

/* Finds the symbol of a function without a name. If the function's start is known, all its
 * locations get the same symbol. Returns 0 or an error. */
static int names_unnamed(struct names *names, const struct store_location *location,
			 const struct store_line *line, const struct profile_symbol **ret_symbol)
{
	struct profile_symbol like = of_object(&names->tables->objects[location->object]);
	uint64_t start = line && line->function_start ? line->function_start
						      : location->offset + location->is_return;
	uint64_t key = names_key(location->object, start);
	uint32_t at = key ? int_map_find(&names->unnamed, key) : INT_MAP_NONE;
	char *name;
	int err;

	if (at != INT_MAP_NONE) {
		*ret_symbol = names->symbols[at];
		return 0;
	}
	if (asprintf(&name, "%s+0x%" PRIx64, text_basename(like.object), start) < 0)
		return -ENOMEM;
	like.name = name;
	like.is_unnamed = true;
	err = names_symbol(names, &like, ret_symbol);
	free(name);
	return err < 0 || !key ? err
			       : int_map_enter(&names->unnamed, key, (*ret_symbol)->number, &at);
}

/* Returns the line of a location's frame, counted from the enclosing function; the store has the
 * innermost function first. NULL: the location has no lines, so it has one frame without a name. */
static const struct store_line *line_of(const struct store_tables *t, uint32_t location,
					uint32_t frame)
{
	uint32_t first = t->line_first[location], end = t->line_first[location + 1];

	return first < end ? &t->lines[end - 1 - frame] : NULL;
}

static int symbol_of(struct names *names, const struct store_location *location,
		     const struct store_line *line, const struct profile_symbol **ret_symbol)
{
	const char *suffix;

	if (!line || !line->function || !*line->function)
		return names_unnamed(names, location, line, ret_symbol);
	suffix = namesakes_suffix(names->namesakes, (uint32_t)(line - names->tables->lines));
	if (suffix)
		return names_namesake(names, location->object, line, suffix, ret_symbol);
	return names_function(names, location->object, line, ret_symbol);
}

/* Fills in the keys of a location. */
static int look_up(struct names *names, uint32_t number)
{
	const struct store_tables *t = names->tables;
	uint32_t n = t->line_first[number + 1] - t->line_first[number], count = n ? n : 1;

	for (uint32_t i = 0; i < count; i++) {
		const struct store_line *line = line_of(t, number, i);
		/* The outermost function is not inlined. */
		bool is_inlined = line && line->is_inlined && i > 0;
		const struct profile_symbol *symbol;
		int err = symbol_of(names, &t->locations[number], line, &symbol);

		if (err < 0)
			return err;
		names->keys[names->n_frames + i] = symbol->number << 1 | is_inlined;
	}
	names->spans[number] = (struct names_span){.first = names->n_frames, .count = count};
	names->n_frames += count;
	return 0;
}

int names_keys(struct names *names, uint32_t location, const uint32_t **ret_keys,
	       uint32_t *ret_count)
{
	struct names_span *span = &names->spans[location];

	if (!span->count) {
		int err = look_up(names, location);

		if (err < 0)
			return err;
	}
	*ret_keys = &names->keys[span->first];
	*ret_count = span->count;
	return 0;
}

static void fill(struct names *names, uint32_t location)
{
	const struct names_span *span = &names->spans[location];

	for (uint32_t i = 0; i < span->count; i++) {
		const struct store_line *line = line_of(names->tables, location, i);
		uint32_t key = names->keys[span->first + i];

		names->frames[span->first + i] = (struct profile_frame){
			.symbol = names->symbols[key >> 1],
			.location = location,
			.file = line ? line->file : NULL,
			.line = line ? line->line : 0,
			.is_inlined = key & 1,
		};
	}
}

int names_location(struct names *names, uint32_t location, const struct profile_frame **ret_frames,
		   uint32_t *ret_count)
{
	const uint32_t *keys;
	int err = names_keys(names, location, &keys, ret_count);

	if (err < 0)
		return err;
	*ret_frames = &names->frames[names->spans[location].first];
	if (!(*ret_frames)->symbol)
		fill(names, location);
	return 0;
}

const struct profile_symbol *names_mark(struct names *names, const char *text)
{
	struct profile_symbol like = {
		.name = text, .object = "", .is_mark = true, .kind = FRAME_NOTE};
	const struct profile_symbol *symbol;

	return names_symbol(names, &like, &symbol) < 0 ? NULL : symbol;
}

uint32_t names_symbol_count(const struct names *names)
{
	return names->n_symbols;
}

const struct profile_symbol *names_symbol_at(const struct names *names, uint32_t number)
{
	return names->symbols[number];
}
