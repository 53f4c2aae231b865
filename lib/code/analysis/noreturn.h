/* SPDX-License-Identifier: MIT */
/*
 * Functions that do not return, by their names: those of run-time libraries and of a few other
 * programs. They are in other files than their callers, or their code does not show it. (Functions
 * with other names are found by their calls: noreturn_calls.h.)
 *
 * Also keeps the functions that a library calls through its own linkage table, since other files
 * may replace them: their code decides whether they return.
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
	uint64_t function; /* vaddr of a function of this file; 0: of another file */
	bool does_not_return;
	bool returns, is_unsure; /* by the function's name; is_unsure: an argument decides */
	uint32_t ends;		 /* calls of it that are at the end of the caller's function */
	uint32_t others;	 /* calls of it that are not */
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

/* Returns whether a name is that of such a function; NULL is not. */
bool noreturn_is_name(const char *name);

/* Adds a function if its name is that of such a function. Returns 0 or -ENOMEM. */
int noreturn_add_function(struct noreturn *noreturn, const char *name, uint64_t vaddr);

/* Adds the slot of a function with a name, or NULL. `function` is its vaddr in this file, or 0 if
 * another file has it. Leaves out slots beyond NORETURN_MAX_SLOTS. Returns 0 or -ENOMEM. */
int noreturn_add_slot(struct noreturn *noreturn, const char *name, uint64_t vaddr,
		      uint64_t function);

/* Prepares the set for the functions below, when all has been added. Returns 0 or -ENOMEM. */
int noreturn_finish(struct noreturn *noreturn);

/* Returns whether the function in a slot does not return. */
bool noreturn_has_slot(const struct noreturn *noreturn, uint64_t slot);

/* Returns the function of this file that a slot holds, or 0. */
uint64_t noreturn_slot_function(const struct noreturn *noreturn, uint64_t slot);

/* Returns the function of this file that a call or a jump leads to, also through a stub; 0: in
 * another file, or not known. */
uint64_t noreturn_callee(struct noreturn *noreturn, const struct elf_file *elf,
			 const struct insn *insn);

/* Returns whether a call's function is known not to return. */
bool noreturn_is_call(struct noreturn *noreturn, const struct elf_file *elf,
		      const struct insn *call);

/* Returns whether a call's function returns by its name, even if a function seems to begin behind
 * the call. */
bool noreturn_returns(struct noreturn *noreturn, const struct elf_file *elf,
		      const struct insn *call);

/* Returns whether the function at `vaddr` does not return, or the stub there leads to one that does
 * not return. */
bool noreturn_has_function(struct noreturn *noreturn, const struct elf_file *elf, uint64_t vaddr);

/* Returns the slot from which a call takes its function; NULL: none, or not known. The slot belongs
 * to `noreturn`. */
struct noreturn_slot *noreturn_slot_of_call(struct noreturn *noreturn, const struct elf_file *elf,
					    const struct insn *call);

#endif
