/* SPDX-License-Identifier: MIT */
/* Opens V8, and reads words, types and texts of its objects; see v8_heap.h. */
#include "runtime/v8/v8_heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PARTS   64	   /* of a string that consists of others */
#define FORGET_AFTER 16384 /* look-ups */
#define CHARS	     256   /* that are read at once */

/* --- opening ---------------------------------------------------------------------------------- */

bool v8_is_file(const struct elf_file *file)
{
	return v8_layout_is_file(file);
}

int v8_open(const struct elf_file *file, uint64_t bias, const struct runtime_memory *memory,
	    void **ret_v8)
{
	struct v8 *v8 = calloc(1, sizeof(*v8));
	int err = v8 ? v8_layout_get(memory->layout, &v8->is) : -ENOMEM;

	if (err) {
		free(v8);
		return err;
	}
	(void)file; /* a worker has read it */
	(void)bias; /* and nothing of its memory is read */
	v8->memory = *memory;
	v8->failed = &v8->failures;
	*ret_v8 = v8;
	return 0;
}

void v8_close(void *machine)
{
	struct v8 *v8 = machine;

	v8_script_free_all(v8);
	free(v8->scripts.items);
	free(v8->bytecodes.items);
	int_map_fini(&v8->by_script);
	int_map_fini(&v8->by_bytecode);
	free(v8);
}

uint64_t v8_bytes(const void *machine)
{
	const struct v8 *v8 = machine;

	return sizeof(*v8) + v8->line_bytes + v8->scripts.cap * sizeof(*v8->scripts.items) +
	       v8->bytecodes.cap * sizeof(*v8->bytecodes.items) +
	       (v8->by_script.slots + v8->by_bytecode.slots) * sizeof(struct int_map_slot);
}

void v8_range(const void *machine, uint64_t *ret_low, uint64_t *ret_high)
{
	const struct v8 *v8 = machine;

	*ret_low = v8->is.interpreter;
	*ret_high = v8->is.interpreter_end;
}

bool v8_is_handler(const void *machine, uint64_t vaddr)
{
	const struct v8 *v8 = machine;

	return vaddr - v8->is.handlers < v8->is.handlers_end - v8->is.handlers;
}

void v8_forget(struct v8 *v8)
{
	if (++v8->asked % FORGET_AFTER == 0)
		memset(v8->in_vain, 0, sizeof(v8->in_vain));
}

/* --- words ------------------------------------------------------------------------------------ */

bool v8_read(const struct v8 *v8, uint64_t address, void *buf, size_t len)
{
	bool is_read = v8->memory.read(v8->memory.arg, address, buf, len);

	*v8->failed += !is_read;
	return is_read;
}

bool v8_has(const struct v8 *v8, uint64_t address)
{
	int has = v8->memory.has(v8->memory.arg, address);

	*v8->failed += has < 0;
	return has > 0;
}

bool v8_word(const struct v8 *v8, uint64_t address, uint64_t *ret_word)
{
	return v8_read(v8, address, ret_word, sizeof(*ret_word));
}

bool v8_object(const struct v8 *v8, uint64_t base, uint32_t offset, uint64_t *ret_object)
{
	uint64_t word;

	if (!v8_word(v8, base + offset, &word) || !v8_is_object(word))
		return false;
	*ret_object = word - 1;
	return true;
}

bool v8_smi(const struct v8 *v8, uint64_t base, uint32_t offset, uint32_t *ret_value)
{
	uint64_t word;

	if (!v8_word(v8, base + offset, &word) || !v8_is_smi(word) || word >> 63)
		return false;
	*ret_value = (uint32_t)(word >> 32);
	return true;
}

int32_t v8_type(const struct v8 *v8, uint64_t base)
{
	uint64_t map;
	uint16_t type;

	return v8_object(v8, base, 0, &map) && v8_read(v8, map + (uint32_t)v8->is.is[V8_MAP_TYPE],
						       &type, sizeof(type))
		       ? type
		       : -1;
}

bool v8_has_type(const struct v8 *v8, uint64_t base, enum v8_constant type)
{
	return v8->is.is[type] != V8_ABSENT && v8_type(v8, base) == v8->is.is[type];
}

/* --- strings ---------------------------------------------------------------------------------- */

/* A string's type has these bits in all versions. */
#define FORM	      7
#define FORM_FLAT     0
#define FORM_CONS     1
#define FORM_EXTERNAL 2
#define FORM_SLICED   3
#define FORM_THIN     5
#define ONE_BYTE      8

/* The fields of V8_CONSTANTS that a string's form may need, where the file says so. */
static bool has_field(const struct v8 *v8, enum v8_constant field)
{
	return v8->is.is[field] != V8_ABSENT;
}

static bool length_of(const struct v8 *v8, uint64_t string, uint32_t *ret_length)
{
	return v8_read(v8, string + (uint32_t)v8->is.is[V8_STRING_LENGTH], ret_length,
		       sizeof(*ret_length));
}

static bool is_string(const struct v8 *v8, int32_t type)
{
	return type >= 0 && type < v8->is.is[V8_FIRST_NO_STRING];
}

/* Finds the part of another string that a string consists of. Returns false if it does not. */
static bool find_parent(const struct v8 *v8, int32_t type, uint64_t string, uint64_t *ret_parent,
			uint32_t *ret_offset)
{
	uint64_t rest;
	uint32_t length;

	*ret_offset = 0;
	if ((type & FORM) == FORM_THIN && has_field(v8, V8_THIN_ACTUAL))
		return v8_object(v8, string, (uint32_t)v8->is.is[V8_THIN_ACTUAL], ret_parent);
	if ((type & FORM) == FORM_SLICED && has_field(v8, V8_SLICED_PARENT) &&
	    has_field(v8, V8_SLICED_OFFSET))
		return v8_object(v8, string, (uint32_t)v8->is.is[V8_SLICED_PARENT], ret_parent) &&
		       v8_smi(v8, string, (uint32_t)v8->is.is[V8_SLICED_OFFSET], ret_offset);
	if ((type & FORM) == FORM_CONS && has_field(v8, V8_CONS_FIRST) &&
	    has_field(v8, V8_CONS_SECOND)) /* it was made one text, and the second part is empty */
		return v8_object(v8, string, (uint32_t)v8->is.is[V8_CONS_SECOND], &rest) &&
		       is_string(v8, v8_type(v8, rest)) && length_of(v8, rest, &length) &&
		       !length &&
		       v8_object(v8, string, (uint32_t)v8->is.is[V8_CONS_FIRST], ret_parent);
	return false;
}

bool v8_chars(const struct v8 *v8, uint64_t string, struct v8_chars *ret_chars)
{
	uint32_t length, from = 0, offset;
	int32_t type = v8_type(v8, string);

	if (!is_string(v8, type) || !length_of(v8, string, &length))
		return false;
	for (int i = 0; i < 4 && find_parent(v8, type, string, &string, &offset); i++) {
		from += offset;
		type = v8_type(v8, string);
		if (!is_string(v8, type) || from > INT32_MAX)
			return false;
	}
	*ret_chars = (struct v8_chars){.length = length, .is_wide = !(type & ONE_BYTE)};
	if ((type & FORM) == FORM_FLAT)
		ret_chars->address = string + (uint32_t)v8->is.is[V8_STRING_CHARS];
	else if ((type & FORM) != FORM_EXTERNAL || !has_field(v8, V8_EXTERNAL_RESOURCE) ||
		 /* behind the resource, V8 keeps the address of its characters */
		 !v8_word(v8, string + (uint32_t)v8->is.is[V8_EXTERNAL_RESOURCE] + 8,
			  &ret_chars->address))
		return false;
	ret_chars->address += (uint64_t)from << ret_chars->is_wide;
	return true;
}

/* A text that is cut behind its last whole character. */
struct put {
	char *text;
	size_t n;
	bool is_cut;
	uint16_t high; /* the first half of a character of two; 0: none */
};

static void put_bytes(struct put *p, const char *bytes, size_t count)
{
	if (p->is_cut || p->n + count + sizeof("...") > RUNTIME_NAME_ROOM) {
		p->is_cut = true;
		return;
	}
	memcpy(p->text + p->n, bytes, count);
	p->n += count;
}

/* Puts a code point. Control characters become '?', and so do halves of characters. */
static void put_point(struct put *p, uint32_t c)
{
	char bytes[4];

	if (c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0xd800 && c < 0xe000))
		c = '?';
	if (c < 0x80) {
		bytes[0] = (char)c;
		put_bytes(p, bytes, 1);
	} else if (c < 0x800) {
		bytes[0] = (char)(0xc0 | c >> 6);
		bytes[1] = (char)(0x80 | (c & 63));
		put_bytes(p, bytes, 2);
	} else if (c < 0x10000) {
		bytes[0] = (char)(0xe0 | c >> 12);
		bytes[1] = (char)(0x80 | (c >> 6 & 63));
		bytes[2] = (char)(0x80 | (c & 63));
		put_bytes(p, bytes, 3);
	} else {
		bytes[0] = (char)(0xf0 | c >> 18);
		bytes[1] = (char)(0x80 | (c >> 12 & 63));
		bytes[2] = (char)(0x80 | (c >> 6 & 63));
		bytes[3] = (char)(0x80 | (c & 63));
		put_bytes(p, bytes, 4);
	}
}

static void put_unit(struct put *p, uint16_t unit)
{
	if (p->high && unit >= 0xdc00 && unit < 0xe000) {
		put_point(p, 0x10000 + ((uint32_t)(p->high - 0xd800) << 10) + (unit - 0xdc00));
		p->high = 0;
		return;
	}
	if (p->high)
		put_point(p, p->high);
	p->high = unit >= 0xd800 && unit < 0xdc00 ? unit : 0;
	if (!p->high)
		put_point(p, unit);
}

static bool put_chars(const struct v8 *v8, struct put *p, const struct v8_chars *chars)
{
	uint8_t bytes[2 * CHARS];

	for (uint32_t at = 0, n; at < chars->length && !p->is_cut; at += n) {
		n = chars->length - at < CHARS ? chars->length - at : CHARS;
		if (!v8_read(v8, chars->address + ((uint64_t)at << chars->is_wide), bytes,
			     (size_t)n << chars->is_wide))
			return false;
		for (uint32_t i = 0; i < n; i++)
			put_unit(p, chars->is_wide
					    ? (uint16_t)(bytes[2 * i] | bytes[2 * i + 1] << 8)
					    : bytes[i]);
	}
	return true;
}

/* Puts the parts of a string that consists of two, the first one first. */
static bool put_parts(const struct v8 *v8, struct put *p, uint64_t string)
{
	uint64_t parts[MOST_PARTS] = {string};
	size_t n = 1;

	for (int i = 0; i < MOST_PARTS && n && !p->is_cut; i++) {
		struct v8_chars chars;

		string = parts[--n];
		if (v8_chars(v8, string, &chars)) {
			if (!put_chars(v8, p, &chars))
				return false;
			continue;
		}
		if (n + 2 > MOST_PARTS || (v8_type(v8, string) & FORM) != FORM_CONS ||
		    !has_field(v8, V8_CONS_FIRST) || !has_field(v8, V8_CONS_SECOND) ||
		    !v8_object(v8, string, (uint32_t)v8->is.is[V8_CONS_SECOND], &parts[n]) ||
		    !v8_object(v8, string, (uint32_t)v8->is.is[V8_CONS_FIRST], &parts[n + 1]))
			return false;
		n += 2;
	}
	p->is_cut |= n != 0;
	return true;
}

bool v8_text(const struct v8 *v8, uint64_t string, char *text)
{
	struct put put = {.text = text};

	if (!is_string(v8, v8_type(v8, string)) || !put_parts(v8, &put, string))
		return false;
	if (put.high)
		put_point(&put, put.high);
	if (put.is_cut) {
		memcpy(text + put.n, "...", 3);
		put.n += 3;
	}
	text[put.n] = '\0';
	return true;
}
