/* SPDX-License-Identifier: MIT */
/*
 * Rules from the analysis of instructions, for the daemon's walk, which completes the samples that
 * the kernel half cannot walk.
 *
 * In the daemon, another thread has already made tables with these rules, and struct
 * dwarf_walk_options has the function that finds them. For other callers the file is analysed here,
 * unless it has too much code.
 */
#ifndef UNWIND_ANALYSED_RULES_H
#define UNWIND_ANALYSED_RULES_H

#include <stdbool.h>

#include "unwind/dwarf_walk.h"
#include "unwind/recipe.h"

#define ANALYSED_RULES_MAX_CODE (16 * 1024 * 1024) /* bytes: two seconds if no CFI covers them */

struct analysed_rules { /* zeroed is empty */
	bool is_known;	/* the table was made, or the file has too much code */
	struct recipe_table *table;
};

struct analysed_source { /* zeroed: none */
	dwarf_walk_rule_fn *find;
	void *arg;
};

/* Finds the rule for a file offset without any other rule; STACKD_CFA_NONE: there is none. Returns
 * 0; -EAGAIN: the source has no rule yet, *ret_rule is STACKD_CFA_NONE; or -ENOMEM. */
int analysed_rules_find(struct analysed_rules *rules, const struct analysed_source *source,
			const struct object *object, uint64_t offset, struct stackd_rule *ret_rule);

/* Frees the rules, which are made again when they are needed. */
void analysed_rules_drop(struct analysed_rules *rules);

#endif
