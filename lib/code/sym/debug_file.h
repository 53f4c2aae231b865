/* SPDX-License-Identifier: MIT */
/* Finds the separate debug file of an object, and proves that it belongs to it. */
#ifndef SYM_DEBUG_FILE_H
#define SYM_DEBUG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "elf/elf_file.h"
#include "sym/debuginfod.h"

/* Where debug files are looked for. A zeroed one: nowhere. */
struct debug_source {
	const char *root;	       /* "/usr/lib/debug"; NULL: not by build-id, nor below it */
	struct debuginfod *debuginfod; /* NULL: not over the network */

	/* For a process that cannot open files: another opens them. Each returns a descriptor,
	 * which the caller owns, or -errno. NULL: open(2), and `debuginfod`. */
	int (*open)(void *arg, const char *path);
	int (*fetch)(void *arg);
	void *arg;
};

/* The debug file of `file`: by build-id, by the name in .gnu_debuglink beside `path` and under the
 * root, then from debuginfod. It is accepted only if its build-id, or for want of one its checksum,
 * matches. Last, the symbols that are packed into the file itself. `path` may be NULL. 0, the
 * caller owns it; -ENOENT, -ENOMEM. */
int debug_file_open(const struct elf_file *file, const struct debug_source *source,
		    const char *path, struct elf_file **ret_debug);

/* The file that several debug files share: .gnu_debugaltlink holds its name, which may be relative
 * to the file at `path` (NULL: not known), and its build-id. 0, the caller owns the handle and the
 * descriptor under it; -ENOENT, -ENOMEM. */
int debug_file_open_shared(const struct debug_source *source, const char *name, const char *path,
			   const uint8_t *build_id, size_t len, int *ret_fd, Elf **ret_elf);

/* Appends the name of the separate debug file that a file says it has. false: it says nothing. */
bool debug_file_name(const struct elf_file *file, struct buf *text);

/* Opens a debug file by its path: a regular file, since a pipe can block, and a device act on being
 * opened. The descriptor, or -errno. */
int debug_file_open_path(const char *path);

/* The same, by whoever opens files. */
int debug_source_open(const struct debug_source *source, const char *path);

#endif
