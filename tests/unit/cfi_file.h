/* SPDX-License-Identifier: MIT */
/* Call frame sections made by hand, and a file around one. The file is at 0x400000. */
#ifndef TESTS_CFI_FILE_H
#define TESTS_CFI_FILE_H

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_file.h"

/* --- sections made by hand ----------------------------------------------------------------- */

struct bytes {
	uint8_t data[1024];
	size_t len;
};

static inline void put(struct bytes *b, const void *data, size_t len)
{
	assert_true(b->len + len <= sizeof(b->data));
	memcpy(b->data + b->len, data, len);
	b->len += len;
}

static inline void put32(struct bytes *b, uint32_t v)
{
	put(b, &v, 4);
}

/* An entry: id, then the body, padded with nops to a multiple of 8. Returns where it is. */
static inline size_t put_entry(struct bytes *b, uint32_t id, const void *body, size_t len)
{
	static const uint8_t nops[8];
	size_t at = b->len, padded = (len + 7) & ~(size_t)7;

	put32(b, (uint32_t)padded + 4);
	put32(b, id);
	put(b, body, len);
	put(b, nops, padded - len);
	return at;
}

/* version 1, "zR", code 1, data -8, column 16, pcrel sdata4; CFA = rsp + 8, ra at CFA - 8 */
static const uint8_t good_cie[] = {1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1};

static inline size_t put_fde(struct bytes *b, size_t cie, const void *program, size_t len)
{
	uint8_t body[512] = {0};
	int32_t start = 0x100;

	memcpy(body, &start, 4);	      /* 0x100 above this field */
	memcpy(body + 4, &(uint32_t){16}, 4); /* bytes of code */
	memcpy(body + 9, program, len);	      /* after an empty augmentation */
	return put_entry(b, (uint32_t)(b->len + 4 - cie), body, 9 + len);
}

/* --- a file made by hand ------------------------------------------------------------------- */

struct file_image {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr;
	Elf64_Shdr shdr[3];
	char names[64];
	uint8_t data[1024];
};

#define FILE_DATA_OFFSET offsetof(struct file_image, data)

/* An ELF file at 0x400000 with one segment and one section of the given name and content, whose
 * first byte is the entry. */
static inline struct elf_file *make_file(const char *name, uint64_t flags, const void *data,
					 size_t len)
{
	struct file_image image = {
		.ehdr = {.e_ident = ELFMAG "\2\1\1",
			 .e_type = ET_EXEC,
			 .e_machine = EM_X86_64,
			 .e_version = EV_CURRENT,
			 .e_entry = 0x400000 + FILE_DATA_OFFSET,
			 .e_phoff = offsetof(struct file_image, phdr),
			 .e_shoff = offsetof(struct file_image, shdr),
			 .e_ehsize = sizeof(Elf64_Ehdr),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 1,
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = 3,
			 .e_shstrndx = 2},
		.phdr = {.p_type = PT_LOAD,
			 .p_flags = PF_R | PF_X,
			 .p_vaddr = 0x400000,
			 .p_filesz = sizeof(image),
			 .p_memsz = sizeof(image)},
	};
	struct elf_file *file = NULL;

	strcpy(image.names + 1, name);
	memcpy(image.data, data, len);
	image.shdr[1] =
		(Elf64_Shdr){.sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = FILE_DATA_OFFSET};
	image.shdr[1].sh_size = len;
	image.shdr[1].sh_flags = flags;
	if (!strcmp(name, ".eh_frame"))
		image.shdr[1].sh_addr = 0x400000 + FILE_DATA_OFFSET;
	image.shdr[2] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
				     .sh_offset = offsetof(struct file_image, names)};
	image.shdr[2].sh_size = sizeof(image.names);
	assert_int_equal(elf_file_open_memory(&image, sizeof(image), &file), 0);
	return file;
}

#endif
