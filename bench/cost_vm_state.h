/* SPDX-License-Identifier: MIT */
/* The inside of the machine that cost_vm.h describes: filled by cost_load.c, run by cost_vm.c. */
#ifndef BENCH_COST_VM_STATE_H
#define BENCH_COST_VM_STATE_H

#include "cost_vm.h"

#define VM_SET_BITS  15
#define VM_SET_SIZE  (1u << VM_SET_BITS)
#define VM_HELPERS   256
#define VM_REGIONS   64
#define VM_MAPS_MOST 128
#define VM_FUNCTIONS (UINT64_C(1) << 62) /* plus the index of a function's first instruction */

struct vm_region {
	uint64_t address; /* in the program */
	uint64_t size;
	uint8_t *bytes; /* owned */
	enum vm_kind kind;
};

struct vm_map {
	char name[32];
	uint32_t entries, n_keys;
	size_t key_size, value_size, apart; /* apart: from one value to the next */
	bool is_hash;
	uint8_t *keys;	 /* of a hash; owned */
	uint8_t *values; /* a region's; NULL: not asked for so far */
};

struct vm_variable {
	char name[32];
	void *bytes;
};

struct vm_set {
	uint64_t numbers[VM_SET_SIZE]; /* 0: none */
	uint32_t count;
};

struct vm {
	struct bpf_insn *code; /* owned */
	size_t n_code, entry;
	size_t pc;	 /* for messages */
	uint32_t number; /* of the machines that there are at a time */
	struct vm_map maps[VM_MAPS_MOST];
	struct vm_variable variables[VM_MAPS_MOST];
	size_t n_maps, n_variables;
	struct vm_region regions[VM_REGIONS];
	size_t n_regions;
	uint8_t *stack; /* a region's */
	vm_helper helpers[VM_HELPERS];
	void *owner; /* for the helpers */
	struct vm_counts counts;
	struct vm_set lines, pages;
};

/* Prints a message and ends the process. */
void vm_die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif
