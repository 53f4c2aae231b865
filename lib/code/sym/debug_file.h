/* SPDX-License-Identifier: MIT */
/* Finds the separate debug file of an object, and checks that it belongs to the object. */
#ifndef SYM_DEBUG_FILE_H
#define SYM_DEBUG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "elf/elf_file.h"
#include "sym/debuginfod.h"

/* Where debug files are searched; all zero: nowhere. */
struct debug_source {
	const char *root; /* "/usr/lib/debug"; NULL: no search by build-id, and none below this
			   * folder */
	struct debuginfod *debuginfod; /* NULL: not over the network */

	/* For a process that cannot open files: these functions ask another process to open them.
	 * Each returns a descriptor, which the caller owns, or -errno. NULL: this process opens
	 * files itself (named_file_open()), and uses `debuginfod`. */
	int (*open)(void *arg, const char *path);
	int (*fetch)(void *arg);
	void *arg;
};

/* Finds the debug file of `file`: by build-id, by the name in .gnu_debuglink beside `path` and
 * under the root, then from debuginfod. Accepts it only if its build-id matches, or its checksum if
 * the object has no build-id. If none is found, uses the symbols that are packed into `file` itself
 * (.gnu_debugdata). `path` may be NULL. Returns 0, and the caller owns *ret_debug; -ENOENT: there
 * is none; -ENOMEM. */
int debug_file_open(const struct elf_file *file, const struct debug_source *source,
		    const char *path, struct elf_file **ret_debug);

/* Opens the dwz file, which several debug files share. .gnu_debugaltlink has its name, which may be
 * relative to the file at `path` (NULL: not known), and its build-id. Returns 0, and the caller
 * owns the handle and its descriptor; -ENOENT; -ENOMEM. */
int debug_file_open_shared(const struct debug_source *source, const char *name, const char *path,
			   const uint8_t *build_id, size_t len, int *ret_fd, Elf **ret_elf);

/* Appends the name of the separate debug file that is in .gnu_debuglink. Returns false if there is
 * none. */
bool debug_file_name(const struct elf_file *file, struct buf *text);

/* Opens a debug file by its path: through source->open if there is one, else by
 * named_file_open(). Returns the descriptor, or -errno. */
int debug_source_open(const struct debug_source *source, const char *path);

#endif
