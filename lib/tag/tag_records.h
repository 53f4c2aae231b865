/* SPDX-License-Identifier: MIT */
/*
 * The sections .btloc and .btedge of instrumented files (docs/TAGS.md), read.
 *
 * The bytes are a file's, which anybody can have written: a section that does not add up is
 * refused as a whole, and a record of another version is skipped.
 */
#ifndef TAG_TAG_RECORDS_H
#define TAG_TAG_RECORDS_H

#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"

enum tag_loc_flags {
	TAG_LOC_LOCAL = 1,    /* the id depends on the source file's name, too */
	TAG_LOC_LEFT_OUT = 2, /* never enters a tag */
	TAG_LOC_ROOT = 4,     /* chains to 0, whoever called it */
	TAG_LOC_VIRTUAL = 8,
	TAG_LOC_PUBLIC = 16, /* may be called from other files */
};

enum tag_edge_flags {
	TAG_EDGE_TAIL = 1,
	TAG_EDGE_INDIRECT = 2, /* callee is a shape */
	TAG_EDGE_TAKEN = 4,    /* the callee's address is taken; the caller is 0 */
	TAG_EDGE_METHOD = 8,
};

/* A function. The names live as long as the section's bytes. */
struct tag_loc {
	uint64_t id;
	uint64_t vaddr; /* where it starts */
	uint64_t shape; /* 0: not known */
	uint16_t flags;
	const char *name, *file;
};

struct tag_edge {
	uint64_t caller, callee;
	uint16_t flags;
};

/* Calls `each` for every record; a non-zero return stops and is passed on. 0; -EBADMSG: the
 * section is cut short or says sizes that cannot be (`each` was called for what stands before). */
int tag_records_locs(const void *bytes, size_t len,
		     int (*each)(void *arg, const struct tag_loc *loc), void *arg);
int tag_records_edges(const void *bytes, size_t len,
		      int (*each)(void *arg, const struct tag_edge *edge), void *arg);

/* The bytes of a file's section, which live as long as the file. 0; -ENOENT: it has no such
 * section; -EBADMSG: it has, and it cannot be read. */
int tag_records_section(const struct elf_file *file, const char *name, const void **ret_bytes,
			size_t *ret_len);

#endif
