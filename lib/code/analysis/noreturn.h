/* SPDX-License-Identifier: MIT */
/*
 * Functions that are known by their names not to return: those of run times and of a few libraries,
 * which programs call in other files, or whose own code does not tell. (Of other names, the calls
 * tell: noreturn_calls.h.) And the functions of a library that it calls through its linkage table,
 * since another file could replace them: by their own code they return or do not.
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
	uint32_t ends;		 /* its calls behind which a function ends, */
	uint32_t others;	 /* and those of which that is not so */
};

#define NORETURN_MAX_SLOTS (1u << 18)

struct noreturn_cached {
	uint64_t vaddr;
	struct noreturn_slot *slot; /* of the stub there; NULL: it is none */
	bool is_known, is_named;    /* it does not return, by its name */
};

#define NORETURN_CACHE 1024 /* a power of two */

struct noreturn {		 /* zeroed is empty */
	VEC(uint64_t) functions; /* vaddr */
	VEC(struct noreturn_slot) slots;
	struct noreturn_cached *cache; /* by vaddr of a function that is called */
};

/* Frees the lists and empties them. */
void noreturn_fini(struct noreturn *noreturn);

/* Whether a name is one of those; NULL is none. */
bool noreturn_is_name(const char *name);

/* Adds a function if its name is one of those. Returns 0 or -ENOMEM. */
int noreturn_add_function(struct noreturn *noreturn, const char *name, uint64_t vaddr);

/* Adds the slot of a function with a name, or NULL, which is the file's own at `function`, or
 * another file's (0). Of more than NORETURN_MAX_SLOTS, the last are left out. Returns 0 or -ENOMEM.
 */
int noreturn_add_slot(struct noreturn *noreturn, const char *name, uint64_t vaddr,
		      uint64_t function);

/* Prepares the set for the questions below, when all has been added. Returns 0 or -ENOMEM. */
int noreturn_finish(struct noreturn *noreturn);

/* Whether what a slot holds does not return. */
bool noreturn_has_slot(const struct noreturn *noreturn, uint64_t slot);

/* The function of this file that a slot holds, or 0. */
uint64_t noreturn_slot_function(const struct noreturn *noreturn, uint64_t slot);

/* The function of this file that a call or a jump leads to, through a stub if need be; 0: another
 * file's, or not known. */
uint64_t noreturn_callee(struct noreturn *noreturn, const struct elf_file *elf,
			 const struct insn *insn);

/* Whether a call's function is known not to return. */
bool noreturn_is_call(struct noreturn *noreturn, const struct elf_file *elf,
		      const struct insn *call);

/* Whether a call's function is known to return, though what follows looks like a function. */
bool noreturn_returns(struct noreturn *noreturn, const struct elf_file *elf,
		      const struct insn *call);

/* Whether the function at `vaddr` does not return, or the stub there leads to one that does not. */
bool noreturn_has_function(struct noreturn *noreturn, const struct elf_file *elf, uint64_t vaddr);

/* The slot that a call's function is taken from; NULL: none, or it is not known. It belongs to
 * `noreturn`. */
struct noreturn_slot *noreturn_slot_of_call(struct noreturn *noreturn, const struct elf_file *elf,
					    const struct insn *call);

#endif
