/* SPDX-License-Identifier: MIT */
/* The state of a scan: code_scan.c reads the tables of the file, code_decode.c its instructions. */
#ifndef CALLGRAPH_CODE_SCANNER_H
#define CALLGRAPH_CODE_SCANNER_H

#include "base/strings.h"
#include "base/vec.h"
#include "callgraph/code_scan.h"
#include "sym/symtab.h"

/* A read-only word of data that a relocation sets to the address of a function. */
struct code_slot {
	uint64_t vaddr;
	uint32_t name;	   /* 0: none */
	uint32_t function; /* CODE_SCAN_NONE: the function is in another file */
};

struct code_scanner {
	const struct elf_file *file; /* borrowed */
	struct symtab *symtab;
	struct strings *names;
	struct code_scan scan; /* the result; its arrays are below */
	VEC(struct code_function) functions;
	VEC(struct code_call) calls;
	VEC(struct code_export) exports;
	VEC(struct code_slot) slots;	 /* by vaddr */
	size_t n_unwind;		 /* functions that have an unwind entry */
	uint32_t *jumps_into;		 /* by number of a function: another function, into the
					  * middle of which it jumps */
	uint32_t hook_enter, hook_exit;	 /* numbers of the names of the two functions that
					  * -finstrument-functions calls */
	uint64_t relro_start, relro_end; /* data that is read-only after relocation */
	bool is_fixed; /* not position-independent: immediate numbers can be addresses */
};

/* Return the number of the function that starts at a vaddr, or of the function that contains it;
 * CODE_SCAN_NONE: there is none. */
uint32_t code_scanner_start(const struct code_scanner *s, uint64_t vaddr);
uint32_t code_scanner_find(const struct code_scanner *s, uint64_t vaddr);

/* Returns the slot at a vaddr, or NULL. */
const struct code_slot *code_scanner_slot(const struct code_scanner *s, uint64_t vaddr);

#endif
