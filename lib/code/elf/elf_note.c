/* SPDX-License-Identifier: MIT */
/*
 * Notes: a header, a name and a descriptor, each padded; see elf_note.h.
 *
 * The padding is 4 bytes in nearly all files and 8 in some PT_NOTEs with property notes, and some
 * files contradict their own alignment field; so 4 is tried first, then 8.
 */
#include "elf/elf_note.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

static size_t align_up(size_t n, size_t align)
{
	return (n + align - 1) & ~(align - 1);
}

/* Returns whether a note is a build-id. One that is longer than the kernel's limit is none, as for
 * the kernel, since the id that is computed from the file must be the same as that in the kernel's
 * mmap records. */
static bool is_build_id(const Elf64_Nhdr *note, const uint8_t *name)
{
	return note->n_type == NT_GNU_BUILD_ID && note->n_namesz == sizeof(ELF_NOTE_GNU) &&
	       !memcmp(name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) && note->n_descsz > 0 &&
	       note->n_descsz <= ELF_BUILD_ID_MAX;
}

static size_t find(const uint8_t *bytes, size_t len, size_t align, uint8_t *ret_id)
{
	while (len >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		size_t desc, next;

		memcpy(&note, bytes, sizeof(note));
		if (note.n_namesz > len || note.n_descsz > len)
			return 0;
		desc = align_up(sizeof(note) + note.n_namesz, align);
		if (desc > len || note.n_descsz > len - desc)
			return 0;
		if (is_build_id(&note, bytes + sizeof(note))) {
			memcpy(ret_id, bytes + desc, note.n_descsz);
			return note.n_descsz;
		}
		next = align_up(desc + note.n_descsz, align);
		if (next > len)
			return 0;
		bytes += next;
		len -= next;
	}
	return 0;
}

size_t elf_note_build_id(const void *notes, size_t len, uint8_t ret_id[ELF_BUILD_ID_MAX])
{
	size_t found = find(notes, len, 4, ret_id);

	return found ? found : find(notes, len, 8, ret_id);
}
