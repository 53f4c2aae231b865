/* SPDX-License-Identifier: MIT */
/*
 * A module of Erlang that is loaded: its functions, their names and lines. Used by beam_vm.c alone.
 */
#ifndef BEAM_BEAM_MODULE_H
#define BEAM_BEAM_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/runtime.h"

#define BEAM_ATOM_ROOM 1024 /* bytes of an atom, of at most 255 characters, and a 0 */

#define BEAM_INFO_BYTES 40 /* of an ErtsCodeInfo, with which each function begins */

/* Offsets that differ between releases. */
struct beam_layout {
	char release[3];		     /* as etp_otp_release has it */
	uint16_t functions, lines, md5;	     /* in struct beam_code_header */
	uint16_t reductions, initial, state; /* in struct process: `reds`, `u.initial`, `state` */
};

struct beam_vm {
	const struct beam_layout *is;
	struct runtime_memory memory;
	uint64_t tables; /* address of the three tables of ranges, */
	uint64_t active; /* and of the number of the one in use */
	uint64_t atoms;	 /* address of the table of atoms */
	uint64_t purger; /* address of the process that purges code */
	uint64_t trap;	 /* address of a pointer to code that all modules share; 0: none */
	uint64_t shared, shared_end; /* that code; equal: it is not known */
};

/* Reads the process's memory, as runtime_memory.read() does. */
bool beam_read(const struct beam_vm *vm, uint64_t address, void *buf, size_t len);

/* Reads the text of an atom. Returns false if the term is none. */
bool beam_atom(const struct beam_vm *vm, uint64_t term, char ret_text[BEAM_ATOM_ROOM]);

struct beam_module {
	uint64_t start, end;  /* of its code, which begins with its header */
	uint64_t n_functions; /* at least one */
	uint64_t lines;	      /* address of its table of lines; 0: it has none */
	uint64_t identity;    /* differs from that of other code that is loaded there */
};

/* Reads the header of the code at [start, end). Returns false if it is none. */
bool beam_module_read(const struct beam_vm *vm, uint64_t start, uint64_t end,
		      struct beam_module *ret_module);

/* Finds the function with an address: its index, and where it begins. Returns false if there is
 * none. */
bool beam_module_function(const struct beam_vm *vm, const struct beam_module *module,
			  uint64_t address, uint64_t *ret_index, uint64_t *ret_start);

/* Gives the name, the file and the lines of a function that begins at `start`. 0; -ENOENT: it
 * cannot be read; -ENOMEM. */
int beam_module_describe(const struct beam_vm *vm, const struct beam_module *module, uint64_t index,
			 uint64_t start, struct runtime_function *function);

#endif
