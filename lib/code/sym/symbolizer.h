/* SPDX-License-Identifier: MIT */
/*
 * Names of code: functions, inlined functions and source lines of an ELF object.
 *
 * Sources, best first: the object's own .symtab and DWARF, those of its separate debug file
 * (/usr/lib/debug/.build-id/xx/yyyy.debug, .gnu_debuglink, then debuginfod if DEBUGINFOD_URLS is
 * set and the library is installed), the symbols that are packed into it (.gnu_debugdata), .dynsym;
 * for Go programs the runtime's own table. A symbol names only addresses within its size (or, for
 * sizeless symbols, up to the next symbol of the section). An address that no symbol covers stays
 * unnamed, and never gets the name of the symbol before it.
 *
 * Not thread-safe: one symbolizer for one thread.
 */
#ifndef SYM_SYMBOLIZER_H
#define SYM_SYMBOLIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "elf/elf_file.h"

struct debug_source;
struct symbolizer;
struct symbolizer_object;

struct symbolizer_options {
	const char *debug_root;		  /* "/usr/lib/debug"; NULL: no separate debug files */
	const struct debug_source *files; /* copied: opens files; NULL: this process does */
	bool use_debuginfod;		  /* if DEBUGINFOD_URLS is set */
	bool with_lines;		  /* inline frames and source lines */
	size_t most_bytes; /* no lines for an object whose tables would take more bytes; 0: no
			    * limit */
};

/* One function at a location. Strings are valid as long as the symbolizer_object; with a limit,
 * until the next query about it. */
struct symbolizer_frame {
	const char *function; /* linkage name as in the symbol table, or a DWARF name; the readable
			       * name if it is known to be Ada's; NULL: none */
	uint64_t start;	      /* file offset where the function starts; 0 if not known */
	const char *file;     /* source file, or NULL */
	uint32_t line;	      /* 0: not known */
	bool is_inlined;      /* inlined into the next frame of the answer */
};

/* The options are copied, debug_root included. Returns 0 or -ENOMEM. */
int symbolizer_new(const struct symbolizer_options *options, struct symbolizer **ret_sym);
void symbolizer_free(struct symbolizer *sym); /* and its objects */

/* Limits the line tables of objects that are opened from now on to about this many bytes each,
 * besides those of the current compilation unit. Then query in order of offset, since a dropped
 * table is read again. 0, the default: no limit. */
void symbolizer_limit(struct symbolizer *sym, size_t line_bytes);

/* Prepares an object. `file` is borrowed until the symbolizer is freed, and used only by this
 * thread. `path` (for .gnu_debuglink) is copied. Returns 0 (also for an object without any symbols)
 * or -ENOMEM. */
int symbolizer_object_new(struct symbolizer *sym, struct elf_file *file, const char *path,
			  struct symbolizer_object **ret_object);

/* Call it before its symbolizer is freed; the file is not needed after that. NULL is fine. */
void symbolizer_object_free(struct symbolizer_object *object);

/* Returns the approximate number of bytes of memory that an object's tables take; 0 before the
 * first query. */
size_t symbolizer_object_bytes(const struct symbolizer_object *object);

/* Gives the bytes that the next query will read: 0 if the tables are loaded. Returns 0 or
 * -ENOMEM. */
int symbolizer_object_unread(struct symbolizer_object *object, size_t *ret_bytes);

/* Returns whether the object's line tables exceed the limit, so that it should be queried in order
 * of offset. */
bool symbolizer_object_wants_order(struct symbolizer_object *object);

/* Finds the functions at a file offset, the innermost inlined one first, the enclosing one last.
 * Writes at most `max` and returns their number (0: nothing is known), or -ENOMEM. */
int symbolizer_resolve(struct symbolizer_object *object, uint64_t offset,
		       struct symbolizer_frame *ret_frames, size_t max);

/* Appends the name of a debug file that was missing for the answers so far: "main.dwo", "its dwz
 * file NAME", or the separate debug file that the object names. Returns false if none is missing,
 * or its name is not known. */
bool symbolizer_object_missing(const struct symbolizer_object *object, struct buf *text);

/* Finds only the start of the function at a file offset, from unwind information, which is quick;
 * for a frame without a name. Returns 1, 0 (it is not known) or -ENOMEM. */
int symbolizer_start(struct symbolizer_object *object, uint64_t offset,
		     struct symbolizer_frame *ret_frame);

#endif
