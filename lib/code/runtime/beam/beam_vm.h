/* SPDX-License-Identifier: MIT */
/*
 * Reads in a running BEAM what the code that its JIT compiler has made belongs to: module,
 * function, arity, file and line.
 *
 *   address ─► table of ranges ─► header of the module's code ─► its functions ─► ErtsCodeInfo
 *              (one of three)      |                                              (three terms)
 *                                  └─► table of lines                             ─► table of atoms
 *
 * The program exports nearly all of its symbols, as drivers need them: the atoms, and which of the
 * three tables of ranges is in use. The tables themselves are private; erts_start_staging_ranges()
 * begins with loading their address. Layouts are those of a release (etp_otp_release) built with
 * the JIT compiler and without debugging, for which the program has numbers, too.
 *
 * A module's code stays at its address until it is purged, which one process of Erlang does for
 * all (erts_code_purger). It counts its reductions when it stops running. So while this number is
 * the same, and the process waits, nothing was purged: what is at an address now was there before,
 * or the address had no code yet (beam_unloads()).
 *
 * All of it lies in memory that the process can write. Each step reads a fixed number of bytes, and
 * each loop has a limit.
 */
#ifndef BEAM_BEAM_VM_H
#define BEAM_BEAM_VM_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/runtime.h"

/* Members of struct runtime_machine; see runtime.h. */
bool beam_is_file(const struct elf_file *file);
int beam_open(const struct elf_file *file, uint64_t bias, const struct runtime_memory *memory,
	      void **ret_vm);
void beam_close(void *vm);
void beam_range(const void *vm, uint64_t *ret_low, uint64_t *ret_high);
bool beam_piece(void *vm, uint64_t address, struct runtime_code_piece *ret_piece);
bool beam_is_still(void *vm, const struct runtime_code_piece *piece);
size_t beam_frames(void *vm, const struct runtime_code_piece *piece, uint64_t address,
		   bool is_return, struct runtime_managed_frame *ret_frames, size_t max);
bool beam_calls_function(void *vm, const struct runtime_code_piece *piece, uint64_t address);
bool beam_unloads(void *vm, uint64_t *ret_unloads);
int beam_function(void *vm, uint64_t address, struct runtime_function *ret_function);
uint64_t beam_identity(void *vm, uint64_t address);

#endif
