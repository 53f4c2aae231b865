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

/* The new set holds the three fixed rules. 0 or -ENOMEM. */
int recipe_rules_new(struct recipe_rules **ret_rules);
void recipe_rules_free(struct recipe_rules *rules); /* NULL is fine */

/* The rule's number, the old one if the set has the rule already; -ENOSPC, -ENOMEM. */
int recipe_rules_add(struct recipe_rules *rules, const struct stackd_rule *rule);

/* The array, valid until the next call that adds. */
const struct stackd_rule *recipe_rules_array(const struct recipe_rules *rules, size_t *ret_count);

/* This set's numbers for a table's rules, by the table's; at most `max_new` rules are added to the
 * set. free() releases *ret_numbers. 0 or -ENOMEM. */
int recipe_rules_join(struct recipe_rules *rules, const struct recipe_table *table, size_t max_new,
		      uint32_t **ret_numbers);

/* Copies `count` of a table's rows, from the `first` on, with those numbers in place of the
 * table's. Rows whose rule the set had no room for become DAEMON. How many those are. */
uint64_t recipe_rules_copy(const struct recipe_table *table, const uint32_t *numbers, size_t first,
			   size_t count, struct stackd_row *ret_rows);

/* Both for all rows; *ret_refused: how many became DAEMON. 0 or -ENOMEM. */
int recipe_rules_remap(struct recipe_rules *rules, const struct recipe_table *table, size_t max_new,
		       struct stackd_row *ret_rows, uint64_t *ret_refused);

#endif
