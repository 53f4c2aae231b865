/* SPDX-License-Identifier: MIT */
/* A file's code, read in large pieces by callers that look at one function after the other. */
#ifndef UNWIND_CODE_WINDOW_H
#define UNWIND_CODE_WINDOW_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "elf/elf_file.h"

#define CODE_WINDOW_BYTES (256u * 1024) /* limit of what is asked for at once */

struct code_window {
	const struct elf_file *elf; /* borrowed */
	uint8_t *bytes;		    /* owned: of these `len` are read, from offset `first` on */
	uint64_t first, len;
};

/* Returns 0 or -ENOMEM. The caller frees *ret with code_window_fini() in either case. */
static inline int code_window_init(struct code_window *ret, const struct elf_file *elf)
{
	*ret = (struct code_window){.elf = elf, .bytes = malloc(CODE_WINDOW_BYTES)};
	return ret->bytes ? 0 : -ENOMEM;
}

/* Frees the bytes; a zeroed window is fine. */
static inline void code_window_fini(struct code_window *window)
{
	free(window->bytes);
	window->bytes = NULL;
}

/* Returns the code at a file offset, and in *ret_len how much of the `len` bytes there is. The code
 * is valid until the next call. */
static inline const uint8_t *code_window_at(struct code_window *window, uint64_t offset, size_t len,
					    size_t *ret_len)
{
	uint64_t left;
	int64_t got;

	if (offset < window->first || offset + len > window->first + window->len) {
		got = elf_file_read(window->elf, offset, window->bytes, CODE_WINDOW_BYTES);
		window->first = offset;
		window->len = got > 0 ? (uint64_t)got : 0;
	}
	left = window->first + window->len - offset;
	*ret_len = left < len ? (size_t)left : len;
	return window->bytes + (offset - window->first);
}

#endif
