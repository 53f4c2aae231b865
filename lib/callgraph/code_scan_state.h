/* SPDX-License-Identifier: MIT */
/* What the two halves of a scan share: code_scan.c (tables) and code_decode.c (instructions). */
#ifndef CALLGRAPH_CODE_SCAN_STATE_H
#define CALLGRAPH_CODE_SCAN_STATE_H

#include "base/vec.h"
#include "base/strings.h"
#include "sym/symtab.h"
#include "callgraph/code_scan.h"

/* A word of data that a relocation fills, for good: with a function of this file or of another. */
struct code_slot {
	uint64_t vaddr;
	uint32_t name;	   /* 0: none */
	uint32_t function; /* CODE_SCAN_NONE: of another file */
};

struct code_scanner {
	const struct elf_file *file; /* borrowed */
	struct symtab *symtab;
	struct strings *names;
	struct code_scan scan; /* what is being made; calls and exports are below */
	VEC(struct code_function) functions;
	VEC(struct code_call) calls;
	VEC(struct code_export) exports;
	VEC(struct code_slot) slots;	 /* by vaddr */
	uint32_t *jumps_into;		 /* by function: another that it jumps into the middle of */
	uint32_t hook_enter, hook_exit;	 /* names */
	uint64_t relro_start, relro_end; /* data that stays as relocations made it */
	bool is_fixed; /* linked for one address: addresses can be plain numbers */
};

/* Decodes all functions: fills `calls` and flags. 0, -ENOMEM, -E2BIG. */
int code_decode(struct code_scanner *s);

/* The function that starts at a vaddr; CODE_SCAN_NONE. */
uint32_t code_scanner_start(const struct code_scanner *s, uint64_t vaddr);
/* ... that holds it. */
uint32_t code_scanner_find(const struct code_scanner *s, uint64_t vaddr);

const struct code_slot *code_scanner_slot(const struct code_scanner *s, uint64_t vaddr);

#endif
