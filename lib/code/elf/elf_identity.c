/* SPDX-License-Identifier: MIT */
/*
 * Computes what distinguishes an ELF file from others; see elf_file.h.
 *
 *   build-id    from the PT_NOTE headers, else from the SHT_NOTE sections
 *   id          from the build-id; without one, from the program headers, the size, and the bytes
 *               at the start and the end
 *   layout      from the PT_LOAD headers
 */
#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "elf/elf_file_state.h"
#include "elf/elf_note.h"

/* Real files have under 1 KiB of notes. */
#define MAX_NOTE_BYTES	  (1024 * 1024)
#define MAX_NOTE_SECTIONS 4096
#define HASHED_BYTES	  (64 * 1024)

/* --- build-id ------------------------------------------------------------------------------ */

/* Searches the notes at an offset of the file for the build-id. Returns 1 if it was found, 0 if
 * not, or -ENOMEM. */
static int load_notes(struct elf_file *file, uint64_t offset, uint64_t len)
{
	uint8_t *bytes;
	int64_t n;

	if (len > file->note_bytes_left)
		len = file->note_bytes_left;
	if (offset >= file->size)
		return 0;
	if (len > file->size - offset)
		len = file->size - offset;
	if (len < sizeof(Elf64_Nhdr))
		return 0;
	bytes = malloc(len);
	if (!bytes)
		return -ENOMEM;
	n = elf_file_read(file, offset, bytes, len);
	file->note_bytes_left -= len;
	if (n > 0)
		file->build_id_len = elf_note_build_id(bytes, (size_t)n, file->build_id);
	free(bytes);
	return file->build_id_len > 0;
}

static int load_build_id_from_headers(struct elf_file *file)
{
	int found = 0;

	for (size_t i = 0; !found && i < file->header.e_phnum; i++) {
		const Elf64_Phdr *p = &file->program_headers[i];

		if (p->p_type == PT_NOTE)
			found = load_notes(file, p->p_offset, p->p_filesz);
	}
	return found;
}

static int load_build_id_from_sections(struct elf_file *file)
{
	Elf_Scn *scn = NULL;
	size_t n = 0;
	int found = 0;

	while (!found && n++ < MAX_NOTE_SECTIONS && (scn = elf_nextscn(file->libelf, scn))) {
		GElf_Shdr shdr;

		if (gelf_getshdr(scn, &shdr) && shdr.sh_type == SHT_NOTE)
			found = load_notes(file, shdr.sh_offset, shdr.sh_size);
	}
	return found;
}

static int load_build_id(struct elf_file *file)
{
	int found;

	file->note_bytes_left = MAX_NOTE_BYTES;
	found = load_build_id_from_headers(file);
	if (!found)
		found = load_build_id_from_sections(file);
	return found < 0 ? found : 0;
}

/* --- file id ------------------------------------------------------------------------------- */

uint64_t elf_file_id_from_build_id(const uint8_t *build_id, size_t len)
{
	uint64_t id = 0;

	for (size_t i = 0; i < 8; i++)
		id = id << 8 | (i < len ? build_id[i] : 0);
	return id ? id : 1;
}

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;

	for (; len >= 8; at += 8, len -= 8) {
		uint64_t word;

		memcpy(&word, at, 8);
		hash = hash_mix64(hash + word);
	}
	for (; len; at++, len--)
		hash = hash_mix64(hash + *at);
	return hash;
}

static int hash_content(struct elf_file *file, uint64_t *ret_hash)
{
	uint64_t last = file->size > HASHED_BYTES ? file->size - HASHED_BYTES : 0;
	uint64_t hash = hash_mix64(file->size);
	uint8_t *bytes = malloc(HASHED_BYTES);
	int64_t n;

	if (!bytes)
		return -ENOMEM;
	n = elf_file_read(file, 0, bytes, HASHED_BYTES);
	if (n >= 0) {
		hash = hash_bytes(hash, bytes, (size_t)n);
		n = elf_file_read(file, last, bytes, HASHED_BYTES);
	}
	if (n >= 0)
		hash = hash_bytes(hash, bytes, (size_t)n);
	free(bytes);
	if (n < 0)
		return (int)n;
	*ret_hash = hash_bytes(hash, file->program_headers,
			       file->header.e_phnum * sizeof(*file->program_headers));
	return 0;
}

static int load_id(struct elf_file *file)
{
	int err;

	if (file->build_id_len) {
		file->id = elf_file_id_from_build_id(file->build_id, file->build_id_len);
		return 0;
	}
	err = hash_content(file, &file->id);
	if (!err && !file->id)
		file->id = 1;
	return err;
}

/* Hashes numbers, not structures, so that the result does not depend on how a structure is laid
 * out. */
uint64_t elf_file_layout(const struct elf_file *file)
{
	uint64_t hash = 0;

	for (size_t i = 0; file->program_headers && i < file->header.e_phnum; i++) {
		const Elf64_Phdr *p = &file->program_headers[i];
		const uint64_t numbers[] = {p->p_offset, p->p_vaddr, p->p_filesz, p->p_memsz,
					    p->p_flags};

		if (p->p_type == PT_LOAD)
			hash = hash_bytes(hash, numbers, sizeof(numbers));
	}
	return file->program_headers && !hash ? 1 : hash;
}

uint64_t elf_file_identity(const struct elf_file *file)
{
	uint64_t hash = hash_mix64(file->id + hash_mix64(elf_file_layout(file)));

	return hash_bytes(hash, file->build_id, file->build_id_len);
}

static bool has_code_at(const struct elf_file *file, uint64_t vaddr, uint64_t size)
{
	for (size_t i = 0; i < file->header.e_phnum; i++) {
		const Elf64_Phdr *p = &file->program_headers[i];

		if (p->p_type == PT_LOAD && p->p_flags & PF_X && p->p_vaddr == vaddr &&
		    p->p_memsz == size)
			return true;
	}
	return false;
}

bool elf_file_has_layout_of(const struct elf_file *file, const struct elf_file *debug)
{
	for (size_t i = 0; i < debug->header.e_phnum; i++) {
		const Elf64_Phdr *p = &debug->program_headers[i];

		if (p->p_type == PT_LOAD && p->p_flags & PF_X &&
		    !has_code_at(file, p->p_vaddr, p->p_memsz))
			return false;
	}
	return true;
}

const uint8_t *elf_file_build_id(const struct elf_file *file, size_t *ret_len)
{
	*ret_len = file->build_id_len;
	return file->build_id_len ? file->build_id : NULL;
}

uint64_t elf_file_id(const struct elf_file *file)
{
	return file->id;
}

int elf_identity_load(struct elf_file *file)
{
	int err = load_build_id(file);

	return err ? err : load_id(file);
}
