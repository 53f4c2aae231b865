/* SPDX-License-Identifier: MIT */
/*
 * Interprets a BPF program and counts what a run of it costs on any machine: instructions, calls,
 * and the distinct cache lines and pages that it touches, with cold caches.
 *
 * The program is the very object that stackd loads (build/gen/stackd.bpf.o), since a build for user
 * space has another compiler's instructions, other inlining and other spills. It is counted as the
 * kernel runs it: look-ups in arrays and bpf_loop() are not calls there, as the verifier puts
 * instructions in their place, but each turn of a loop calls its body.
 *
 * CO-RE relocations are not applied: without them the program reads the structures of
 * bpf/kernel_types.h as they are declared there, which is what vm_share() is to provide.
 *
 * All memory that the program can see is in regions, and any other access ends the process with a
 * message: it is a fault of the program or of its world here.
 */
#ifndef BENCH_COST_VM_H
#define BENCH_COST_VM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/bpf.h>

/* Whose memory it is. X(enumerator, name) */
#define VM_KINDS(X)                                                                                \
	X(CODE, "code") /* of the program, at VM_CODE_BYTES an instruction */                      \
	X(SCRATCH, "scratch")                                                                      \
	X(MAPS, "maps")                                                                            \
	X(STACK, "stack")   /* of the program */                                                   \
	X(RING, "ring")	    /* records */                                                          \
	X(KERNEL, "kernel") /* structures of the kernel, and the context */                        \
	X(USER, "user")	    /* memory of the sampled program */

enum vm_kind {
#define X(e, name) VM_##e,
	VM_KINDS(X)
#undef X
		VM_KINDS_COUNT
};

#define VM_LINE	      64
#define VM_PAGE	      4096
#define VM_CODE_BYTES 5 /* what the kernel makes of one on x86-64: the mean of this program */

/* What one run has cost. */
struct vm_counts {
	uint64_t instructions;
	uint64_t subprograms; /* calls from one function of the program to another */
	uint64_t bodies;      /* turns of bpf_loop() */
	uint64_t helpers;     /* calls, but for these: */
	uint64_t lookups;     /* in arrays, which are instructions */
	uint64_t copies;      /* from the memory of the sampled program */
	uint64_t user_bytes;  /* that these copied */
	uint64_t lines[VM_KINDS_COUNT], pages[VM_KINDS_COUNT]; /* distinct ones */
};

struct vm;
typedef uint64_t (*vm_helper)(struct vm *vm, const uint64_t *arguments);

/* Loads an object, whose entry is the first function of the section `entry`. Messages go to stderr,
 * and the process ends, here and in all functions below, where something is wrong. */
struct vm *vm_new(const char *object, const char *entry);
void vm_free(struct vm *vm);

/* The helper with this number (BPF_FUNC_...). Those of maps and loops are there already. */
void vm_set_helper(struct vm *vm, uint32_t number, vm_helper helper);

/* The map's values, zeroed, after it has been given a number of entries; 0: that of its
 * declaration. Owned by the machine. */
void *vm_map(struct vm *vm, const char *name, uint32_t entries);

/* Adds a key to a hash, or changes its value. */
void vm_map_put(struct vm *vm, const char *name, const void *key, const void *value);

/* A variable of the program. */
void *vm_variable(struct vm *vm, const char *name);

/* Memory that the program may use from now on: whole pages, zeroed, owned by the machine. At
 * `address` it has in the program; 0: where it is. Returns where it is. */
void *vm_share(struct vm *vm, enum vm_kind kind, uint64_t address, size_t size);

/* For helpers: where memory of the program is, after counting it as touched. */
void *vm_touch(struct vm *vm, uint64_t address, uint64_t size);

/* The same where it need not be there: NULL, and nothing is counted. */
void *vm_touch_if(struct vm *vm, uint64_t address, uint64_t size);

/* Counts bytes that were copied from the sampled program. */
void vm_copied(struct vm *vm, uint64_t bytes);

/* Counts the lines and pages of memory of the sampled program that is in no region. */
void vm_touch_user(struct vm *vm, uint64_t address, uint64_t size);

/* Runs the program with its context, which it has been given by vm_share(), and returns what that
 * has cost. Valid until the next run. */
const struct vm_counts *vm_run(struct vm *vm, const void *context);

#endif
