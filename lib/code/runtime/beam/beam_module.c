/* SPDX-License-Identifier: MIT */
/*
 * Reads a module's header, names and lines; see beam_module.h.
 *
 * The header (beam_code.h) has the addresses of all functions, in order, and behind them that of
 * their end. At each there is an ErtsCodeInfo, whose last three words are module, name and arity.
 *
 * The table of lines has, for each function, the addresses of some instructions, and for each of
 * these the number of a file, in the upper byte, and a line. The compiler puts one before each call
 * that may fail or stays on the stack. So it tells the line of a call. It tells no line of other
 * instructions: the last one before may be in another clause.
 */
#include "runtime/beam/beam_module.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define MOST_FUNCTIONS (1u << 20)
#define MOST_LINES     4096 /* of a function */
#define MOST_ARITY     255
#define MOST_BEFORE    64 /* bytes by which a function's first line comes before it: alignment */

#define INFO_TERMS 16 /* in an ErtsCodeInfo */

/* In struct BeamCodeLineTab_. */
#define FILES_AT   0
#define SIZE_AT	   8  /* bytes of a location: 2 or 4 */
#define PLACES_AT  16 /* the locations */
#define BY_FUNC_AT 24 /* for each function, the address of its first address */

/* In an IndexTable and an Atom. */
#define ATOM_COUNT_AT	 116
#define ATOM_SEGMENTS_AT 120
#define ATOM_SEGMENT	 1024 /* atoms in a segment */
#define ATOM_INDEX_AT	 16
#define ATOM_LENGTH_AT	 24
#define ATOM_TEXT_AT	 32

/* Terms: an atom has its index above the tag; a list is a pointer to a term and the rest of it; a
 * small number is above its tag. */
#define TAG_BITS   6
#define TAG_ATOM   0x0b
#define TAG_LIST   1
#define TAG_SMALL  0x0f
#define SMALL_BITS 4

/* --- terms ------------------------------------------------------------------------------------ */

static bool read_u64(const struct beam_vm *vm, uint64_t address, uint64_t *ret_word)
{
	return beam_read(vm, address, ret_word, sizeof(*ret_word));
}

bool beam_atom(const struct beam_vm *vm, uint64_t term, char ret_text[BEAM_ATOM_ROOM])
{
	const uint64_t index = term >> TAG_BITS;
	uint8_t atom[ATOM_TEXT_AT + 8];
	uint32_t count, own;
	uint64_t at, text;
	int16_t len;

	if ((term & ((1u << TAG_BITS) - 1)) != TAG_ATOM ||
	    !beam_read(vm, vm->atoms + ATOM_COUNT_AT, &count, sizeof(count)) || index >= count ||
	    !read_u64(vm, vm->atoms + ATOM_SEGMENTS_AT, &at) ||
	    !read_u64(vm, at + index / ATOM_SEGMENT * 8, &at) ||
	    !read_u64(vm, at + index % ATOM_SEGMENT * 8, &at) ||
	    !beam_read(vm, at, atom, sizeof(atom)))
		return false;
	memcpy(&own, atom + ATOM_INDEX_AT, sizeof(own));
	memcpy(&len, atom + ATOM_LENGTH_AT, sizeof(len));
	memcpy(&text, atom + ATOM_TEXT_AT, sizeof(text));
	if (own != index || len < 0 || len >= BEAM_ATOM_ROOM ||
	    !beam_read(vm, text, ret_text, (size_t)len) || memchr(ret_text, 0, (size_t)len))
		return false;
	ret_text[len] = '\0';
	return true;
}

/* Appends a character as UTF-8. Returns false if there is no room. */
static bool put_character(char *text, size_t room, size_t *len, uint32_t c)
{
	const size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	static const uint8_t first[] = {0, 0, 0xc0, 0xe0, 0xf0};

	if (!c || c > 0x10ffff || *len + n >= room)
		return false;
	for (size_t i = n; i-- > 1; c >>= 6)
		text[*len + i] = (char)(0x80 | (c & 0x3f));
	text[*len] = (char)(first[n] | c);
	*len += n;
	return true;
}

/* Reads a list of characters. Returns false if the term is none, or it is longer. */
static bool read_string(const struct beam_vm *vm, uint64_t term, char *ret_text, size_t room)
{
	uint64_t cell[2];
	size_t len = 0;

	while ((term & 3) == TAG_LIST) {
		if (!beam_read(vm, term - TAG_LIST, cell, sizeof(cell)) ||
		    (cell[0] & 0xf) != TAG_SMALL || cell[0] >> 32 ||
		    !put_character(ret_text, room, &len, (uint32_t)(cell[0] >> SMALL_BITS)))
			return false;
		term = cell[1];
	}
	ret_text[len] = '\0';
	return len > 0;
}

/* --- the header ------------------------------------------------------------------------------- */

bool beam_module_read(const struct beam_vm *vm, uint64_t start, uint64_t end,
		      struct beam_module *ret_module)
{
	const struct beam_layout *is = vm->is;
	struct beam_module module = {.start = start, .end = end};
	uint64_t at, sum[2];

	if (end - start <= is->functions || !read_u64(vm, start, &module.n_functions) ||
	    !module.n_functions || module.n_functions > MOST_FUNCTIONS ||
	    (module.n_functions + 1) * 8 > end - start - is->functions ||
	    !read_u64(vm, start + is->lines, &module.lines) ||
	    !read_u64(vm, start + is->md5, &at) || at < start || at > end - sizeof(sum) ||
	    !beam_read(vm, at, sum, sizeof(sum)))
		return false;
	module.identity =
		hash_mix64(start ^ hash_mix64(end ^ hash_mix64(sum[0] ^ hash_mix64(sum[1]))));
	*ret_module = module;
	return true;
}

/* Gives where function `index` begins; that of the number of functions is their end. */
static bool function_at(const struct beam_vm *vm, const struct beam_module *module, uint64_t index,
			uint64_t *ret_start)
{
	return read_u64(vm, module->start + vm->is->functions + index * 8, ret_start) &&
	       *ret_start > module->start && *ret_start < module->end;
}

bool beam_module_function(const struct beam_vm *vm, const struct beam_module *module,
			  uint64_t address, uint64_t *ret_index, uint64_t *ret_start)
{
	uint64_t low = 0, high = module->n_functions, start, end;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (!function_at(vm, module, middle, &start) ||
		    !function_at(vm, module, middle + 1, &end) || start >= end)
			return false;
		if (address < start) {
			high = middle;
		} else if (address >= end) {
			low = middle + 1;
		} else {
			*ret_index = middle;
			*ret_start = start;
			return end - start <= INT32_MAX;
		}
	}
	return false;
}

/* --- names ------------------------------------------------------------------------------------ */

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '@';
}

/* Returns the quote that the language puts around an atom's text; "": none. */
static const char *quote_of(const char *text, const char *quote)
{
	const char *at = text;

	while (is_word(*at))
		at++;
	if (*quote == '"' && at != text && (*at == '!' || *at == '?'))
		at++;
	return !*at && *text >= 'a' && *text <= 'z' ? "" : quote;
}

#define ELIXIR	   "Elixir."
#define ELIXIR_LEN (sizeof(ELIXIR) - 1)

/* Names a function as traces of Erlang or, if the module is Elixir's, of Elixir do. */
static void name_function(const char *module, const char *function, unsigned arity,
			  char ret_name[RUNTIME_NAME_ROOM])
{
	const bool is_elixir = !strncmp(module, ELIXIR, ELIXIR_LEN);
	const char *quote = quote_of(function, is_elixir ? "\"" : "'");
	const char *of_module = is_elixir ? "" : quote_of(module, "'");
	int len = snprintf(ret_name, RUNTIME_NAME_ROOM, "%s%s%s%c%s%s%s/%u", of_module,
			   is_elixir ? module + ELIXIR_LEN : module, of_module,
			   is_elixir ? '.' : ':', quote, function, quote, arity);

	if (len >= RUNTIME_NAME_ROOM)
		memcpy(ret_name + RUNTIME_NAME_ROOM - 4, "...", 4);
}

/* --- lines ------------------------------------------------------------------------------------ */

/* The lines of one function. */
struct lines {
	uint64_t at;	/* address of the addresses of instructions, */
	uint64_t count; /* and how many there are */
	uint64_t places;
	uint32_t size; /* bytes of a location */
};

/* Finds the lines of a function. Returns false if there are none. */
static bool find_lines(const struct beam_vm *vm, const struct beam_module *module, uint64_t index,
		       struct lines *ret_lines)
{
	uint64_t first, part[2], places;
	uint32_t size;

	if (!module->lines || !beam_read(vm, module->lines + SIZE_AT, &size, sizeof(size)) ||
	    (size != 2 && size != 4) || !read_u64(vm, module->lines + PLACES_AT, &places) ||
	    !read_u64(vm, module->lines + BY_FUNC_AT, &first) ||
	    !beam_read(vm, module->lines + BY_FUNC_AT + index * 8, part, sizeof(part)) ||
	    part[0] < first || part[1] <= part[0] || (part[1] - part[0]) / 8 > MOST_LINES)
		return false;
	*ret_lines = (struct lines){.at = part[0],
				    .count = (part[1] - part[0]) / 8,
				    .places = places + (part[0] - first) / 8 * size,
				    .size = size};
	return true;
}

/* Reads line `i`: the address of its instruction, and its location, which is 0 if it has none. */
static bool read_line(const struct beam_vm *vm, const struct lines *lines, uint64_t i,
		      uint64_t *ret_address, uint32_t *ret_place)
{
	*ret_place = 0;
	return read_u64(vm, lines->at + i * 8, ret_address) &&
	       beam_read(vm, lines->places + i * lines->size, ret_place, lines->size);
}

/* Gives the name of a file by its number; 0 is the module's own. */
static bool name_file(const struct beam_vm *vm, const struct beam_module *module,
		      const char *of_module, uint32_t number, char ret_file[RUNTIME_NAME_ROOM])
{
	uint64_t files, term;

	if (!number)
		return snprintf(ret_file, RUNTIME_NAME_ROOM, "%s.erl", of_module) <
		       RUNTIME_NAME_ROOM;
	return read_u64(vm, module->lines + FILES_AT, &files) &&
	       read_u64(vm, files + (number - 1) * 8, &term) &&
	       read_string(vm, term, ret_file, RUNTIME_NAME_ROOM);
}

#define LINE_OF(place) ((place)&0xffffffu)
#define FILE_OF(place) ((place) >> 24)

/* Reads the lines of a function. Those of other files than its first line's are 0, not known. 0;
 * -ENOENT: they cannot be read; -ENOMEM. */
static int read_lines(const struct beam_vm *vm, const struct lines *lines, uint64_t start,
		      struct runtime_function *function, uint32_t *ret_file)
{
	struct runtime_line *to = calloc(lines->count, sizeof(*to));
	uint64_t address;
	uint32_t place;
	size_t n = 0;

	if (!to)
		return -ENOMEM;
	for (uint64_t i = 0; i < lines->count; i++) {
		if (!read_line(vm, lines, i, &address, &place))
			address = UINT64_MAX;
		if (!i && address < start && start - address < MOST_BEFORE)
			address = start;
		if (address < start || address - start > INT32_MAX ||
		    (n && address - start < to[n - 1].instruction)) {
			free(to);
			return -ENOENT;
		}
		if (place && !function->first_line) {
			function->first_line = LINE_OF(place);
			*ret_file = FILE_OF(place);
		}
		if (n && address - start == to[n - 1].instruction) /* the last one counts */
			n--;
		to[n++] = (struct runtime_line){(uint32_t)(address - start),
						FILE_OF(place) == *ret_file ? LINE_OF(place) : 0};
	}
	function->lines = to;
	function->n_lines = n;
	return 0;
}

int beam_module_describe(const struct beam_vm *vm, const struct beam_module *module, uint64_t index,
			 uint64_t start, struct runtime_function *function)
{
	char of_module[BEAM_ATOM_ROOM], name[BEAM_ATOM_ROOM];
	uint64_t terms[3];
	struct lines lines;
	uint32_t file = 0;
	int err = 0;

	if (!beam_read(vm, start + INFO_TERMS, terms, sizeof(terms)) || terms[2] > MOST_ARITY ||
	    !beam_atom(vm, terms[0], of_module) || !beam_atom(vm, terms[1], name))
		return -ENOENT;
	name_function(of_module, name, (unsigned)terms[2], function->name);
	if (find_lines(vm, module, index, &lines))
		err = read_lines(vm, &lines, start, function, &file);
	if (!err && !name_file(vm, module, of_module, file, function->file)) {
		free(function->lines);
		function->lines = NULL;
		function->n_lines = 0;
		err = -ENOENT;
	}
	return err;
}
