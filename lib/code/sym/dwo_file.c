/* SPDX-License-Identifier: MIT */
/*
 * Reads .dwo files whole, and of .dwp files the parts of one unit; see dwo_file.h.
 *
 * A .dwp file of a browser has gigabytes, so only the parts of queried units are read. Its index
 * (DWARF 5, 7.3.5; GNU's for DWARF 4 has other numbers of sections) is a hash table of ids, and for
 * each unit a row of offsets and a row of sizes, with a column for each section:
 *
 *   header | ids of slots | row of each slot | columns | rows of offsets | rows of sizes
 *
 * The files are not trusted: every number is checked against the section to which it refers, and
 * the bytes that are read are bounded.
 */
#include "sym/dwo_file.h"

#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/unpack.h"

#define MAX_SECTION_BYTES ((uint64_t)256 << 20) /* expanded */
#define MAX_INDEX_BYTES	  ((uint64_t)64 << 20)
#define INDEX		  DWO_SECTIONS /* .debug_cu_index, behind the other sections */
#define MAX_COLUMNS	  16

struct section {
	GElf_Shdr header;
	bool is_there, is_read;
	uint8_t *bytes; /* owned; NULL until it is read */
	size_t len;
};

struct dwo_file {
	int fd; /* -1 once all is read */
	uint64_t size;
	struct section sections[DWO_SECTIONS + 1];
};

static const char *const section_names[DWO_SECTIONS + 1] = {
	[DWO_INFO] = ".debug_info.dwo",
	[DWO_TYPES] = ".debug_types.dwo",
	[DWO_ABBREV] = ".debug_abbrev.dwo",
	[DWO_STR] = ".debug_str.dwo",
	[DWO_STR_OFFSETS] = ".debug_str_offsets.dwo",
	[DWO_RNGLISTS] = ".debug_rnglists.dwo",
	[DWO_LINE] = ".debug_line.dwo",
	[INDEX] = ".debug_cu_index",
};

/* --- sections -------------------------------------------------------------------------------- */

static void find_sections(struct dwo_file *f, Elf *elf)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr header;
		const char *name =
			gelf_getshdr(scn, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;

		for (int i = 0; name && i <= INDEX; i++) {
			struct section *s = &f->sections[i];

			if (s->is_there || strcmp(name, section_names[i]) != 0)
				continue;
			s->header = header;
			s->is_there = header.sh_type != SHT_NOBITS && header.sh_size;
		}
	}
}

int dwo_file_open(int fd, struct dwo_file **ret_file)
{
	struct dwo_file *f = calloc(1, sizeof(*f));
	struct stat st;
	Elf *elf = NULL;

	if (!f) {
		close(fd);
		return -ENOMEM;
	}
	f->fd = fd;
	elf_version(EV_CURRENT);
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf) {
		f->size = (uint64_t)st.st_size;
		find_sections(f, elf);
	}
	elf_end(elf);
	if (!f->sections[DWO_INFO].is_there || !f->sections[DWO_ABBREV].is_there) {
		dwo_file_free(f);
		return -ENOENT;
	}
	*ret_file = f;
	return 0;
}

void dwo_file_free(struct dwo_file *f)
{
	if (!f)
		return;
	for (int i = 0; i <= INDEX; i++)
		free(f->sections[i].bytes);
	if (f->fd >= 0)
		close(f->fd);
	free(f);
}

static bool read_at(const struct dwo_file *f, uint64_t offset, uint8_t *bytes, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(f->fd, bytes + done, len - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

static bool is_in_file(const struct dwo_file *f, const GElf_Shdr *header)
{
	return header->sh_offset <= f->size && header->sh_size <= f->size - header->sh_offset;
}

/* Replaces a compressed section's bytes by its contents. */
static int expand(struct section *s, uint64_t most)
{
	uint8_t *packed = s->bytes;
	int err = unpack_section(packed, s->len, most, &s->bytes, &s->len);

	if (err)
		s->bytes = NULL;
	free(packed);
	return !err || err == -ENOMEM ? err : -ENOENT;
}

static int read_section(struct dwo_file *f, int number, uint64_t most)
{
	struct section *s = &f->sections[number];
	int err = 0;

	if (s->is_read || !s->is_there)
		return 0;
	if (f->fd < 0 || !is_in_file(f, &s->header) || s->header.sh_size > most)
		return -ENOENT;
	s->bytes = malloc(s->header.sh_size);
	if (!s->bytes)
		return -ENOMEM;
	s->len = s->header.sh_size;
	if (!read_at(f, s->header.sh_offset, s->bytes, s->len))
		err = -ENOENT;
	else if (s->header.sh_flags & SHF_COMPRESSED)
		err = expand(s, most);
	if (err) {
		free(s->bytes);
		s->bytes = NULL;
	}
	s->is_read = !err;
	return err;
}

int dwo_file_read(struct dwo_file *f, struct dwo_bytes ret_sections[DWO_SECTIONS])
{
	int err = 0;

	for (int i = 0; i < DWO_SECTIONS && !err; i++) {
		err = read_section(f, i, MAX_SECTION_BYTES);
		ret_sections[i] = (struct dwo_bytes){f->sections[i].bytes, f->sections[i].len};
		if (!ret_sections[i].at)
			ret_sections[i].len = 0;
	}
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
	return err;
}

/* --- the index of a .dwp file ---------------------------------------------------------------- */

struct index {
	const uint8_t *slots, *rows, *columns, *offsets, *sizes;
	uint32_t n_columns, n_units, n_slots;
	bool is_gnu; /* of DWARF 4 */
};

static uint32_t get_u32(const uint8_t *at)
{
	uint32_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

static uint64_t get_u64(const uint8_t *at)
{
	uint64_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

static bool read_index(const struct section *s, struct index *ret)
{
	uint64_t row, end;
	uint32_t version;

	if (!s->bytes || s->len < 16)
		return false;
	version = get_u32(s->bytes);
	ret->is_gnu = version == 2;
	ret->n_columns = get_u32(s->bytes + 4);
	ret->n_units = get_u32(s->bytes + 8);
	ret->n_slots = get_u32(s->bytes + 12);
	if ((!ret->is_gnu && (version & 0xffff) != 5) || !ret->n_slots ||
	    (ret->n_slots & (ret->n_slots - 1)) || !ret->n_columns || ret->n_columns > MAX_COLUMNS)
		return false;
	row = (uint64_t)ret->n_columns * 4;
	end = 16 + (uint64_t)ret->n_slots * 12 + row + 2 * row * ret->n_units;
	if (end > s->len)
		return false;
	ret->slots = s->bytes + 16;
	ret->rows = ret->slots + (uint64_t)ret->n_slots * 8;
	ret->columns = ret->rows + (uint64_t)ret->n_slots * 4;
	ret->offsets = ret->columns + row;
	ret->sizes = ret->offsets + row * ret->n_units;
	return true;
}

/* Finds the row of a unit, counted from 0. */
static bool find_row(const struct index *index, uint64_t id, uint32_t *ret_row)
{
	uint32_t mask = index->n_slots - 1, slot = (uint32_t)id & mask;
	uint32_t step = ((uint32_t)(id >> 32) & mask) | 1;

	for (uint32_t i = 0; i < index->n_slots; i++, slot = (slot + step) & mask) {
		uint32_t row = get_u32(index->rows + 4 * (uint64_t)slot);

		if (!row)
			return false;
		if (get_u64(index->slots + 8 * (uint64_t)slot) != id)
			continue;
		*ret_row = row - 1;
		return row <= index->n_units;
	}
	return false;
}

static int section_of_column(const struct index *index, uint32_t column)
{
	switch (get_u32(index->columns + 4 * column)) {
	case 1:
		return DWO_INFO;
	case 3:
		return DWO_ABBREV;
	case 4:
		return DWO_LINE;
	case 6:
		return DWO_STR_OFFSETS;
	case 8:
		return index->is_gnu ? -1 : DWO_RNGLISTS;
	}
	return -1;
}

struct part {
	uint32_t offset, len;
};

static void find_parts(const struct index *index, uint32_t row, struct part parts[DWO_SECTIONS])
{
	for (uint32_t i = 0; i < index->n_columns; i++) {
		uint64_t at = 4 * ((uint64_t)row * index->n_columns + i);
		int section = section_of_column(index, i);

		if (section >= 0)
			parts[section] = (struct part){get_u32(index->offsets + at),
						       get_u32(index->sizes + at)};
	}
}

/* Reads a part of a section; a compressed section has been read whole before. */
static bool read_part(struct dwo_file *f, int number, struct part part, uint8_t *bytes)
{
	const struct section *s = &f->sections[number];
	uint64_t len = s->is_read ? s->len : s->header.sh_size;

	if (part.offset > len || part.len > len - part.offset)
		return false;
	if (!s->is_read)
		return is_in_file(f, &s->header) &&
		       read_at(f, s->header.sh_offset + part.offset, bytes, part.len);
	memcpy(bytes, s->bytes + part.offset, part.len);
	return true;
}

static int read_parts(struct dwo_file *f, const struct part parts[DWO_SECTIONS],
		      struct dwo_bytes ret_sections[DWO_SECTIONS], uint8_t **ret_owned)
{
	uint64_t all = 0;
	uint8_t *at;
	int err = 0;

	for (int i = 0; i < DWO_SECTIONS; i++)
		all += parts[i].len;
	if (all > MAX_SECTION_BYTES)
		return -ENOENT;
	*ret_owned = at = malloc(all + 1);
	if (!at)
		return -ENOMEM;
	for (int i = 0; i < DWO_SECTIONS && !err; i++) {
		if (!parts[i].len || !f->sections[i].is_there)
			continue;
		if (f->sections[i].header.sh_flags & SHF_COMPRESSED)
			err = read_section(f, i, MAX_SECTION_BYTES);
		if (!err && !read_part(f, i, parts[i], at))
			err = -ENOENT;
		ret_sections[i] = (struct dwo_bytes){at, parts[i].len};
		at += parts[i].len;
	}
	if (err) {
		free(*ret_owned);
		*ret_owned = NULL;
	}
	return err;
}

int dwo_file_read_unit(struct dwo_file *f, uint64_t id, struct dwo_bytes ret_sections[DWO_SECTIONS],
		       uint8_t **ret_owned)
{
	struct part parts[DWO_SECTIONS] = {0};
	struct index index;
	uint32_t row;
	int err = read_section(f, INDEX, MAX_INDEX_BYTES);

	if (err)
		return err;
	if (!read_index(&f->sections[INDEX], &index) || !find_row(&index, id, &row))
		return -ENOENT;
	find_parts(&index, row, parts);
	err = read_section(f, DWO_STR, MAX_SECTION_BYTES);
	if (err)
		return err;
	memset(ret_sections, 0, DWO_SECTIONS * sizeof(*ret_sections));
	err = read_parts(f, parts, ret_sections, ret_owned);
	if (!err)
		ret_sections[DWO_STR] =
			(struct dwo_bytes){f->sections[DWO_STR].bytes, f->sections[DWO_STR].len};
	return err;
}
