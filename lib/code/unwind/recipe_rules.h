/* SPDX-License-Identifier: MIT */
/*
 * A set of rules, each with a number: one per compiled file, and one for all files that are
 * loaded into the kernel, whose rows name rules by that one's numbers.
 *
 * Numbers are given in order and never change, so a loader that has pushed the first n rules
 * into the kernel pushes only what came after. There are never more than RECIPE_MAX_RULES.
 */
#ifndef UNWIND_RECIPE_RULES_H
#define UNWIND_RECIPE_RULES_H

#include "unwind/recipe.h"

struct recipe_rules;

/* Makes a set that holds the three fixed rules. Returns 0 or -ENOMEM; the caller frees *ret_rules.
 */
int recipe_rules_new(struct recipe_rules **ret_rules);
void recipe_rules_free(struct recipe_rules *rules); /* NULL is fine */

/* Adds a rule, which is copied. Returns its number, the old one if the set has the rule already;
 * -ENOSPC: the set is full, or its index has no slot near; -ENOMEM. */
int recipe_rules_add(struct recipe_rules *rules, const struct stackd_rule *rule);

/* Gives all rules, by number; valid until the next call that adds. */
const struct stackd_rule *recipe_rules_array(const struct recipe_rules *rules, size_t *ret_count);

/* Adds a table's rules to the set, at most `max_new` that it does not have yet. *ret_numbers has
 * the set's number for each of the table's, UINT32_MAX for those that found no room; the caller
 * frees it with free(). Returns 0 or -ENOMEM. */
int recipe_rules_join(struct recipe_rules *rules, const struct recipe_table *table, size_t max_new,
		      uint32_t **ret_numbers);

/* Copies `count` of a table's rows, from the `first` on, to `ret_rows`, with those numbers instead
 * of the table's. Rows whose rule the set had no room for become DAEMON. Returns how many those
 * are. */
uint64_t recipe_rules_copy(const struct recipe_table *table, const uint32_t *numbers, size_t first,
			   size_t count, struct stackd_row *ret_rows);

/* Joins a table and copies all its rows; *ret_refused is how many became DAEMON. Returns 0 or
 * -ENOMEM. */
int recipe_rules_remap(struct recipe_rules *rules, const struct recipe_table *table, size_t max_new,
		       struct stackd_row *ret_rows, uint64_t *ret_refused);

#endif
