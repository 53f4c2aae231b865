/* SPDX-License-Identifier: MIT */
/*
 * Functions that do not return, by their names: those of run-time libraries and of a few others.
 * Programs call them in other files, or their own code does not show it. (Functions with other
 * names are found by their calls: noreturn_calls.h.)
 *
 * It also keeps the functions that a library calls through its own linkage table, since another
 * file could replace them: whether these return is decided by their code.
 */
#ifndef ANALYSIS_NORETURN_H
#define ANALYSIS_NORETURN_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/insn.h"
#include "base/vec.h"
#include "elf/elf_file.h"

/* A word that the loader fills with the address of a function. */
struct noreturn_slot {
	uint64_t vaddr;
	uint64_t function; /* vaddr of a function of this file; 0: another file's */
	bool does_not_return;
	bool returns, is_unsure; /* by its name */
	uint32_t ends;		 /* calls of it after which the caller's function ends, */
	uint32_t others;	 /* and calls after which it does not */
};

#define NORETURN_MAX_SLOTS (1u << 18)

struct noreturn_cached {
	uint64_t vaddr;
	struct noreturn_slot *slot; /* of the stub there; NULL: there is no stub */
	bool is_known, is_named;    /* looked up; does not return, by its name */
};

#define NORETURN_CACHE 1024 /* a power of two */

struct noreturn {		 /* zeroed is empty */
	VEC(uint64_t) functions; /* vaddr */
	VEC(struct noreturn_slot) slots;
	struct noreturn_cached *cache; /* by vaddr of the called function */
};

/* Frees the lists and empties them. */
void noreturn_fini(struct noreturn *noreturn);

/* Returns whether a name is one of those; NULL is not. */
bool noreturn_is_name(const char *name);

/* Adds a function if its name is one of those. Returns 0 or -ENOMEM. */
int noreturn_add_function(struct noreturn *noreturn, const char *name, uint64_t vaddr);

/* Adds the slot of a function with a name, or NULL. `function` is its vaddr in this file, or 0 if
 * another file has it. Leaves out slots beyond NORETURN_MAX_SLOTS. Returns 0 or -ENOMEM. */
int noreturn_add_slot(struct noreturn *noreturn, const char *name, uint64_t vaddr,
		      uint64_t function);

/* Prepares the set for the questions below, when all has been added. Returns 0 or -ENOMEM. */
int noreturn_finish(struct noreturn *noreturn);

/* Returns whether the function in a slot does not return. */
bool noreturn_has_slot(const struct noreturn *noreturn, uint64_t slot);

/* Returns the function of this file that a slot holds, or 0. */
uint64_t noreturn_slot_function(const struct noreturn *noreturn, uint64_t slot);

/* Returns the function of this file that a call or a jump leads to, also through a stub; 0: another
 * file's, or not known. */
uint64_t noreturn_callee(struct noreturn *noreturn, const struct elf_file *elf,
			 const struct insn *insn);

/* Returns whether a call's function is known not to return. */
bool noreturn_is_call(struct noreturn *noreturn, const struct elf_file *elf,
		      const struct insn *call);

/* Returns whether a call's function is known to return, though a function seems to follow. */
bool noreturn_returns(struct noreturn *noreturn, const struct elf_file *elf,
		      const struct insn *call);

/* Returns whether the function at `vaddr` does not return, or the stub there leads to one that does
 * not. */
bool noreturn_has_function(struct noreturn *noreturn, const struct elf_file *elf, uint64_t vaddr);

/* Returns the slot from which a call takes its function; NULL: it takes none, or it is not known.
 * The slot belongs to `noreturn`. */
struct noreturn_slot *noreturn_slot_of_call(struct noreturn *noreturn, const struct elf_file *elf,
					    const struct insn *call);

#endif
