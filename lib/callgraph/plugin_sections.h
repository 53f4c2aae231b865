/* SPDX-License-Identifier: MIT */
/*
 * The sections .btloc and .btedge of an instrumented file: its functions, and who can call whom.
 * docs/TAGS.md defines them. The file is not trusted: everything is read within bounds.
 */
#ifndef CALLGRAPH_PLUGIN_SECTIONS_H
#define CALLGRAPH_PLUGIN_SECTIONS_H

#include "elf/elf_file.h"

enum plugin_function_flags {
	PLUGIN_FUNCTION_LOCAL = 1,
	PLUGIN_FUNCTION_LEFT_OUT = 2, /* never in a tag; its calls are */
	PLUGIN_FUNCTION_ROOT = 4,     /* chains to 0, whoever calls it */
	PLUGIN_FUNCTION_VIRTUAL = 8,
	PLUGIN_FUNCTION_PUBLIC = 16, /* other files may call it */
};

enum plugin_edge_flags {
	PLUGIN_EDGE_TAIL = 1,	  /* the callee takes the caller's place */
	PLUGIN_EDGE_INDIRECT = 2, /* callee is a shape */
	PLUGIN_EDGE_TAKEN = 4,	  /* the callee's address is taken; there is no caller */
	PLUGIN_EDGE_METHOD = 8,	  /* called through an object */
};

struct plugin_function {
	uint64_t id;
	uint64_t vaddr; /* where its code starts */
	uint64_t shape; /* 0: not known */
	uint32_t flags;
	const char *name, *file; /* linkage name; the end of the source file's path */
};

struct plugin_edge {
	uint64_t caller, callee; /* ids */
	uint32_t flags;
};

struct plugin_sections {
	struct plugin_function *functions;
	struct plugin_edge *edges;
	size_t n_functions, n_edges;
	size_t n_skipped; /* records of versions that are not known here */
	uint8_t *names;	  /* what the functions' names point into */
};

#define PLUGIN_SECTIONS_MAX_BYTES ((uint64_t)512 * 1024 * 1024)

/* What is wrong with a section, for a message. */
struct plugin_sections_fault {
	const char *section; /* ".btloc" or ".btedge" */
	const char *what;    /* "a record goes beyond the section's end" */
	uint64_t offset;     /* in the section */
};

/* Both sections of a file. 0; -ENODATA: it has no .btloc, so it is not instrumented; -EBADMSG, with
 * *ret_fault; -ENOMEM; -EIO. Release with plugin_sections_release(). */
int plugin_sections_read(const struct elf_file *file, struct plugin_sections *ret_sections,
			 struct plugin_sections_fault *ret_fault);

/* The same from bytes. */
int plugin_sections_parse(const uint8_t *btloc, size_t btloc_len, const uint8_t *btedge,
			  size_t btedge_len, struct plugin_sections *ret_sections,
			  struct plugin_sections_fault *ret_fault);

void plugin_sections_release(struct plugin_sections *sections); /* empties it */

/* H() of docs/TAGS.md: the id of a global function, from its linkage name. */
uint64_t plugin_sections_id(const char *name);

#endif
