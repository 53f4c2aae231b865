/* SPDX-License-Identifier: MIT */
/* ELF notes: finding the GNU build-id in the bytes of a note segment, section or sysfs file. */
#ifndef ELF_ELF_NOTE_H
#define ELF_ELF_NOTE_H

#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"

/* Copies the build-id that stands in `notes` to `ret_id` and returns its length, 1 to
 * ELF_BUILD_ID_MAX; 0 and nothing copied if there is none. Trusts nothing in the bytes. */
size_t elf_note_build_id(const void *notes, size_t len, uint8_t ret_id[ELF_BUILD_ID_MAX]);

#endif
