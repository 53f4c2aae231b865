/* SPDX-License-Identifier: MIT */
/*
 * Recipes of an ELF file: finds its call frame sections and reads them; see recipe.h.
 *
 * .eh_frame is found by its section header, or, in a file whose section headers are stripped,
 * through PT_GNU_EH_FRAME, which every unwinder of the process itself uses: the section then is
 * what follows up to the end of its segment, and its terminator ends it. .debug_frame needs a
 * section header; it may be compressed (Go compresses it, and has no .eh_frame at all).
 *
 * Bytes are read with elf_file_read() into memory of our own, never mapped: a file that is cut
 * short under a mapping would kill us.
 */
#include "unwind/recipe.h"

#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "unwind/recipe_table.h"

#define MAX_SECTIONS 65536

/* Missing from the elf.h of Debian 12. */
#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

/* What recipe_section_compile() gets. */
struct input {
	struct recipe_section sections[2]; /* .eh_frame, .debug_frame */
	uint8_t *bytes[2];		   /* owned */
	size_t section_count;
	struct recipe_segment segments[RECIPE_MAX_SEGMENTS + 1];
	size_t segment_count;
	uint64_t refused[RECIPE_REFUSED_COUNT];
};

const char *recipe_refusal_name(enum recipe_refusal refusal)
{
	static const char *const names[] = {
#define RECIPE_X(e, name, unit, meaning) name,
		RECIPE_REFUSALS(RECIPE_X)
#undef RECIPE_X
	};
	return (size_t)refusal < RECIPE_REFUSED_COUNT ? names[refusal] : "accepted";
}

const char *recipe_refusal_unit(enum recipe_refusal refusal)
{
	enum unit { UNIT_FILE, UNIT_SECTION, UNIT_FDE, UNIT_ROW };
	static const char *const names[] = {"file", "section", "fde", "row"};
	static const uint8_t units[] = {
#define RECIPE_X(e, name, unit, meaning) UNIT_##unit,
		RECIPE_REFUSALS(RECIPE_X)
#undef RECIPE_X
	};
	return (size_t)refusal < RECIPE_REFUSED_COUNT ? names[units[refusal]] : "";
}

/* --- segments ------------------------------------------------------------------------------ */

/* All executable ones, up to one more than the limit, which then is counted. */
static void find_segments(Elf *elf, struct input *in)
{
	size_t count;

	if (elf_getphdrnum(elf, &count))
		return;
	for (size_t i = 0; i < count && in->segment_count <= RECIPE_MAX_SEGMENTS; i++) {
		GElf_Phdr p;

		if (!gelf_getphdr(elf, (int)i, &p) || p.p_type != PT_LOAD || !(p.p_flags & PF_X))
			continue;
		in->segments[in->segment_count++] = (struct recipe_segment){
			.vaddr = p.p_vaddr,
			.offset = p.p_offset,
			.size = p.p_filesz,
		};
	}
}

/* --- reading ------------------------------------------------------------------------------- */

/* Bytes of the file, all or none: *ret_bytes is NULL where the file ends before. */
static int read_bytes(const struct elf_file *file, uint64_t offset, uint64_t size,
		      uint8_t **ret_bytes)
{
	uint8_t *bytes = malloc(size ? size : 1);
	int64_t n;

	if (!bytes)
		return -ENOMEM;
	n = elf_file_read(file, offset, bytes, size);
	if (n >= 0 && (uint64_t)n == size) {
		*ret_bytes = bytes;
		return 0;
	}
	free(bytes);
	*ret_bytes = NULL;
	return n < 0 ? (int)n : 0;
}

static bool inflate_to(uint32_t type, const uint8_t *from, size_t len, uint8_t *to, size_t size)
{
	if (type == ELFCOMPRESS_ZLIB) {
		uLongf n = size;

		return uncompress(to, &n, from, len) == Z_OK && n == size;
	}
	return type == ELFCOMPRESS_ZSTD && ZSTD_decompress(to, size, from, len) == size;
}

/* Replaces `*bytes` by what they are when decompressed; by NULL if they lie. */
static int decompress(uint8_t **bytes, uint64_t *size, struct input *in)
{
	Elf64_Chdr header;
	uint8_t *from = *bytes, *to = NULL;

	*bytes = NULL;
	if (*size < sizeof(header))
		goto out;
	memcpy(&header, from, sizeof(header));
	if (header.ch_size > RECIPE_MAX_SECTION_BYTES) {
		in->refused[RECIPE_REFUSED_SECTION_SIZE]++;
		goto out;
	}
	to = malloc(header.ch_size ? header.ch_size : 1);
	if (!to) {
		free(from);
		return -ENOMEM;
	}
	if (inflate_to(header.ch_type, from + sizeof(header), *size - sizeof(header), to,
		       header.ch_size)) {
		*bytes = to;
		*size = header.ch_size;
		to = NULL;
	} else {
		in->refused[RECIPE_REFUSED_SECTION_READ]++;
	}
out:
	free(to);
	free(from);
	return 0;
}

/* Reads a section into the input; one that cannot be is counted and left out. */
static int add_section(const struct elf_file *file, const GElf_Shdr *shdr, bool is_eh_frame,
		       struct input *in)
{
	uint64_t size = shdr->sh_size;
	uint8_t *bytes;
	int r;

	if (size > RECIPE_MAX_SECTION_BYTES) {
		in->refused[RECIPE_REFUSED_SECTION_SIZE]++;
		return 0;
	}
	r = read_bytes(file, shdr->sh_offset, size, &bytes);
	if (r)
		return r;
	if (!bytes)
		in->refused[RECIPE_REFUSED_SECTION_READ]++;
	else if (shdr->sh_flags & SHF_COMPRESSED)
		r = decompress(&bytes, &size, in);
	if (r || !bytes)
		return r;
	in->bytes[in->section_count] = bytes;
	in->sections[in->section_count++] = (struct recipe_section){
		.data = bytes,
		.size = size,
		.vaddr = shdr->sh_addr,
		.is_eh_frame = is_eh_frame,
	};
	return 0;
}

/* --- finding ------------------------------------------------------------------------------- */

static bool find_section(Elf *elf, const char *name, struct input *in, GElf_Shdr *ret_shdr)
{
	uint64_t *lies = &in->refused[RECIPE_REFUSED_SECTION_HEADERS];
	Elf_Scn *scn = NULL;
	size_t names, n = 0;
	GElf_Ehdr header;

	/* libelf says that there are none where they would be out of the file. */
	if (elf_getshdrstrndx(elf, &names) || !gelf_getehdr(elf, &header) ||
	    (header.e_shoff && !elf_nextscn(elf, NULL))) {
		*lies = 1;
		return false;
	}
	while (n++ < MAX_SECTIONS && (scn = elf_nextscn(elf, scn))) {
		bool is_read = gelf_getshdr(scn, ret_shdr);
		const char *found = is_read ? elf_strptr(elf, names, ret_shdr->sh_name) : NULL;

		if (found && ret_shdr->sh_type != SHT_NOBITS && !strcmp(found, name))
			return true;
		if (!found && (!is_read || names != SHN_UNDEF))
			*lies = 1;
	}
	return false;
}

static bool find_phdr(Elf *elf, uint32_t type, uint64_t vaddr, GElf_Phdr *ret_phdr)
{
	size_t count;

	if (elf_getphdrnum(elf, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (gelf_getphdr(elf, (int)i, ret_phdr) && ret_phdr->p_type == type &&
		    vaddr - ret_phdr->p_vaddr < ret_phdr->p_filesz)
			return true;
	}
	return false;
}

/* .eh_frame without a section header; only the form that all linkers write: the pointer to it
 * is relative to itself, in 32 bits. */
static bool find_eh_frame_by_segment(const struct elf_file *file, Elf *elf, GElf_Shdr *ret_shdr)
{
	static const uint8_t version_and_encoding[] = {1, 0x1b};
	struct {
		uint8_t head[4];
		int32_t pointer;
	} header;
	GElf_Phdr p = {0}, load;
	uint64_t vaddr;
	size_t count;

	if (elf_getphdrnum(elf, &count))
		return false;
	for (size_t i = 0; i < count && p.p_type != PT_GNU_EH_FRAME; i++)
		gelf_getphdr(elf, (int)i, &p);
	if (p.p_type != PT_GNU_EH_FRAME ||
	    elf_file_read(file, p.p_offset, &header, sizeof(header)) != sizeof(header) ||
	    memcmp(header.head, version_and_encoding, sizeof(version_and_encoding)))
		return false;
	vaddr = p.p_vaddr + 4 + (uint64_t)(int64_t)header.pointer;
	if (!find_phdr(elf, PT_LOAD, vaddr, &load))
		return false;
	*ret_shdr = (GElf_Shdr){
		.sh_addr = vaddr,
		.sh_offset = load.p_offset + (vaddr - load.p_vaddr),
		.sh_size = load.p_filesz - (vaddr - load.p_vaddr),
	};
	return true;
}

static int find_sections(const struct elf_file *file, Elf *elf, struct input *in)
{
	GElf_Shdr shdr;
	int r = 0;

	if (find_section(elf, ".eh_frame", in, &shdr) || find_eh_frame_by_segment(file, elf, &shdr))
		r = add_section(file, &shdr, true, in);
	if (!r && find_section(elf, ".debug_frame", in, &shdr))
		r = add_section(file, &shdr, false, in);
	return r;
}

int recipe_compile(const struct elf_file *file, struct recipe_table **ret_table)
{
	struct input *in = calloc(1, sizeof(*in));
	Elf *elf = elf_file_libelf(file);
	struct recipe_table *table = NULL;
	int r;

	if (!in)
		return -ENOMEM;
	find_segments(elf, in);
	r = find_sections(file, elf, in);
	if (!r)
		r = recipe_section_compile_owned(in->sections, in->bytes, in->section_count,
						 in->segments, in->segment_count, &table);
	if (!r) {
		recipe_table_count_refused(table, in->refused);
		*ret_table = table;
	}
	free(in->bytes[0]);
	free(in->bytes[1]);
	free(in);
	return r;
}
