/* SPDX-License-Identifier: MIT */
/*
 * What the code of an ordinary file calls: its instructions decoded, function by function.
 *
 * Functions are the entries of .eh_frame, which also stripped files have, and what has a symbol and
 * no entry. Of each, this finds its calls and the jumps that leave it: to another function, through
 * the PLT or a slot of the GOT to a name, or through a pointer. And it finds the functions whose
 * address is taken, by code or data.
 *
 * The file is not trusted: everything is bounded by CODE_SCAN_MAX_*; bytes that are no instructions
 * are skipped.
 */
#ifndef CALLGRAPH_CODE_SCAN_H
#define CALLGRAPH_CODE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"

#define CODE_SCAN_MAX_BYTES ((uint64_t)1 << 30) /* of code */
#define CODE_SCAN_MAX_CALLS (1u << 23)
#define CODE_SCAN_NONE	    UINT32_MAX

enum code_function_flags {
	CODE_TAKEN = 1,	   /* its address is stored or passed somewhere */
	CODE_CALLED = 2,   /* directly, from this file */
	CODE_PUBLIC = 4,   /* other files can name it */
	CODE_FIRST = 8,	   /* nothing called it: the entry point, where threads begin */
	CODE_MAIN = 16,	   /* the entry point takes its address */
	CODE_HOOKED = 32,  /* calls the runtime of -finstrument-functions */
	CODE_POINTER = 64, /* ends with a jump through a pointer */
};

struct code_function {
	uint64_t start, end; /* vaddrs */
	uint32_t flags;
	uint32_t part_of;    /* the function that this is a split-off part of; or itself */
	uint32_t first_call; /* its calls are those from here to the next function's */
	uint32_t name;	     /* in names: "" if not known */
};

enum code_call_kind {
	CODE_CALL_FUNCTION, /* target: number of a function */
	CODE_CALL_IMPORT,   /* target: of a name */
	CODE_CALL_POINTER,
	CODE_CALL_INLINED, /* no call: target is inlined here, by its hook's argument */
};

struct code_call {
	uint64_t last; /* vaddr of the instruction's last byte */
	uint32_t target;
	uint8_t kind;
	bool is_jump;
};

struct code_export {
	uint32_t name, function;
};

struct strings;

struct code_scan {
	uint64_t file_id;
	uint64_t hooks_id;		 /* in its place, in tags of -finstrument-functions:
					    tagged_functions_file_id() */
	struct code_function *functions; /* by start; disjoint */
	struct code_call *calls;	 /* by function, then by place */
	struct code_export *exports;
	struct strings *names;
	size_t n_functions, n_calls, n_exports;
	bool has_hooks; /* compiled with -finstrument-functions */
};

/* Scans a file. 0; -ENODATA: no functions are known in it; -EBADMSG: it is cut short; -E2BIG:
 * beyond the bounds; -ENOMEM. Release with code_scan_release(). */
int code_scan_read(const struct elf_file *file, struct code_scan *ret_scan);
void code_scan_release(struct code_scan *scan); /* empties it */

/* The function that holds a vaddr; CODE_SCAN_NONE. */
uint32_t code_scan_find(const struct code_scan *scan, uint64_t vaddr);

/* Calls `each` with the vaddr of every instruction of a function; a non-zero return stops and is
 * passed on. `file` is the one that was scanned. */
int code_scan_instructions(const struct code_scan *scan, const struct elf_file *file,
			   uint32_t function, int (*each)(void *arg, uint64_t vaddr), void *arg);

#endif
