/* SPDX-License-Identifier: MIT */
/*
 * Rules from the analysis of instructions, for the daemon's walk, which completes the samples that
 * the kernel half cannot walk.
 *
 * In the daemon, another thread has already made tables with these rules, and `struct
 * analysed_source` has the function that looks a rule up in them. Other callers have no source: the
 * file is then analysed here, unless it has too much code.
 */
#ifndef UNWIND_ANALYSED_RULES_H
#define UNWIND_ANALYSED_RULES_H

#include <stdbool.h>

#include "unwind/dwarf_walk.h"
#include "unwind/recipe.h"

/* Bytes of executable segments. They take two seconds if no CFI covers any of them. */
#define ANALYSED_RULES_MAX_CODE (16 * 1024 * 1024)

struct analysed_rules { /* zeroed is empty */
	bool is_known;	/* the table was made, or the file has too much code */
	struct recipe_table *table;
};

struct analysed_source { /* zeroed: none */
	dwarf_walk_rule_fn *find;
	void *arg;
};

/* Finds the rule for a file offset that no other source has a rule for; its cfa is STACKD_CFA_NONE
 * if there is none. Returns 0; -EAGAIN: the source has no rule yet, and *ret_rule is
 * STACKD_CFA_NONE; -ENOMEM. */
int analysed_rules_find(struct analysed_rules *rules, const struct analysed_source *source,
			const struct object *object, uint64_t offset, struct stackd_rule *ret_rule);

/* Frees the rules. They are made again when they are needed. */
void analysed_rules_drop(struct analysed_rules *rules);

#endif
