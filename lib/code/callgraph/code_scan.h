/* SPDX-License-Identifier: MIT */
/*
 * Scans the code of an ordinary file for calls, function by function.
 *
 * The functions are the entries of .eh_frame, which stripped files have as well, and symbols
 * without an entry. The scan finds a function's calls and the jumps that leave it: to another
 * function of the file, to an imported name through the PLT or a slot of the GOT, or through a
 * pointer. It also finds the functions whose address is taken, by code or data.
 *
 * The file is not trusted: CODE_SCAN_MAX_* bound the scan, and invalid instructions are skipped.
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
	CODE_TAKEN = 1,	   /* its address is stored or passed */
	CODE_CALLED = 2,   /* this file calls it directly */
	CODE_PUBLIC = 4,   /* other files can call it by name */
	CODE_FIRST = 8,	   /* has no caller: the entry point, or the start of a thread */
	CODE_MAIN = 16,	   /* the entry point passes its address (to __libc_start_main) */
	CODE_HOOKED = 32,  /* calls the runtime of -finstrument-functions */
	CODE_POINTER = 64, /* ends with a jump through a pointer */
};

struct code_function {
	uint64_t start, end; /* vaddrs */
	uint32_t flags;
	uint32_t part_of;    /* the function that this one was split off from, else itself */
	uint32_t first_call; /* number of its first call in `calls`; its last call is before the
			      * next function's first */
	uint32_t name;	     /* number in `names`; that of "" if not known */
};

enum code_call_kind {
	CODE_CALL_FUNCTION, /* target: number of a function */
	CODE_CALL_IMPORT,   /* target: number of a name */
	CODE_CALL_POINTER,  /* target: CODE_SCAN_NONE */
	CODE_CALL_INLINED,  /* no call: the instrumented code passes `target` to the hook, since
			     * `target` was inlined here */
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
	uint64_t hooks_id;		 /* in place of file_id in tags of -finstrument-functions;
					  * see tagged_functions_file_id() */
	struct code_function *functions; /* by start; disjoint */
	struct code_call *calls;	 /* by function and address */
	struct code_export *exports;
	struct strings *names;
	size_t n_functions, n_calls, n_exports;
	bool has_hooks; /* compiled with -finstrument-functions */
};

/* Scans a file, which is borrowed during the call. The caller releases the result with
 * code_scan_release(). Returns 0; -ENODATA: no function is known; -EBADMSG: the file is truncated;
 * -E2BIG: it has more than CODE_SCAN_MAX_BYTES of code or CODE_SCAN_MAX_CALLS calls; -EIO;
 * -ENOMEM. */
int code_scan_read(const struct elf_file *file, struct code_scan *ret_scan);
void code_scan_release(struct code_scan *scan); /* frees and zeroes the contents */

/* Returns the number of the function that contains a vaddr, or CODE_SCAN_NONE. */
uint32_t code_scan_find(const struct code_scan *scan, uint64_t vaddr);

#endif
