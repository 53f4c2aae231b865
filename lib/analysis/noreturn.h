/* SPDX-License-Identifier: MIT */
/*
 * Functions that are known by their names not to return: those of the C and C++ run times and of
 * Rust's, which programs call in other files, or whose own code does not tell.
 */
#ifndef ANALYSIS_NORETURN_H
#define ANALYSIS_NORETURN_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/insn.h"
#include "base/vec.h"
#include "elf/elf_file.h"

struct noreturn_cached {
	uint64_t vaddr;
	bool is_known, does_not_return;
};

#define NORETURN_CACHE 1024 /* a power of two */

struct noreturn {		 /* zeroed is empty */
	VEC(uint64_t) functions; /* vaddr */
	VEC(uint64_t) slots;	 /* vaddr of words that are filled with such a function's address */
	struct noreturn_cached *cache; /* of noreturn_calls() */
};

/* Frees the lists and empties them. */
void noreturn_fini(struct noreturn *noreturn);

/* Whether a name is one of those; NULL is none. */
bool noreturn_is_name(const char *name);

/* Adds a function or a slot if its name is one of those. Returns 0 or -ENOMEM. */
int noreturn_add_function(struct noreturn *noreturn, const char *name, uint64_t vaddr);
int noreturn_add_slot(struct noreturn *noreturn, const char *name, uint64_t vaddr);

/* Prepares the set for the questions below, when all has been added. Returns 0 or -ENOMEM. */
int noreturn_finish(struct noreturn *noreturn);

/* Whether what a slot holds does not return. */
bool noreturn_has_slot(const struct noreturn *noreturn, uint64_t slot);

/* Whether a call's function is known not to return. */
bool noreturn_is_call(struct noreturn *noreturn, const struct elf_file *elf,
		      const struct insn *call);

/* Whether the function at `vaddr` does not return, or the stub there leads to one that does not. */
bool noreturn_has_function(struct noreturn *noreturn, const struct elf_file *elf, uint64_t vaddr);

#endif
