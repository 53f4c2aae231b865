/* SPDX-License-Identifier: MIT */
/*
 * Decompresses sections for libelf; see elf_sections.h.
 *
 * In many distributions libelf has no zstd support, although binutils compresses with it. So this
 * module decompresses a section into its own memory, and makes libelf's handle refer to that
 * memory: it removes SHF_COMPRESSED from the section's header, and replaces its data. libdw then
 * treats the section as if it had never been compressed.
 *
 * .gnu_debugdata is a whole ELF file, compressed by xz, with the symbols that a stripped program
 * has lost. Its unpacked size is bounded, since a file of kilobytes can unpack to gigabytes: the
 * largest in distributions (of web browsers) have some 20 MiB.
 */
#include "elf/elf_sections.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "elf/elf_file_state.h"
#include "elf/unpack.h"

#define MAX_SECTION_BYTES ((size_t)1 << 30)
#define MAX_PACKED_BYTES  ((size_t)128 << 20)

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

static Elf_Scn *find_section(Elf *elf, const char *wanted)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr shdr;
		const char *name;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, shdr.sh_name);
		if (name && !strcmp(name, wanted))
			return scn;
	}
	return NULL;
}

Elf_Data *elf_sections_data(Elf *elf, const char *name)
{
	Elf_Scn *scn = find_section(elf, name);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;

	return data && data->d_buf && data->d_size ? data : NULL;
}

/* --- zstd ------------------------------------------------------------------------------------ */

/* Returns whether a section is to be decompressed. Sections that are never read (locations of
 * variables, macros, indexes) are not, which saves memory. */
static bool is_wanted(const char *name)
{
	static const char *const names[] = {"info",	   "types",   "abbrev",	  "addr",
					    "line",	   "str",     "line_str", "ranges",
					    "str_offsets", "rnglists"};

	if (!name || strncmp(name, ".debug_", 7) != 0)
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name + 7, names[i]))
			return true;
	return false;
}

static bool is_zstd(const Elf_Data *raw)
{
	Elf64_Chdr header;

	if (!raw || !raw->d_buf || raw->d_size < sizeof(header))
		return false;
	memcpy(&header, raw->d_buf, sizeof(header));
	return header.ch_type == ELFCOMPRESS_ZSTD;
}

static int expand(Elf_Scn *scn, GElf_Shdr *shdr, struct elf_sections_owned *owned)
{
	Elf_Data *raw = elf_rawdata(scn, NULL), *data;
	uint8_t *bytes;
	size_t len;
	int err;

	if (!is_zstd(raw))
		return 0;
	if (VEC_GROW(owned->bytes, owned->cap, owned->n + 1) < 0)
		return -ENOMEM;
	err = unpack_section(raw->d_buf, raw->d_size, MAX_SECTION_BYTES, &bytes, &len);
	if (err)
		return err == -ENOMEM ? err : 0;
	owned->bytes[owned->n++] = bytes;
	data = elf_getdata(scn, NULL);
	shdr->sh_flags &= ~(GElf_Xword)SHF_COMPRESSED;
	shdr->sh_size = len;
	if (data && gelf_update_shdr(scn, shdr)) {
		data->d_buf = bytes;
		data->d_size = len;
		data->d_type = ELF_T_BYTE;
	}
	return 0;
}

/* Decompresses the DWARF sections that are compressed by zstd, as libdw does for other
 * compressions, whether libelf supports zstd or not. Sections that are damaged or too large stay as
 * they are, and libdw ignores them. Returns 0 or -ENOMEM. Free `owned` after the handle. */
static int expand_all(Elf *elf, struct elf_sections_owned *owned)
{
	Elf_Scn *scn = NULL;
	size_t names;
	int err = 0;

	if (elf_getshdrstrndx(elf, &names))
		return 0;
	while (!err && (scn = elf_nextscn(elf, scn))) {
		GElf_Shdr shdr;

		if (gelf_getshdr(scn, &shdr) && shdr.sh_type != SHT_NOBITS &&
		    (shdr.sh_flags & SHF_COMPRESSED) &&
		    is_wanted(elf_strptr(elf, names, shdr.sh_name)))
			err = expand(scn, &shdr, owned);
	}
	return err;
}

int elf_file_expand(const struct elf_file *file)
{
	return file->libelf ? expand_all(file->libelf, (struct elf_sections_owned *)&file->expanded)
			    : 0;
}

uint64_t elf_file_section_bytes(const struct elf_file *file, const Elf64_Shdr *section)
{
	Elf64_Chdr header;

	if (section->sh_flags & SHF_COMPRESSED &&
	    elf_file_read_whole(file, section->sh_offset, &header, sizeof(header)))
		return header.ch_size;
	return section->sh_size;
}

/* --- packed symbols -------------------------------------------------------------------------- */

int elf_file_open_packed(const struct elf_file *file, struct elf_file **ret_file)
{
	Elf_Data *data = file->libelf ? elf_sections_data(file->libelf, ".gnu_debugdata") : NULL;
	uint8_t *bytes;
	size_t len;
	int err;

	if (!data)
		return -ENOENT;
	err = unpack_xz(data->d_buf, data->d_size, MAX_PACKED_BYTES, &bytes, &len);
	if (!err) {
		err = elf_file_open_memory(bytes, len, ret_file);
		free(bytes);
	}
	return !err || err == -ENOMEM ? err : -ENOENT;
}
