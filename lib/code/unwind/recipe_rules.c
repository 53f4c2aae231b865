/* SPDX-License-Identifier: MIT */
/*
 * The set of rules: an array by number, and a hash index with open addressing.
 *
 * Rules come from hostile files, and the hash is no secret: an attacker could choose 65,536 rules
 * that collide, which would make every addition walk over all of them. So a probe ends after
 * PROBE_MAX steps, and the rule is refused as if the set were full. At a load of at most one half,
 * honest rules never come near that.
 */
#include "unwind/recipe_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"

#define PROBE_MAX   128
#define FIRST_SLOTS 1024
#define EMPTY	    UINT32_MAX

struct recipe_rules {
	VEC(struct stackd_rule) array; /* by number; at most slot_count / 2 */
	uint32_t *slots;	       /* number of a rule, or EMPTY; owned */
	uint32_t slot_count;
};

static uint64_t rule_hash(const struct stackd_rule *rule)
{
	uint64_t w[3];

	memcpy(w, rule, sizeof(w));
	return hash_mix64(w[0] ^ hash_mix64(w[1] ^ hash_mix64(w[2] + 1)));
}

/* Returns the slot that holds the rule, or the empty one where it belongs; NULL if PROBE_MAX slots
 * hold other rules. */
static uint32_t *find_slot(const struct recipe_rules *rules, const struct stackd_rule *rule)
{
	uint32_t mask = rules->slot_count - 1, at = rule_hash(rule) & mask;

	for (int i = 0; i < PROBE_MAX; i++, at = (at + 1) & mask) {
		uint32_t number = rules->slots[at];

		if (number == EMPTY || !memcmp(&rules->array.items[number], rule, sizeof(*rule)))
			return &rules->slots[at];
	}
	return NULL;
}

/* Makes a new index. A rule that finds no slot in it stays in the array, and may be added a second
 * time. */
static int grow(struct recipe_rules *rules, uint32_t slot_count)
{
	uint32_t *slots = malloc(slot_count * sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	memset(slots, 0xff, slot_count * sizeof(*slots));
	free(rules->slots);
	rules->slots = slots;
	rules->slot_count = slot_count;
	for (uint32_t i = 0; i < rules->array.count; i++) {
		uint32_t *slot = find_slot(rules, &rules->array.items[i]);

		if (slot)
			*slot = i;
	}
	return 0;
}

int recipe_rules_new(struct recipe_rules **ret_rules)
{
	static const uint8_t fixed[] = {
		[STACKD_RULE_NONE] = STACKD_CFA_NONE,
		[STACKD_RULE_END] = STACKD_CFA_END,
		[STACKD_RULE_DAEMON] = STACKD_CFA_DAEMON,
	};
	struct recipe_rules *rules = calloc(1, sizeof(*rules));

	if (!rules || grow(rules, FIRST_SLOTS)) {
		recipe_rules_free(rules);
		return -ENOMEM;
	}
	for (size_t i = 0; i < sizeof(fixed); i++)
		recipe_rules_add(rules, &(struct stackd_rule){.cfa = fixed[i]});
	*ret_rules = rules;
	return 0;
}

void recipe_rules_free(struct recipe_rules *rules)
{
	if (!rules)
		return;
	free(rules->array.items);
	free(rules->slots);
	free(rules);
}

/* Does recipe_rules_add() for a set that has at most `max` rules. */
static int add(struct recipe_rules *rules, const struct stackd_rule *rule, size_t max)
{
	uint32_t *slot = find_slot(rules, rule);
	size_t count = rules->array.count;

	if (!slot)
		return -ENOSPC;
	if (*slot != EMPTY)
		return (int)*slot;
	if (count >= max)
		return -ENOSPC;
	if (count == rules->slot_count / 2) {
		int err = grow(rules, rules->slot_count * 2);

		return err ? err : add(rules, rule, max);
	}
	if (VEC_RESERVE(&rules->array, 1))
		return -ENOMEM;
	rules->array.items[rules->array.count++] = *rule;
	*slot = (uint32_t)count;
	return (int)count;
}

int recipe_rules_add(struct recipe_rules *rules, const struct stackd_rule *rule)
{
	return add(rules, rule, RECIPE_MAX_RULES);
}

const struct stackd_rule *recipe_rules_array(const struct recipe_rules *rules, size_t *ret_count)
{
	*ret_count = rules->array.count;
	return rules->array.items;
}

int recipe_rules_join(struct recipe_rules *rules, const struct recipe_table *table, size_t max_new,
		      uint32_t **ret_numbers)
{
	size_t room = RECIPE_MAX_RULES - rules->array.count, count;
	size_t max = rules->array.count + (max_new < room ? max_new : room);
	const struct stackd_rule *local = recipe_table_rules(table, &count);
	uint32_t *numbers = calloc(count, sizeof(*numbers));

	if (!numbers)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		int number = add(rules, &local[i], max);

		if (number == -ENOMEM) {
			free(numbers);
			return -ENOMEM;
		}
		numbers[i] = number < 0 ? EMPTY : (uint32_t)number;
	}
	*ret_numbers = numbers;
	return 0;
}

uint64_t recipe_rules_copy(const struct recipe_table *table, const uint32_t *numbers, size_t first,
			   size_t count, struct stackd_row *ret_rows)
{
	size_t all;
	const struct stackd_row *rows = recipe_table_rows(table, &all) + first;
	uint64_t refused = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t number = numbers[rows[i].rule];

		refused += number == EMPTY;
		ret_rows[i].low = rows[i].low;
		ret_rows[i].rule = number == EMPTY ? STACKD_RULE_DAEMON : (uint16_t)number;
	}
	return refused;
}

int recipe_rules_remap(struct recipe_rules *rules, const struct recipe_table *table, size_t max_new,
		       struct stackd_row *ret_rows, uint64_t *ret_refused)
{
	uint32_t *numbers;
	size_t count;
	int err = recipe_rules_join(rules, table, max_new, &numbers);

	if (err)
		return err;
	recipe_table_rows(table, &count);
	*ret_refused = recipe_rules_copy(table, numbers, 0, count, ret_rows);
	free(numbers);
	return 0;
}
