/* SPDX-License-Identifier: MIT */
/*
 * An ELF file in memory whose sections are empty in the file. In libelf's handle, the data of the
 * sections refer to the parts, which are not copied. See dwarf_image.h.
 *
 *   file header | section headers: none, the parts, names | names
 */
#include "sym/dwarf_image.h"

#include <elf.h>
#include <errno.h>
#include <libelf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "arch/target.h"

#define NAME_BYTES 32

struct layout {
	Elf64_Ehdr header;
	Elf64_Shdr sections[DWARF_IMAGE_PARTS + 2];
	char names[DWARF_IMAGE_PARTS + 1][NAME_BYTES]; /* the first one is empty */
};

struct dwarf_image {
	struct layout file;
	Elf *elf;
	Dwarf *dwarf;
};

static Elf64_Shdr empty_section(size_t name)
{
	return (Elf64_Shdr){
		.sh_name = (Elf64_Word)name,
		.sh_type = SHT_PROGBITS,
		.sh_offset = offsetof(struct layout, names),
		.sh_addralign = 1,
	};
}

static void make_file(struct layout *file, const struct dwarf_part *parts, size_t n)
{
	static const Elf64_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_REL,
		.e_version = EV_CURRENT,
		.e_shoff = offsetof(struct layout, sections),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = DWARF_IMAGE_PARTS + 2,
		.e_shstrndx = DWARF_IMAGE_PARTS + 1,
	};

	file->header = header;
	file->header.e_machine = target_elf_machine;
	for (size_t i = 0; i < DWARF_IMAGE_PARTS; i++) {
		file->sections[i + 1] = empty_section(i < n ? NAME_BYTES * (i + 1) : 0);
		if (i < n)
			strncpy(file->names[i + 1], parts[i].name, NAME_BYTES - 1);
	}
	file->sections[DWARF_IMAGE_PARTS + 1] = empty_section(0);
	file->sections[DWARF_IMAGE_PARTS + 1].sh_type = SHT_STRTAB;
	file->sections[DWARF_IMAGE_PARTS + 1].sh_size = sizeof(file->names);
}

static int fill(struct dwarf_image *image, const struct dwarf_part *parts, size_t n)
{
	elf_version(EV_CURRENT);
	image->elf = elf_memory((char *)&image->file, sizeof(image->file));
	if (!image->elf)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		Elf_Scn *scn = elf_getscn(image->elf, i + 1);
		Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;

		if (!data)
			return -ENOENT;
		data->d_buf = (void *)(uintptr_t)parts[i].at;
		data->d_size = parts[i].at ? parts[i].len : 0;
		data->d_type = ELF_T_BYTE;
	}
	image->dwarf = dwarf_begin_elf(image->elf, DWARF_C_READ, NULL);
	return image->dwarf ? 0 : -ENOENT;
}

int dwarf_image_new(const struct dwarf_part *parts, size_t n, struct dwarf_image **ret_image)
{
	struct dwarf_image *image = calloc(1, sizeof(*image));
	int err;

	if (!image)
		return -ENOMEM;
	if (n > DWARF_IMAGE_PARTS)
		n = DWARF_IMAGE_PARTS;
	make_file(&image->file, parts, n);
	err = fill(image, parts, n);
	if (err)
		dwarf_image_free(image);
	else
		*ret_image = image;
	return err;
}

void dwarf_image_free(struct dwarf_image *image)
{
	if (!image)
		return;
	dwarf_end(image->dwarf);
	elf_end(image->elf);
	free(image);
}

Dwarf *dwarf_image_dwarf(const struct dwarf_image *image)
{
	return image->dwarf;
}
