/* SPDX-License-Identifier: MIT */
/* Checks the invariants of a compiled table, and aborts where one is violated. */
#ifndef TESTS_FUZZ_TABLE_H
#define TESTS_FUZZ_TABLE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/recipe.h"
#include "unwind/recipe_rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void fuzz_check(bool holds)
{
	if (!holds)
		abort();
}

#define CALLER_SAVED 0xf37 /* rax, rdx, rcx, rsi, rdi, r8 to r11: by DWARF number */

static inline void fuzz_check_rule(const struct stackd_rule *rule)
{
	fuzz_check(rule->cfa <= STACKD_CFA_COPIED);
	fuzz_check(rule->reg < STACKD_REG_PC);
	fuzz_check(!STACKD_KEPT(rule) || CALLER_SAVED >> (STACKD_KEPT(rule) - 1) & 1);
	fuzz_check(!(rule->saved_via_reg >> STACKD_SAVED_COUNT));
	fuzz_check(rule->cfa != STACKD_CFA_PLT || (rule->cfa_add >= 0 && rule->cfa_add < 16));
}

static inline void fuzz_check_rows(const struct recipe_table *table)
{
	size_t row_count, rule_count, chunk_count;
	uint32_t first;
	const struct stackd_row *rows = recipe_table_rows(table, &row_count);
	const struct stackd_rule *rules = recipe_table_rules(table, &rule_count);
	const uint32_t *chunks = recipe_table_chunks(table, &first, &chunk_count);

	fuzz_check(rule_count >= 3 && rule_count <= RECIPE_MAX_RULES);
	for (size_t i = 0; i < rule_count; i++)
		fuzz_check_rule(&rules[i]);
	fuzz_check(chunks[0] == 0 && chunks[chunk_count] == row_count);
	for (size_t c = 0; c < chunk_count; c++) {
		uint64_t base = (uint64_t)(first + c) << STACKD_CHUNK_SHIFT;

		fuzz_check(chunks[c] < chunks[c + 1] && rows[chunks[c]].low == 0);
		for (uint32_t i = chunks[c]; i < chunks[c + 1]; i++) {
			bool is_last = i + 1 == chunks[c + 1];
			uint64_t end = base + (is_last ? 0x10000 : rows[i + 1].low);

			fuzz_check(rows[i].rule < rule_count);
			fuzz_check(end > base + rows[i].low);
			fuzz_check(recipe_lookup(table, base + rows[i].low) ==
				   &rules[rows[i].rule]);
			fuzz_check(recipe_lookup(table, end - 1) == &rules[rows[i].rule]);
		}
	}
}

static inline void fuzz_check_remap(const struct recipe_table *table)
{
	size_t count;
	const struct stackd_row *rows = recipe_table_rows(table, &count);
	struct stackd_row *mapped = malloc((count + 1) * sizeof(*mapped));
	struct recipe_rules *rules;
	uint64_t refused;

	if (mapped && !recipe_rules_new(&rules)) {
		/* Into an empty set, the numbers stay as they are. */
		fuzz_check(!recipe_rules_remap(rules, table, RECIPE_MAX_RULES, mapped, &refused) &&
			   !refused);
		fuzz_check(!memcmp(mapped, rows, count * sizeof(*rows)));
		recipe_rules_free(rules);
	}
	free(mapped);
}

static inline void fuzz_check_table(const struct recipe_table *table)
{
	fuzz_check_rows(table);
	fuzz_check_remap(table);
}

#endif
