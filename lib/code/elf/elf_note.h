/* SPDX-License-Identifier: MIT */
/* Finds the GNU build-id in ELF notes: the bytes of a PT_NOTE, a section or a sysfs file. */
#ifndef ELF_ELF_NOTE_H
#define ELF_ELF_NOTE_H

#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"

/* Copies the build-id in `notes` to `ret_id` and returns its length, 1 to ELF_BUILD_ID_MAX. If
 * there is none, returns 0 and copies nothing. The bytes are not trusted. */
size_t elf_note_build_id(const void *notes, size_t len, uint8_t ret_id[ELF_BUILD_ID_MAX]);

#endif
