/* SPDX-License-Identifier: MIT */
/* The state of an ELF file: elf_file.c opens and reads it, elf_identity.c computes its identity,
 * elf_descriptor.c closes its descriptor for a while. No other module includes this. */
#ifndef ELF_ELF_FILE_STATE_H
#define ELF_ELF_FILE_STATE_H

#include "elf/elf_file.h"
#include "elf/elf_sections.h"

struct load_header;

struct elf_file {
	int fd;			/* owned; -1 for an image in memory, and while the file is closed */
	unsigned users;		/* threads that are duplicating fd */
	uint8_t *image;		/* owned; NULL for a file */
	uint64_t first;		/* offset of the image's first byte: 0 but for code of a process */
	uint64_t size;		/* bytes */
	struct elf_stamp stamp; /* zeroed for an image */
	uid_t owner;		/* 0 for an image */
	Elf *libelf;		/* owned */
	struct elf_sections_owned expanded; /* section contents that were expanded here, to which
					     * libelf refers */
	bool takes_32bit;		    /* false: a file of a 32-bit program is refused */
	Elf64_Ehdr header; /* converted to 64 bits, as are program_headers and loads; but e_ident
			    * is the original */
	Elf64_Phdr *program_headers; /* owned; header.e_phnum of them */
	struct load_header *loads;   /* owned */
	size_t n_loads;
	size_t note_bytes_left; /* of MAX_NOTE_BYTES, the bytes of notes that may still be
				 * searched for the build-id */
	uint8_t build_id[ELF_BUILD_ID_MAX];
	size_t build_id_len;
	uint64_t id;
};

/* Reads the build-id of a file whose headers are read, and computes its id. Returns 0, -ENOMEM, or
 * -errno of reading. */
int elf_identity_load(struct elf_file *file);

#endif
