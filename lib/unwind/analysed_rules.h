/* SPDX-License-Identifier: MIT */
/*
 * Rules from instructions for the daemon's walk, which has the first samples of a file, until the
 * kernel half has its table.
 *
 * The walk is in the main loop, so only files of little code are analysed here: larger ones have
 * their rules when the tables' thread has made them.
 */
#ifndef UNWIND_ANALYSED_RULES_H
#define UNWIND_ANALYSED_RULES_H

#include <stdbool.h>

#include "unwind/recipe.h"

#define ANALYSED_RULES_MAX_CODE (1024 * 1024) /* bytes: 100 ms if nothing covers them */

struct analysed_rules { /* zeroed is empty */
	bool is_known;	/* the table was made, or is not to be */
	struct recipe_table *table;
};

/* Finds the rule for a file offset that nothing else covers: STACKD_CFA_NONE where there is none.
 * Returns 0 or -ENOMEM. */
int analysed_rules_find(struct analysed_rules *rules, const struct elf_file *elf, uint64_t offset,
			struct stackd_rule *ret_rule);

/* Frees the rules: they are made again when they are asked for. */
void analysed_rules_drop(struct analysed_rules *rules);

#endif
