/* SPDX-License-Identifier: MIT */
/*
 * Reads .btloc and .btedge; see plugin_sections.h.
 *
 * Records are consecutive and begin with their size. A first pass counts and checks them, and a
 * second pass fills arrays of the counted sizes. Words of zero between records are the linker's
 * padding. Records of unknown versions are skipped and counted.
 */
#include "callgraph/plugin_sections.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define PLUGIN_SECTIONS_VERSION	    1
#define PLUGIN_SECTIONS_MAX_RECORD  65536
#define PLUGIN_SECTIONS_MAX_HEADERS 65536

enum { FUNCTION_MIN_SIZE = 40, FUNCTION_NAMES = 32, EDGE_SIZE = 24 }; /* bytes */

struct record_head {
	uint32_t size;
	uint16_t version, flags;
};

/* The position in the records of one section. */
struct cursor {
	const uint8_t *data;
	size_t len, at, min;
	struct plugin_sections_fault *fault;
};

static uint64_t word_at(const uint8_t *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

static int fail(const struct cursor *c, const char *what)
{
	c->fault->what = what;
	c->fault->offset = c->at;
	return -EBADMSG;
}

/* Finds the next record. Returns 1, with its start; 0 at the end; -EBADMSG. */
static int next_record(struct cursor *c, struct record_head *ret_head, const uint8_t **ret_record)
{
	struct record_head head;

	while (c->len - c->at >= 8 && word_at(c->data + c->at) == 0)
		c->at += 8;
	if (c->at == c->len)
		return 0;
	if (c->len - c->at < sizeof(head))
		return fail(c, "it ends within a record");
	memcpy(&head, c->data + c->at, sizeof(head));
	if (head.size % 8 || head.size > PLUGIN_SECTIONS_MAX_RECORD || head.size < 8)
		return fail(c, "a record has an impossible size");
	if (head.size > c->len - c->at)
		return fail(c, "a record extends beyond its end");
	if (head.version == PLUGIN_SECTIONS_VERSION && head.size < c->min)
		return fail(c, "a record is too small");
	*ret_head = head;
	*ret_record = c->data + c->at;
	c->at += head.size;
	return 1;
}

static int count_records(struct cursor c, size_t *ret_n, size_t *skipped)
{
	struct record_head head;
	const uint8_t *record;
	size_t n = 0;
	int result;

	while ((result = next_record(&c, &head, &record)) > 0) {
		if (head.version == PLUGIN_SECTIONS_VERSION)
			n++;
		else
			++*skipped;
	}
	if (result == 0)
		*ret_n = n;
	return result;
}

/* Returns the name at *at in a record of `size` bytes, and advances *at; NULL: the name has no
 * end. */
static const char *take_name(const uint8_t *record, size_t size, size_t *at)
{
	const char *name = (const char *)record + *at;
	size_t len = strnlen(name, size - *at);

	if (len == size - *at)
		return NULL;
	*at += len + 1;
	return name;
}

static int fill_functions(struct cursor c, struct plugin_function *functions)
{
	struct record_head head;
	const uint8_t *record;
	int result;

	while ((result = next_record(&c, &head, &record)) > 0) {
		size_t at = FUNCTION_NAMES;
		struct plugin_function *f = functions;

		if (head.version != PLUGIN_SECTIONS_VERSION)
			continue;
		f->flags = head.flags;
		f->id = word_at(record + 8);
		f->vaddr = word_at(record + 16);
		f->shape = word_at(record + 24);
		f->name = take_name(record, head.size, &at);
		if (f->name && at < head.size)
			f->file = take_name(record, head.size, &at);
		if (!f->name || !f->file) {
			c.at -= head.size;
			return fail(&c, "a name does not end in its record");
		}
		functions++;
	}
	return result;
}

static void fill_edges(struct cursor c, struct plugin_edge *edges)
{
	struct record_head head;
	const uint8_t *record;

	while (next_record(&c, &head, &record) > 0)
		if (head.version == PLUGIN_SECTIONS_VERSION)
			*edges++ = (struct plugin_edge){word_at(record + 8), word_at(record + 16),
							head.flags};
}

static int parse(const struct cursor *loc, const struct cursor *edge, struct plugin_sections *s)
{
	int err;

	loc->fault->section = ".btloc";
	err = count_records(*loc, &s->n_functions, &s->n_skipped);
	if (err < 0)
		return err;
	s->functions = calloc(s->n_functions + 1, sizeof(*s->functions));
	if (!s->functions)
		return -ENOMEM;
	err = fill_functions(*loc, s->functions);
	if (err < 0)
		return err;
	loc->fault->section = ".btedge";
	err = count_records(*edge, &s->n_edges, &s->n_skipped);
	if (err < 0)
		return err;
	s->edges = calloc(s->n_edges + 1, sizeof(*s->edges));
	if (!s->edges)
		return -ENOMEM;
	fill_edges(*edge, s->edges);
	return 0;
}

/* Parses both sections. Takes over `names` (the bytes of .btloc), also on failure. */
static int take(uint8_t *names, size_t names_len, const uint8_t *btedge, size_t btedge_len,
		struct plugin_sections *ret_sections, struct plugin_sections_fault *ret_fault)
{
	struct plugin_sections_fault fault = {0};
	struct plugin_sections s = {.names = names};
	struct cursor loc = {names, names_len, 0, FUNCTION_MIN_SIZE, &fault};
	struct cursor edge = {btedge, btedge_len, 0, EDGE_SIZE, &fault};
	int err = parse(&loc, &edge, &s);

	if (err < 0) {
		plugin_sections_release(&s);
		if (err == -EBADMSG)
			*ret_fault = fault;
		return err;
	}
	*ret_sections = s;
	return 0;
}

int plugin_sections_parse(const uint8_t *btloc, size_t btloc_len, const uint8_t *btedge,
			  size_t btedge_len, struct plugin_sections *ret_sections,
			  struct plugin_sections_fault *ret_fault)
{
	uint8_t *names = malloc(btloc_len + 1);

	if (!names)
		return -ENOMEM;
	if (btloc_len)
		memcpy(names, btloc, btloc_len);
	return take(names, btloc_len, btedge, btedge_len, ret_sections, ret_fault);
}

void plugin_sections_release(struct plugin_sections *sections)
{
	free(sections->functions);
	free(sections->edges);
	free(sections->names);
	*sections = (struct plugin_sections){0};
}

/* --- in a file ----------------------------------------------------------------------------- */

static bool find_section(const struct elf_file *file, const char *name, GElf_Shdr *ret_shdr)
{
	Elf *elf = elf_file_libelf(file);
	Elf_Scn *scn = NULL;
	size_t names, n = 0;

	if (elf_getshdrstrndx(elf, &names))
		return false;
	while (n++ < PLUGIN_SECTIONS_MAX_HEADERS && (scn = elf_nextscn(elf, scn))) {
		const char *is;

		if (!gelf_getshdr(scn, ret_shdr) || ret_shdr->sh_type == SHT_NOBITS)
			continue;
		is = elf_strptr(elf, names, ret_shdr->sh_name);
		if (is && strcmp(is, name) == 0)
			return true;
	}
	return false;
}

/* Reads a section into a malloc()ed buffer. Returns 0; -ENODATA: no such section; -EBADMSG;
 * -ENOMEM; -EIO. */
static int load_section(const struct elf_file *file, const char *name, uint8_t **ret_data,
			size_t *ret_len, struct plugin_sections_fault *fault)
{
	GElf_Shdr shdr;
	uint8_t *data, last;
	int64_t n;

	*fault = (struct plugin_sections_fault){.section = name};
	if (!find_section(file, name, &shdr))
		return -ENODATA;
	fault->what = "it is compressed or larger than 512 MiB";
	if (shdr.sh_flags & SHF_COMPRESSED || shdr.sh_size > PLUGIN_SECTIONS_MAX_BYTES)
		return -EBADMSG;
	fault->what = "the file ends before it";
	if (shdr.sh_size && elf_file_read(file, shdr.sh_offset + shdr.sh_size - 1, &last, 1) != 1)
		return -EBADMSG;
	data = malloc(shdr.sh_size + 1);
	if (!data)
		return -ENOMEM;
	n = elf_file_read(file, shdr.sh_offset, data, shdr.sh_size);
	if (n != (int64_t)shdr.sh_size) {
		free(data);
		return n < 0 ? -EIO : -EBADMSG;
	}
	*ret_data = data;
	*ret_len = shdr.sh_size;
	return 0;
}

int plugin_sections_read(const struct elf_file *file, struct plugin_sections *ret_sections,
			 struct plugin_sections_fault *ret_fault)
{
	struct plugin_sections_fault fault;
	uint8_t *loc, *edge = NULL;
	size_t loc_len, edge_len = 0;
	int err = load_section(file, ".btloc", &loc, &loc_len, &fault);

	if (err == 0) {
		err = load_section(file, ".btedge", &edge, &edge_len, &fault);
		if (err < 0 && err != -ENODATA)
			free(loc);
		else
			err = take(loc, loc_len, edge, edge_len, ret_sections, &fault);
	}
	free(edge);
	if (err == -EBADMSG)
		*ret_fault = fault;
	return err;
}

uint64_t plugin_sections_id(const char *name)
{
	uint64_t hash = 0;

	for (; *name; name++)
		hash = hash_mix64(hash + (uint8_t)*name + 1);
	return hash ? hash : 1;
}
