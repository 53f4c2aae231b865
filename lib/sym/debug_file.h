/* SPDX-License-Identifier: MIT */
/* Finds the separate debug file of an object, and proves that it belongs to it. */
#ifndef SYM_DEBUG_FILE_H
#define SYM_DEBUG_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"
#include "sym/debuginfod.h"

/* The debug file of `file`: by build-id under `root`, by the name in .gnu_debuglink beside `path`
 * and under `root`, then from debuginfod. It is accepted only if its build-id, or for want of one
 * its checksum, matches. `root`, `path` and `debuginfod` may be NULL. 0, the caller owns it;
 * -ENOENT, -ENOMEM. */
int debug_file_open(const struct elf_file *file, const char *root, const char *path,
		    struct debuginfod *debuginfod, struct elf_file **ret_debug);

/* The file that several debug files share: .gnu_debugaltlink holds its name and build-id. 0, the
 * caller owns the handle and the descriptor under it; -ENOENT, -ENOMEM. */
int debug_file_open_shared(const char *root, const char *name, const uint8_t *build_id, size_t len,
			   int *ret_fd, Elf **ret_elf);

#endif
