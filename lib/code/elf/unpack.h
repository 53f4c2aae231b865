/* SPDX-License-Identifier: MIT */
/* Unpacks compressed parts of ELF files, into bounded memory. */
#ifndef ELF_UNPACK_H
#define ELF_UNPACK_H

#include <stddef.h>
#include <stdint.h>

/* Unpacks a whole .xz file. Returns 0, and the caller frees *ret_bytes; -EBADMSG: the bytes are no
 * .xz file, or damaged; -E2BIG: unpacked, they are more than `most` bytes; -ENOMEM. */
int unpack_xz(const void *packed, size_t len, size_t most, uint8_t **ret_bytes, size_t *ret_len);

/* Unpacks a section with SHF_COMPRESSED, which begins with an Elf64_Chdr. It supports zlib and
 * zstd, even if libelf was built without zstd. Returns as unpack_xz(). */
int unpack_section(const void *packed, size_t len, size_t most, uint8_t **ret_bytes,
		   size_t *ret_len);

#endif
