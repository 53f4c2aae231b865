/* SPDX-License-Identifier: MIT */
/* Reads instructions in files, and recognises stubs: code that only jumps to other code. */
#ifndef CALLFLOW_CALLFLOW_STUB_H
#define CALLFLOW_CALLFLOW_STUB_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/flow_insn.h"
#include "proc/object.h"

/* A location in a file that can be read: object->elf is not NULL. */
struct callflow_location {
	const struct object *object;
	uint64_t offset;
};

/* Reads and decodes the instruction at a location. Returns false if it cannot be read, or is not an
 * instruction. */
bool callflow_decode_at(const struct insn_decoder *decoder,
			const struct callflow_location *location, struct flow_insn *ret);

enum callflow_stub {
	CALLFLOW_STUB_NONE,	/* no stub */
	CALLFLOW_STUB_ANYWHERE, /* jumps through a register or a word in memory */
	CALLFLOW_STUB_OUTSIDE,	/* jumps through a word in memory, to a function of another file
				 * or to the dynamic linker's resolver */
};

/* Returns the kind of stub that begins at a location: an entry of a PLT, a jump through a register
 * or memory, a retpoline. Reads the file's relocations, so the caller caches the result. */
enum callflow_stub callflow_stub_at(const struct insn_decoder *decoder,
				    const struct callflow_location *location);

/* Returns the vaddr of the function of the same file to which the jump at a location leads through
 * the linkage table, unless another file interposes that function; 0: there is no such function.
 * Reads the file's relocations, so the caller caches the result. */
uint64_t callflow_stub_own_target(const struct insn_decoder *decoder,
				  const struct callflow_location *location);

/* Returns the vaddr of the lazy half of a PLT entry: the code to which the stub or the jump at a
 * location leads until the dynamic linker has filled the word through which it jumps. 0: there is
 * none. */
uint64_t callflow_stub_unbound_target(const struct insn_decoder *decoder,
				      const struct callflow_location *location);

/* Returns whether the instruction at a location calls a function through a word of the linkage
 * table, as compilers do with -fno-plt, or through another word that the dynamic linker fills and
 * write-protects. Gives the vaddr of the function, unless another file
 * interposes it; 0: it is in another file. Reads the file's relocations. */
bool callflow_stub_is_linked_call(const struct insn_decoder *decoder,
				  const struct callflow_location *location, uint64_t *ret_target);

#endif
