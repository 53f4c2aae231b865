/* SPDX-License-Identifier: MIT */
/*
 * A set of numbered rules. Each compiled file has a set of its own. The files that are loaded into
 * the kernel have one set together, and their rows there have its numbers.
 *
 * Numbers are given in order and never change, so a loader that has pushed the first n rules into
 * the kernel pushes only those after them. A set has at most RECIPE_MAX_RULES.
 */
#ifndef UNWIND_RECIPE_RULES_H
#define UNWIND_RECIPE_RULES_H

#include "unwind/recipe.h"

struct recipe_rules;

/* Makes a set that holds the three fixed rules. Returns 0 or -ENOMEM; the caller frees *ret_rules.
 */
int recipe_rules_new(struct recipe_rules **ret_rules);
void recipe_rules_free(struct recipe_rules *rules); /* NULL is fine */

/* Adds a copy of a rule. Returns its number, which it may have had before; -ENOSPC: the set is
 * full, or its hash index has no free slot near; -ENOMEM. */
int recipe_rules_add(struct recipe_rules *rules, const struct stackd_rule *rule);

/* Gives all rules, by number. The array is valid until a rule is added. */
const struct stackd_rule *recipe_rules_array(const struct recipe_rules *rules, size_t *ret_count);

/* Adds a table's rules to the set, but at most `max_new` that it does not have yet. *ret_numbers
 * has the set's number for each rule of the table, UINT32_MAX for a rule that was not added; the
 * caller frees it with free(). Returns 0 or -ENOMEM. */
int recipe_rules_join(struct recipe_rules *rules, const struct recipe_table *table, size_t max_new,
		      uint32_t **ret_numbers);

/* Copies `count` of a table's rows, from row `first` on, to `ret_rows`, with the `numbers` of
 * recipe_rules_join() in place of the table's. A row whose rule was not added becomes DAEMON.
 * Returns how many became DAEMON. */
uint64_t recipe_rules_copy(const struct recipe_table *table, const uint32_t *numbers, size_t first,
			   size_t count, struct stackd_row *ret_rows);

/* Does both: recipe_rules_join(), and recipe_rules_copy() of all rows. *ret_refused is the number
 * of rows that became DAEMON. Returns 0 or -ENOMEM. */
int recipe_rules_remap(struct recipe_rules *rules, const struct recipe_table *table, size_t max_new,
		       struct stackd_row *ret_rows, uint64_t *ret_refused);

#endif
