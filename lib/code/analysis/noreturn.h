/* SPDX-License-Identifier: MIT */
/*
 * Functions that do not return, by their names: those of run-time libraries and of a few other
 * programs. Their code is in other files than their callers, or does not show that they do not
 * return. (noreturn_calls.h finds further functions by the calls of them.)
 *
 * Also keeps the functions of a library that the library itself calls through its linkage table,
 * since other files may interpose them. The code of such a function decides whether it returns.
 */
#ifndef ANALYSIS_NORETURN_H
#define ANALYSIS_NORETURN_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/insn.h"
#include "base/vec.h"
#include "elf/elf_file.h"

/* A word that the loader fills with the address of a function (a slot of the GOT). */
struct noreturn_slot {
	uint64_t vaddr;
	uint64_t function; /* vaddr of a function of this file; 0: of another file */
	bool does_not_return;
	bool returns, is_unsure; /* `returns`: by the function's name; is_unsure: an argument
				  * decides */
	uint32_t ends;		 /* number of its calls that are at the end of the calling
				  * function */
	uint32_t others;	 /* number of its other calls */
};

#define NORETURN_MAX_SLOTS (1u << 18)

struct noreturn_cached {
	uint64_t vaddr;
	struct noreturn_slot *slot; /* the slot of the linkage stub at `vaddr`; NULL: there is no
				     * stub */
	bool is_known, is_named;    /* is_known: it was looked up; is_named: by its name, it does
				     * not return */
};

#define NORETURN_CACHE 1024 /* a power of two */

struct noreturn {		 /* zeroed is empty */
	VEC(uint64_t) functions; /* vaddr */
	VEC(struct noreturn_slot) slots;
	struct noreturn_cached *cache; /* by vaddr of the called function */
};

/* Frees the lists and empties them. */
void noreturn_fini(struct noreturn *noreturn);

/* Returns whether a name is that of a function that does not return. `name` may be NULL: false. */
bool noreturn_is_name(const char *name);

/* Adds a function if its name is that of a function that does not return. Returns 0 or -ENOMEM. */
int noreturn_add_function(struct noreturn *noreturn, const char *name, uint64_t vaddr);

/* Adds the slot at `vaddr`; `name` is the name of its function, or NULL. `function` is that
 * function's vaddr in this file, or 0 if another file has it. Ignores slots beyond
 * NORETURN_MAX_SLOTS. Returns 0 or -ENOMEM. */
int noreturn_add_slot(struct noreturn *noreturn, const char *name, uint64_t vaddr,
		      uint64_t function);

/* Prepares the set for the functions below, after the last function and slot was added. Returns 0
 * or -ENOMEM. */
int noreturn_finish(struct noreturn *noreturn);

/* Returns whether the function in a slot does not return. */
bool noreturn_has_slot(const struct noreturn *noreturn, uint64_t slot);

/* Returns the function of this file that a slot holds, or 0. */
uint64_t noreturn_slot_function(const struct noreturn *noreturn, uint64_t slot);

/* Returns the vaddr of the function of this file to which a call or a jump leads, also through a
 * stub; 0: the function is in another file, or not known. */
uint64_t noreturn_callee(struct noreturn *noreturn, const struct elf_file *elf,
			 const struct insn *insn);

/* Returns whether a call's function is known not to return. */
bool noreturn_is_call(struct noreturn *noreturn, const struct elf_file *elf,
		      const struct insn *call);

/* Returns whether the function that `call` calls returns, by its name, even if a function seems to
 * begin right after the call. */
bool noreturn_returns(struct noreturn *noreturn, const struct elf_file *elf,
		      const struct insn *call);

/* Returns whether the function at `vaddr` does not return, or the linkage stub at `vaddr` leads to
 * a function that does not. */
bool noreturn_has_function(struct noreturn *noreturn, const struct elf_file *elf, uint64_t vaddr);

/* Returns the slot through which a call finds its function; NULL: it uses none, or the slot is not
 * known. The slot belongs to `noreturn`. */
struct noreturn_slot *noreturn_slot_of_call(struct noreturn *noreturn, const struct elf_file *elf,
					    const struct insn *call);

#endif
