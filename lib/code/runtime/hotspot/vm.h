/* SPDX-License-Identifier: MIT */
/*
 * Reads a running HotSpot: what its code is.
 *
 *   address ─► heap ─► segment map, backwards to the start ─► CodeBlob ─► nmethod ─► Method
 * vm_code.c return address ─► PcDesc ─► scopes: the methods inlined there, with their bytecode
 * index    vm_scopes.c Method ─► ConstMethod ─► constants, symbols, lines vm_method.c
 * numbers of classes, garbage collections vm_class.c; depths of frames vm_depth.c (java_depth.h)
 *
 * All of it lies in memory that the process can write. Each step reads a fixed number of bytes,
 * each loop has a limit and goes in one direction, and what two places tell must agree.
 */
#ifndef HOTSPOT_VM_H
#define HOTSPOT_VM_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/hotspot/vm_layout.h"
#include "runtime/runtime.h"

#define VM_HEAPS_MOST 8

struct vm_heap {
	uint64_t low, end; /* of the memory that is reserved for its blocks */
	uint64_t segments; /* address of the segment map */
	uint32_t log2;	   /* of the size of a segment */
};

#define VM_DEPTHS                                                                                  \
	256 /* pieces whose depths are kept; another one with the same hash makes room             \
	     */

/* The depths of a method's code. */
struct vm_depths {
	uint64_t identity;	/* of the method's piece; 0: the slot is free */
	struct java_depths *is; /* NULL: they are not known */
};

struct vm {
	struct vm_layout is;
	struct runtime_memory memory;
	uint64_t low, high; /* of all code */
	struct vm_heap heaps[VM_HEAPS_MOST];
	size_t n_heaps;
	uint32_t class_tries;	  /* to find the next one */
	uint64_t class_number_at; /* offset in a Klass; 0: not known yet, or there is none */
	struct vm_depths depths[VM_DEPTHS]; /* by the hash of the identity */
	uint64_t depth_bytes;		    /* that they take */
};

/* Return the number or pointer in a field of the object at `base`; false: it cannot be read, or
 * this version has no such field. */
bool vm_read(const struct vm *vm, uint64_t address, void *buf, size_t len);
bool vm_u64(const struct vm *vm, uint64_t base, enum vm_field field, uint64_t *ret_value);
bool vm_u32(const struct vm *vm, uint64_t base, enum vm_field field, uint32_t *ret_value);
bool vm_u16(const struct vm *vm, uint64_t base, enum vm_field field, uint16_t *ret_value);

/* Reads a number of 1 to 5 bytes (HotSpot's UNSIGNED5) at bytes[*at]. Versions from 20 on do not
 * use the byte 0. Returns false if the `len` bytes end before. */
bool vm_unsigned5(const struct vm *vm, const uint8_t *bytes, size_t len, size_t *at,
		  uint32_t *ret_value);

/* Gives the address at which the code of a blob begins. */
bool vm_code_begin(const struct vm *vm, uint64_t blob, uint64_t *ret_address);

/* Returns the number of a class, which no other class has had; 0: not known. */
uint64_t vm_class_number(struct vm *vm, uint64_t klass);

/* Members of struct runtime_machine; see runtime.h. */
bool vm_is_file(const struct elf_file *file);
int vm_open(const struct elf_file *file, uint64_t bias, const struct runtime_memory *memory,
	    void **ret_vm);
void vm_close(void *vm);
void vm_range(const void *vm, uint64_t *ret_low, uint64_t *ret_high);
bool vm_piece(void *vm, uint64_t address, struct runtime_code_piece *ret_piece);
bool vm_is_still(void *vm, const struct runtime_code_piece *piece);
size_t vm_frames(void *vm, const struct runtime_code_piece *piece, uint64_t address, bool is_return,
		 struct runtime_managed_frame *ret_frames, size_t max);
struct runtime_depth vm_depth(void *vm, const struct runtime_code_piece *piece, uint64_t address);
uint64_t vm_bytes(const void *vm);
bool vm_interpreted(const struct walk_memory *memory, uint64_t fp,
		    struct runtime_activation *ret_activation);
uint8_t vm_sender_register(const uint8_t *code, size_t len, size_t at);
enum runtime_interrupted vm_interrupted(const uint8_t *code, size_t len, size_t at);
bool vm_parts(const uint8_t *code);
bool vm_sender(const struct walk_memory *memory, uint64_t fp, uint64_t *ret_sp);
bool vm_unloads(void *vm, uint64_t *ret_unloads);
int vm_function(void *vm, uint64_t address, struct runtime_function *ret_function);
uint64_t vm_identity(void *vm, uint64_t address);

#endif
