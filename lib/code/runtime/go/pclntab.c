/* SPDX-License-Identifier: MIT */
/*
 * Reads the table's formats; see pclntab.h. pclntab_find.c finds the table in a file.
 *
 *   header ─► functions  { entry, offset of the record } ..., end of the last
 *                              └─► record  entry, name, ..., pcsp, pcfile, pcln, ..., unit, id
 *   values   pairs of variable-length integers: by how much the value changes, and for how many
 *            bytes of code it then holds; a change of 0 ends them
 */
#include "runtime/go/pclntab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/go/pclntab_find.h"

struct pclntab {
	uint8_t *bytes; /* owned */
	size_t size;
	enum pclntab_version version;
	size_t count;
	uint64_t text;			    /* vaddr that is added to entries; 0 before Go 1.18 */
	size_t names, units, files, values; /* offsets of these parts */
	size_t functions;
	size_t word; /* size in bytes of a number in the list of functions */
};

static uint64_t read_word(const uint8_t *at, size_t bytes)
{
	uint64_t word = 0;

	memcpy(&word, at, bytes);
	return word;
}

/* Reads a number of `bytes` bytes at an offset. Returns false if it is outside of the table. */
static bool read_at(const struct pclntab *t, uint64_t offset, size_t bytes, uint64_t *ret_word)
{
	if (offset > t->size || t->size - offset < bytes)
		return false;
	*ret_word = read_word(t->bytes + offset, bytes);
	return true;
}

/* Returns the string at an offset; NULL: it has no end in the table. */
static const char *string_at(const struct pclntab *t, uint64_t offset)
{
	const uint8_t *at = t->bytes + offset;

	return offset < t->size && memchr(at, 0, t->size - offset) ? (const char *)at : NULL;
}

/* --- opening --------------------------------------------------------------------------------- */

/* Opens a table of Go 1.2: the list of functions follows the count, and the offset of the files
 * follows the list. */
static int open_first(struct pclntab *t)
{
	uint64_t files;

	t->word = 8;
	t->functions = 16;
	if (t->count > (t->size - 16) / 16 ||
	    !read_at(t, 16 + (uint64_t)t->count * 16 + 8, 4, &files) || files >= t->size)
		return -EINVAL;
	t->files = files;
	return 0;
}

/* Opens a table since Go 1.16: after the count are the number of files, the text's address (since
 * 1.18) and the offsets of the parts. */
static int open_parts(struct pclntab *t, uint64_t text)
{
	bool has_text = t->version >= PCLNTAB_GO_1_18;
	size_t *parts[] = {&t->names, &t->units, &t->files, &t->values, &t->functions};
	uint64_t at = has_text ? 32 : 24;

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		uint64_t offset;

		if (!read_at(t, at + 8 * i, 8, &offset) || offset >= t->size)
			return -EINVAL;
		*parts[i] = offset;
	}
	t->word = has_text ? 4 : 8;
	t->text = has_text ? text : 0;
	return t->count > (t->size - t->functions) / (2 * t->word) ? -EINVAL : 0;
}

static uint64_t entry_of(const struct pclntab *t, size_t number)
{
	return t->text + read_word(t->bytes + t->functions + number * 2 * t->word, t->word);
}

/* Returns whether the functions' entries are in rising order, as the binary search and the limit on
 * the time require. */
static bool is_sorted(const struct pclntab *t)
{
	for (size_t i = 0; i < t->count; i++) {
		if (entry_of(t, i) > entry_of(t, i + 1))
			return false;
	}
	return true;
}

static int open_header(struct pclntab *t, uint64_t text)
{
	uint64_t count;
	int err;

	if (!pclntab_find_version(t->bytes, t->size, &t->version) || !read_at(t, 8, 8, &count) ||
	    count > PCLNTAB_MAX_FUNCTIONS)
		return -EINVAL;
	t->count = count;
	err = t->version == PCLNTAB_GO_1_2 ? open_first(t) : open_parts(t, text);
	if (err)
		return err;
	if (t->size - t->functions < (2 * t->count + 1) * t->word || !is_sorted(t))
		return -EINVAL;
	return 0;
}

/* Opens a table; takes over its bytes, also on failure. */
static int open_owned(uint8_t *bytes, size_t size, uint64_t text, struct pclntab **ret_table)
{
	struct pclntab *t = calloc(1, sizeof(*t));
	int err = t ? 0 : -ENOMEM;

	if (err) {
		free(bytes);
		return err;
	}
	t->bytes = bytes;
	t->size = size;
	err = open_header(t, text);
	if (err)
		pclntab_free(t);
	else
		*ret_table = t;
	return err;
}

int pclntab_open(const uint8_t *bytes, size_t size, uint64_t text, struct pclntab **ret_table)
{
	uint8_t *copy = size > PCLNTAB_MAX_BYTES ? NULL : malloc(size + 1);
	uint64_t own;

	if (!copy)
		return size > PCLNTAB_MAX_BYTES ? -EINVAL : -ENOMEM;
	if (size)
		memcpy(copy, bytes, size);
	own = size >= 32 ? read_word(bytes + 24, 8) : 0;
	return open_owned(copy, size, own ? own : text, ret_table);
}

int pclntab_read(const struct elf_file *file, struct pclntab **ret_table)
{
	struct pclntab_extent extent;
	uint8_t *bytes;
	int err = pclntab_find_in(file, &extent);

	if (err)
		return err;
	bytes = malloc(extent.size);
	if (!bytes)
		return -ENOMEM;
	if (!elf_file_read_whole(file, extent.offset, bytes, extent.size)) {
		free(bytes);
		return -EINVAL;
	}
	return open_owned(bytes, extent.size, extent.text, ret_table);
}

void pclntab_free(struct pclntab *t)
{
	if (!t)
		return;
	free(t->bytes);
	free(t);
}

/* --- functions ------------------------------------------------------------------------------- */

size_t pclntab_count(const struct pclntab *t)
{
	return t->count;
}

size_t pclntab_bytes(const struct pclntab *t)
{
	return t->size;
}

/* Reads a function's record, from after its entry on: name, arguments, deferreturn, pcsp, pcfile,
 * pcln, npcdata, and since Go 1.16 the unit. */
static void read_record(const struct pclntab *t, const uint8_t *at, struct pclntab_function *f)
{
	bool has_units = t->version >= PCLNTAB_GO_1_16;
	bool has_line = t->version >= PCLNTAB_GO_1_20;
	const uint8_t *id = at + 28 + (has_units ? 4 : 0) + (has_line ? 4 : 0);

	f->name = string_at(t, t->names + read_word(at, 4));
	f->pcsp = (uint32_t)read_word(at + 12, 4);
	f->pcfile = (uint32_t)read_word(at + 16, 4);
	f->pcln = (uint32_t)read_word(at + 20, 4);
	f->unit = has_units ? (uint32_t)read_word(at + 28, 4) : 0;
	f->id = id[0];
	f->flags = has_units ? id[1] : 0;
}

/* Returns the length of a record up to its id and flags. */
static size_t record_bytes(const struct pclntab *t)
{
	return t->word + 32 + (t->version >= PCLNTAB_GO_1_16 ? 4 : 0) +
	       (t->version >= PCLNTAB_GO_1_20 ? 4 : 0);
}

bool pclntab_get(const struct pclntab *t, size_t number, struct pclntab_function *ret_function)
{
	const uint8_t *pair;
	uint64_t record;

	if (number >= t->count)
		return false;
	pair = t->bytes + t->functions + number * 2 * t->word;
	record = read_word(pair + t->word, t->word);
	if (t->version >= PCLNTAB_GO_1_16)
		record += record > t->size ? 0 : t->functions;
	if (record > t->size || t->size - record < record_bytes(t))
		return false;
	*ret_function = (struct pclntab_function){
		.start = entry_of(t, number),
		.end = entry_of(t, number + 1),
	};
	read_record(t, t->bytes + record + t->word, ret_function);
	return true;
}

bool pclntab_find(const struct pclntab *t, uint64_t vaddr, struct pclntab_function *ret_function)
{
	size_t low = 0, high = t->count;

	/* `low` becomes the number of functions that start at or before the address. */
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (entry_of(t, mid) <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	return low && vaddr < entry_of(t, low) && pclntab_get(t, low - 1, ret_function);
}

/* --- values ---------------------------------------------------------------------------------- */

struct pclntab_values pclntab_values_begin(const struct pclntab *t,
					   const struct pclntab_function *function, uint32_t where)
{
	uint64_t at = t->values + (uint64_t)where;
	bool is_there = where && at < t->size;

	return (struct pclntab_values){
		.at = t->bytes + (is_there ? at : t->size),
		.limit = t->bytes + t->size,
		.pc = function->start,
		.end = function->end,
		.value = -1,
		.is_first = true,
		.is_broken = where && !is_there,
	};
}

/* Reads a number in groups of 7 bits, the lowest first. */
static bool read_varint(struct pclntab_values *v, uint32_t *ret_number)
{
	uint32_t number = 0;

	for (unsigned shift = 0; shift < 35; shift += 7) {
		uint8_t byte;

		if (v->at == v->limit)
			return false;
		byte = *v->at++;
		number |= (uint32_t)((uint64_t)(byte & 0x7f) << shift);
		if (!(byte & 0x80)) {
			*ret_number = number;
			return true;
		}
	}
	return false;
}

bool pclntab_values_next(struct pclntab_values *v, uint64_t *ret_start, uint64_t *ret_end,
			 int32_t *ret_value)
{
	uint32_t change, distance;

	if (v->is_broken || v->at == v->limit || v->pc >= v->end)
		return false;
	v->is_broken = !read_varint(v, &change);
	if (v->is_broken || (!change && !v->is_first)) {
		v->at = v->limit;
		return false;
	}
	/* Each value must cover code, so that the time is limited by the function's size. */
	v->is_broken = !read_varint(v, &distance) || !distance;
	if (v->is_broken)
		return false;
	v->is_first = false;
	v->value = (int32_t)((uint32_t)v->value + (change & 1 ? ~(change >> 1) : change >> 1));
	*ret_start = v->pc;
	v->pc = distance < v->end - v->pc ? v->pc + distance : v->end;
	*ret_end = v->pc;
	*ret_value = v->value;
	return true;
}

static bool value_at(const struct pclntab *t, const struct pclntab_function *f, uint32_t where,
		     uint64_t vaddr, int32_t *ret_value)
{
	struct pclntab_values values = pclntab_values_begin(t, f, where);
	uint64_t start, end;

	while (pclntab_values_next(&values, &start, &end, ret_value)) {
		if (vaddr >= start && vaddr < end)
			return true;
	}
	return false;
}

/* Returns the name of a file by its number in the function's unit; NULL: there is none. */
static const char *file_name(const struct pclntab *t, const struct pclntab_function *f,
			     int32_t number)
{
	bool is_first = t->version == PCLNTAB_GO_1_2;
	uint64_t index = (uint64_t)f->unit + (uint64_t)number, offset;

	if (number < (is_first ? 1 : 0) ||
	    !read_at(t, (is_first ? t->files : t->units) + 4 * index, 4, &offset) ||
	    offset == UINT32_MAX)
		return NULL;
	return string_at(t, is_first ? offset : t->files + offset);
}

bool pclntab_line(const struct pclntab *t, const struct pclntab_function *function, uint64_t vaddr,
		  const char **ret_file, uint32_t *ret_line)
{
	const char *file;
	int32_t number, line;

	if (!value_at(t, function, function->pcfile, vaddr, &number) ||
	    !value_at(t, function, function->pcln, vaddr, &line) || line <= 0)
		return false;
	file = file_name(t, function, number);
	if (!file)
		return false;
	*ret_file = file;
	*ret_line = (uint32_t)line;
	return true;
}
