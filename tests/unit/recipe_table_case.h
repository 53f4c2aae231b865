/* SPDX-License-Identifier: MIT */
/* Helpers of the tests of recipe tables: compile assembled sections, and look up rows of the
 * result. */
#ifndef RECIPE_TABLE_CASE_H
#define RECIPE_TABLE_CASE_H

#include <stdlib.h>

#include "cfi_asm.h"
#include "unwind/recipe_rules.h"

#define NO_CODE CODE(DW_CFA_nop)

static inline const struct stackd_rule *rule_at(const struct recipe_table *t, uint64_t n)
{
	return recipe_lookup(t, CFI_ASM_OFFSET + n);
}

static inline uint64_t refused(const struct recipe_table *t, enum recipe_refusal why)
{
	return recipe_table_stats(t)->refused[why];
}

/* Checks the invariants of a table; done for every table that a test compiles. */
static inline void assert_sound(const struct recipe_table *t)
{
	size_t row_count, rule_count, chunk_count;
	uint32_t first;
	const struct stackd_row *rows = recipe_table_rows(t, &row_count);
	const struct stackd_rule *rules = recipe_table_rules(t, &rule_count);
	const uint32_t *chunks = recipe_table_chunks(t, &first, &chunk_count);

	assert_true(rule_count >= 3 && rule_count <= RECIPE_MAX_RULES);
	assert_int_equal(rules[STACKD_RULE_NONE].cfa, STACKD_CFA_NONE);
	assert_int_equal(rules[STACKD_RULE_END].cfa, STACKD_CFA_END);
	assert_int_equal(rules[STACKD_RULE_DAEMON].cfa, STACKD_CFA_DAEMON);
	assert_int_equal(chunks[0], 0);
	assert_int_equal(chunks[chunk_count], row_count);
	for (size_t c = 0; c < chunk_count; c++) {
		assert_true(chunks[c] < chunks[c + 1]);
		assert_int_equal(rows[chunks[c]].low, 0);
		for (uint32_t i = chunks[c] + 1; i < chunks[c + 1]; i++) {
			assert_true(rows[i - 1].low < rows[i].low);
			assert_int_not_equal(rows[i - 1].rule, rows[i].rule);
		}
	}
	for (size_t i = 0; i < row_count; i++)
		assert_true(rows[i].rule < rule_count);
}

static inline struct recipe_table *compile2(struct cfi_asm *a, struct cfi_asm *b)
{
	struct recipe_table *t;

	assert_int_equal(cfi_asm_compile2(a, b, &t), 0);
	assert_sound(t);
	buf_free(&a->b);
	if (b)
		buf_free(&b->b);
	return t;
}

static inline struct recipe_table *compile(struct cfi_asm *a)
{
	return compile2(a, NULL);
}

static inline size_t row_count(const struct recipe_table *t)
{
	size_t count;

	recipe_table_rows(t, &count);
	return count;
}

/* The offset of the CFA, which identifies an FDE in these tests; 0 where there is no row. */
static inline int32_t cfa_at(const struct recipe_table *t, uint64_t n)
{
	const struct stackd_rule *rule = rule_at(t, n);

	assert_true(rule->cfa == STACKD_CFA_NONE || rule->cfa == STACKD_CFA_REG);
	return rule->cfa_offset;
}

static inline void put_fde(struct cfi_asm *a, uint64_t at, uint64_t bytes, uint8_t cfa)
{
	cfi_asm_fde(a, at, bytes, CODE(DW_CFA_def_cfa_offset, cfa));
}

#endif
