/* SPDX-License-Identifier: MIT */
/*
 * Reads the sections .btloc and .btedge of a file that was compiled with the plugin: its functions
 * and their calls. docs/TAGS.md defines them. The file is not trusted; all reads are bounded.
 */
#ifndef CALLGRAPH_PLUGIN_SECTIONS_H
#define CALLGRAPH_PLUGIN_SECTIONS_H

#include "elf/elf_file.h"

enum plugin_function_flags {
	PLUGIN_FUNCTION_LOCAL = 1,
	PLUGIN_FUNCTION_LEFT_OUT = 2, /* never a link of a tag's chain, but its callees are */
	PLUGIN_FUNCTION_ROOT = 4,     /* begins a tag's chain, even if it is called */
	PLUGIN_FUNCTION_VIRTUAL = 8,
	PLUGIN_FUNCTION_PUBLIC = 16, /* other files may call it */
};

enum plugin_edge_flags {
	PLUGIN_EDGE_TAIL = 1,	  /* a tail call: the callee's frame replaces the caller's */
	PLUGIN_EDGE_INDIRECT = 2, /* `callee` is a shape (struct plugin_function), not an id */
	PLUGIN_EDGE_TAKEN = 4,	  /* the callee's address is taken; there is no caller */
	PLUGIN_EDGE_METHOD = 8,	  /* called through an object */
};

struct plugin_function {
	uint64_t id;
	uint64_t vaddr; /* of its first instruction */
	uint64_t shape; /* hash of the classes of its arguments and of its result; 0: not known */
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
	size_t n_skipped; /* records of unknown versions */
	uint8_t *names;	  /* holds the names of the functions */
};

#define PLUGIN_SECTIONS_MAX_BYTES ((uint64_t)512 * 1024 * 1024)

/* A defect of a section, for a message. The strings are static. */
struct plugin_sections_fault {
	const char *section; /* ".btloc" or ".btedge" */
	const char *what;    /* "a record extends beyond its end" */
	uint64_t offset;     /* in the section */
};

/* Reads both sections of a file. The caller releases them with plugin_sections_release(). Returns
 * 0; -ENODATA: the file has no .btloc, so it is not instrumented; -EBADMSG: see *ret_fault;
 * -ENOMEM; -EIO. */
int plugin_sections_read(const struct elf_file *file, struct plugin_sections *ret_sections,
			 struct plugin_sections_fault *ret_fault);

/* Like plugin_sections_read(), for bytes that the caller has read: those of the section .btloc, and
 * of .btedge. What is needed of them is copied. */
int plugin_sections_parse(const uint8_t *btloc, size_t btloc_len, const uint8_t *btedge,
			  size_t btedge_len, struct plugin_sections *ret_sections,
			  struct plugin_sections_fault *ret_fault);

void plugin_sections_release(struct plugin_sections *sections); /* frees and zeroes the contents */

/* Returns the id of a global function from its linkage name: H() of docs/TAGS.md. */
uint64_t plugin_sections_id(const char *name);

#endif
