/* SPDX-License-Identifier: MIT */
/*
 * Functions that are known by their names not to return: those of run times and of a few libraries,
 * which programs call in other files, or whose own code does not tell. And the functions of
 * a library that it calls through its linkage table, since another file could replace them: by
 * their own code they return or do not.
 */
#ifndef ANALYSIS_NORETURN_H
#define ANALYSIS_NORETURN_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/insn.h"
#include "base/vec.h"
#include "elf/elf_file.h"

/* A word that the loader fills with the address of a function. */
struct noreturn_slot {
	uint64_t vaddr;
	uint64_t function; /* vaddr of a function of this file; 0: one that does not return */
};

struct noreturn_cached {
	uint64_t vaddr;
	uint64_t function; /* of this file, that the stub there leads to; 0: none */
	bool is_known, does_not_return;
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

/* Adds a slot if the name of what it holds is one of those, or if that is the file's own `function`
 * (0: it is another file's). Returns 0 or -ENOMEM. */
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

/* Whether the function at `vaddr` does not return, or the stub there leads to one that does not. */
bool noreturn_has_function(struct noreturn *noreturn, const struct elf_file *elf, uint64_t vaddr);

#endif
