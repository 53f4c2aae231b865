/* SPDX-License-Identifier: MIT */
/* Keeps tables of code objects, those of records by the kernel half's numbers, and of locations;
 * see managed.h. */
#include "daemon/recorder/managed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/int_map.h"
#include "base/vec.h"
#include "proc/object_id.h"
#include "runtime/runtime.h"

/* Functions of further source files are in [others]. Beyond the other limits, names are LOST. */
#define MAX_OBJECTS 1024	/* source files */
#define MAX_CODES   65536	/* code objects with different contents */
#define MAX_NUMBERS (1u << 21)	/* numbers that the kernel half has given to code objects */
#define MAX_BYTES   (64u << 20) /* of names and tables of lines */
#define TEXT_ROOM   (STACKD_MANAGED_TEXT * 2 + 4)
#define OFFSET_MASK ((UINT64_C(1) << 47) - 1)
#define LOST	    "[name lost]"

struct code {
	struct stackd_managed_code code;
	uint8_t *lines;
	const struct object *object;
	char *file, *name;
	uint64_t hash; /* of name and first line; in [others], of the file's name, too */
};

/* A location in a code object that a sample had. */
struct place {
	struct location location;
	struct managed_name name;
};

struct managed {
	struct object_table *objects;
	VEC(struct code) codes;
	struct int_map numbers;	 /* index in `codes` */
	struct int_map contents; /* so, by the hash of a code object's content */
	uint32_t n_numbers;
	size_t bytes; /* of names and tables of lines */
	VEC(struct place) places;
	struct int_map frames;	  /* index in `places`, by the kernel half's location */
	struct int_map locations; /* index in `places`, by the location's offset and, as the map's
				   * extra key, number of its object */
	struct int_map files;	  /* number of object, by hash */
	uint32_t n_files;
	uint64_t nameless;
};

int managed_new(struct object_table *objects, struct managed **ret_managed)
{
	struct managed *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->objects = objects;
	*ret_managed = m;
	return 0;
}

void managed_free(struct managed *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->codes.count; i++) {
		free(m->codes.items[i].lines);
		free(m->codes.items[i].file);
		free(m->codes.items[i].name);
	}
	free(m->codes.items);
	free(m->places.items);
	int_map_fini(&m->numbers);
	int_map_fini(&m->contents);
	int_map_fini(&m->frames);
	int_map_fini(&m->locations);
	int_map_fini(&m->files);
	free(m);
}

uint64_t managed_nameless(const struct managed *m)
{
	return m->nameless;
}

/* --- code objects ----------------------------------------------------------------------------- */

static size_t put_character(char *to, uint32_t c)
{
	size_t n = 0;

	if (!c || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		c = '?';
	if (c >= 0x10000)
		to[n++] = (char)(0xf0 | c >> 18);
	else if (c >= 0x800)
		to[n++] = (char)(0xe0 | c >> 12);
	else if (c >= 0x80)
		to[n++] = (char)(0xc0 | c >> 6);
	else
		to[n++] = (char)c;
	if (c >= 0x10000)
		to[n++] = (char)(0x80 | (c >> 12 & 63));
	if (c >= 0x800)
		to[n++] = (char)(0x80 | (c >> 6 & 63));
	if (c >= 0x80)
		to[n++] = (char)(0x80 | (c & 63));
	return n;
}

/* Returns how many bytes the character at the start of a text that should be UTF-8 has; 0: it is
 * none. */
static size_t character_bytes(const uint8_t *text, size_t size)
{
	size_t n = *text < 0x80 ? 1 : *text < 0xc2 ? 0 : *text < 0xe0 ? 2 : *text < 0xf0 ? 3 : 4;

	if (!n || n > size || *text > 0xf4 || (*text == 0xe0 && text[1] < 0xa0) ||
	    (*text == 0xed && text[1] > 0x9f) || (*text == 0xf0 && text[1] < 0x90) ||
	    (*text == 0xf4 && text[1] > 0x8f))
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	}
	return n;
}

/* Copies a text that should be UTF-8, with '?' for what is not. Returns how many bytes it has. */
static size_t put_utf8(char *to, const struct stackd_managed_text *text)
{
	size_t n = 0;

	for (size_t at = 0, size; at < text->bytes; at += size ? size : 1) {
		size = text->data[at] ? character_bytes(text->data + at, text->bytes - at) : 0;
		memcpy(to + n, size ? text->data + at : (const uint8_t *)"?", size ? size : 1);
		n += size ? size : 1;
	}
	return n;
}

/* Returns a record's text in UTF-8, malloc()ed, with "..." at its end if it was too long for the
 * record. NULL without memory. */
static char *text_of(const struct stackd_managed_text *text)
{
	char *string = calloc(TEXT_ROOM, 1);
	size_t n = 0, count = text->width ? text->bytes / text->width : 0;

	if (!string)
		return NULL;
	if (text->width == STACKD_MANAGED_UTF8) {
		n = put_utf8(string, text);
		count = text->bytes;
	}
	for (size_t i = 0; text->width <= sizeof(uint32_t) && i < count; i++) {
		uint32_t c = 0;

		memcpy(&c, text->data + i * text->width, text->width);
		n += put_character(string + n, c);
	}
	if (!text->width || count < text->length)
		memcpy(string + n, "...", sizeof("..."));
	return string;
}

/* Finds, or makes, the object of a source file. 0 or -ENOMEM. */
static int find_file(struct managed *m, uint32_t language, const char *file,
		     const struct object **ret_object)
{
	uint64_t id = object_managed_id(language, file);
	struct object object = {.kind = OBJECT_MANAGED, .path = (char *)file, .file_id = id};
	uint32_t number = int_map_find(&m->files, id);
	int err;

	if (number != INT_MAP_NONE) {
		*ret_object = object_table_at(m->objects, number);
		return 0;
	}
	if (m->n_files >= MAX_OBJECTS && strcmp(file, "[others]") != 0)
		return find_file(m, language, "[others]", ret_object);
	err = object_table_add(m->objects, &object, ret_object);
	m->n_files += !err;
	return err ? err : int_map_set(&m->files, id, (*ret_object)->number);
}

static uint64_t hash_bytes(uint64_t hash, const uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i += sizeof(uint64_t)) {
		uint64_t word = 0;

		memcpy(&word, bytes + i, count - i < sizeof(word) ? count - i : sizeof(word));
		hash = hash_mix64(hash ^ word);
	}
	return hash;
}

static uint64_t hash_text(uint64_t hash, const struct stackd_managed_text *text)
{
	hash = hash_mix64(
		hash ^ ((uint64_t)text->length << 32 | (uint32_t)text->width << 16 | text->bytes));
	return hash_bytes(hash, text->data, text->bytes);
}

/* Finds the object of a code object's file, and what its locations are hashed from. 0 or
 * -ENOMEM. */
static int identify(struct managed *m, struct code *code)
{
	int err;

	code->hash = hash_mix64(object_hash_text(code->name) + code->code.first_line);
	err = find_file(m, code->code.language, code->file, &code->object);
	if (!err && strcmp(code->object->path, "[others]") == 0)
		code->hash = hash_mix64(code->hash ^ object_hash_text(code->file));
	return err;
}

static int fill(struct managed *m, const struct stackd_managed_record *record, struct code *code)
{
	code->code = record->code;
	code->file = text_of(&record->code.file);
	code->name = text_of(&record->code.name);
	code->lines = malloc(record->code.line_bytes + 1);
	if (!code->file || !code->name || !code->lines)
		return -ENOMEM;
	memcpy(code->lines, record->lines, record->code.line_bytes);
	return identify(m, code);
}

/* Hashes all of a record's content that a frame's place comes from. */
static uint64_t content_hash(const struct stackd_managed_record *record)
{
	const struct stackd_managed_code *code = &record->code;
	uint64_t hash = hash_mix64((uint64_t)code->version << 32 | code->language);

	hash = hash_mix64(hash ^ ((uint64_t)code->first_line << 32 | code->line_bytes));
	hash = hash_text(hash, &code->file);
	hash = hash_text(hash, &code->name);
	return hash_bytes(hash, record->lines, code->line_bytes);
}

/* Makes room for a code object, and adds it with a content's hash, if `err` is 0; else frees what
 * it has. Gives its index. 0 or -ENOMEM. */
static int add_code(struct managed *m, struct code *code, uint64_t hash, int err, size_t bytes,
		    uint32_t *ret_index)
{
	if (!err)
		err = VEC_RESERVE(&m->codes, 1);
	if (err) {
		free(code->file);
		free(code->name);
		free(code->lines);
		return -ENOMEM;
	}
	*ret_index = (uint32_t)m->codes.count;
	m->codes.items[m->codes.count++] = *code;
	m->bytes += sizeof(*code) + bytes;
	return int_map_set(&m->contents, hash, *ret_index);
}

static bool has_room(const struct managed *m)
{
	return m->codes.count < MAX_CODES && m->bytes < MAX_BYTES;
}

int managed_keep(struct managed *m, const struct stackd_managed_record *record)
{
	uint64_t hash = content_hash(record);
	uint32_t known = int_map_find(&m->contents, hash);
	struct code code = {0};
	int err;

	if (m->n_numbers++ >= MAX_NUMBERS)
		return 0;
	if (known != INT_MAP_NONE)
		return int_map_set(&m->numbers, record->code.number, known);
	if (!has_room(m))
		return 0;
	err = fill(m, record, &code);
	err = add_code(m, &code, hash, err, 2 * TEXT_ROOM + record->code.line_bytes, &known);
	return err ? err : int_map_set(&m->numbers, record->code.number, known);
}

int managed_add(struct managed *m, const struct managed_function *f, uint32_t *ret_number)
{
	uint64_t hash = hash_mix64(object_hash_text(f->name) ^ f->language);
	struct code code = {.code = {.language = f->language, .first_line = f->first_line}};
	uint32_t known;
	int err;

	hash = hash_mix64(hash ^ hash_mix64(object_hash_text(f->file) + f->first_line));
	known = int_map_find(&m->contents, hash);
	*ret_number = known;
	if (known != INT_MAP_NONE)
		return 0;
	*ret_number = MANAGED_NONE;
	if (!has_room(m))
		return 0;
	code.file = strdup(f->file);
	code.name = strdup(f->name);
	err = code.file && code.name ? identify(m, &code) : -ENOMEM;
	return add_code(m, &code, hash, err, strlen(f->file) + strlen(f->name), ret_number);
}

/* --- locations -------------------------------------------------------------------------------- */

static uint32_t line_of(const struct code *code, int64_t instruction)
{
	const struct runtime *runtime = runtime_of_number(code->code.language);

	return runtime && runtime->line ? runtime->line(&code->code, code->lines, instruction) : 0;
}

/* Sets *place for a line of a code object. */
static void place_in(const struct code *code, uint32_t line, struct place *place)
{
	place->name = (struct managed_name){code->name, code->file, line, code->code.first_line};
	place->location = (struct location){
		.file_id = code->object->file_id,
		.object = code->object->number,
		.offset = hash_mix64(code->hash + line) & OFFSET_MASK,
	};
}

/* Sets *place for a frame without a known code object; `name` stands in place of the function's
 * name. 0 or -ENOMEM. */
static int place_of_none(struct managed *m, const char *name, struct place *place)
{
	const struct object *object;
	int err = find_file(m, OBJECT_NO_LANGUAGE, name, &object);

	if (err)
		return err;
	place->name.function = object->path;
	place->location = (struct location){.file_id = object->file_id, .object = object->number};
	return 0;
}

/* Adds a place, unless it is known. 0 or -ENOMEM. */
static int keep_place(struct managed *m, const struct place *place, uint32_t *ret_index)
{
	const struct location *l = &place->location;

	*ret_index = int_map_find_wide(&m->locations, l->offset, l->object);
	if (*ret_index != INT_MAP_NONE)
		return 0;
	if (VEC_RESERVE(&m->places, 1))
		return -ENOMEM;
	*ret_index = (uint32_t)m->places.count;
	m->places.items[m->places.count++] = *place;
	return int_map_enter_wide(&m->locations, l->offset, l->object, *ret_index, ret_index);
}

static int add_place(struct managed *m, uint64_t frame, uint32_t *ret_index)
{
	uint32_t number = (uint32_t)(frame >> STACKD_MANAGED_SHIFT);
	uint32_t index = int_map_find(&m->numbers, number);
	uint32_t instruction = frame & STACKD_MANAGED_MASK;
	struct place place = {0};
	int err = 0;

	if (number == STACKD_MANAGED_UNPROVEN)
		err = place_of_none(m, MANAGED_UNPROVEN, &place);
	else if (index == INT_MAP_NONE)
		err = place_of_none(m, LOST, &place);
	else
		place_in(&m->codes.items[index],
			 line_of(&m->codes.items[index],
				 instruction == STACKD_MANAGED_MASK ? -1 : (int64_t)instruction),
			 &place);
	if (!err)
		err = keep_place(m, &place, ret_index);
	return err ? err : int_map_set(&m->frames, frame, *ret_index);
}

int managed_locate_line(struct managed *m, uint32_t function, uint32_t line,
			struct location *ret_location)
{
	struct place place = {0};
	uint32_t index;
	int err;

	place_in(&m->codes.items[function], line, &place);
	err = keep_place(m, &place, &index);
	if (!err)
		*ret_location = m->places.items[index].location;
	return err;
}

int managed_locate_note(struct managed *m, const char *note, struct location *ret_location)
{
	struct place place = {0};
	uint32_t index;
	int err = place_of_none(m, note, &place);

	if (!err)
		err = keep_place(m, &place, &index);
	if (!err)
		*ret_location = place.location;
	return err;
}

int managed_locate(struct managed *m, uint64_t frame, struct location *ret_location)
{
	uint32_t index = int_map_find(&m->frames, frame);
	int err = index == INT_MAP_NONE ? add_place(m, frame, &index) : 0;

	if (err)
		return err;
	*ret_location = m->places.items[index].location;
	return 0;
}

bool managed_name_of(const struct managed *m, const struct location *location,
		     struct managed_name *ret_name)
{
	uint32_t index = int_map_find_wide(&m->locations, location->offset, location->object);

	if (index == INT_MAP_NONE)
		return false;
	*ret_name = m->places.items[index].name;
	return true;
}
