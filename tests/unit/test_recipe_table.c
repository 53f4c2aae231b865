/* SPDX-License-Identifier: MIT */
/* Entries become a table: FDEs that touch, overlap or leave gaps, chunks, the two sections
 * together, and the rules that rows name. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/hash.h"
#include "recipe_table_case.h"

/* --- FDEs together ------------------------------------------------------------------------- */

static void test_order_gaps_and_merging(void **state)
{
	struct cfi_asm a = {.is_eh_frame = true};
	struct recipe_table *t;

	(void)state;
	cfi_asm_usual_cie(&a);
	put_fde(&a, 0x300, 0x40, 24);
	put_fde(&a, 0x100, 0x20, 24);
	put_fde(&a, 0x120, 0x20, 24); /* touches the one before, and has the same rule */
	put_fde(&a, 0x210, 0x10, 32);
	t = compile(&a);
	assert_int_equal(cfa_at(t, 0x13f), 24);
	assert_int_equal(cfa_at(t, 0x140), 0);
	assert_int_equal(cfa_at(t, 0x20f), 0);
	assert_int_equal(cfa_at(t, 0x210), 32);
	assert_int_equal(cfa_at(t, 0x220), 0);
	assert_int_equal(cfa_at(t, 0x300), 24);
	assert_int_equal(cfa_at(t, 0x33f), 24);
	assert_int_equal(cfa_at(t, 0x340), 0);
	assert_int_equal(row_count(t), 1 + 3 * 2);
	recipe_table_free(t);
}

/* Up to 15 bytes before a function that is aligned to 16 belong to the function before. */
static void test_padding(void **state)
{
	struct cfi_asm a = {.is_eh_frame = true};
	struct recipe_table *t;

	(void)state;
	cfi_asm_usual_cie(&a);
	put_fde(&a, 0x11, 0x10, 24); /* to 0x21: 15 bytes to the next */
	put_fde(&a, 0x30, 0x10, 32); /* to 0x40: 16 bytes, which could hold a function */
	put_fde(&a, 0x50, 0x08, 40); /* to 0x58: the next is not aligned */
	put_fde(&a, 0x5c, 0x04, 48);
	t = compile(&a);
	assert_int_equal(cfa_at(t, 0x10), 0);
	assert_int_equal(cfa_at(t, 0x21), 24);
	assert_int_equal(cfa_at(t, 0x2f), 24);
	assert_int_equal(cfa_at(t, 0x30), 32);
	assert_int_equal(cfa_at(t, 0x40), 0);
	assert_int_equal(cfa_at(t, 0x57), 40);
	assert_int_equal(cfa_at(t, 0x58), 0);
	assert_int_equal(cfa_at(t, 0x5c), 48);
	assert_int_equal(cfa_at(t, 0x60), 0);
	recipe_table_free(t);
}

static void test_overlap(void **state)
{
	struct cfi_asm a = {.is_eh_frame = true};
	struct recipe_table *t;

	(void)state;
	cfi_asm_usual_cie(&a);
	put_fde(&a, 0x120, 0x40, 24); /* its second half is the last one's */
	put_fde(&a, 0x100, 0x30, 32); /* starts earlier: gets the bytes that both cover */
	put_fde(&a, 0x108, 0x08, 40); /* inside */
	put_fde(&a, 0x100, 0x30, 48); /* the same start, later in the section */
	cfi_asm_fde(&a, 0x140, 0x40,
		    CODE(DW_CFA_def_cfa_offset, 56, DW_CFA_advance_loc | 0x10,
			 DW_CFA_def_cfa_offset, 64, DW_CFA_advance_loc | 0x20,
			 DW_CFA_def_cfa_offset, 72));
	t = compile(&a);
	assert_int_equal(cfa_at(t, 0x100), 32);
	assert_int_equal(cfa_at(t, 0x12f), 32);
	assert_int_equal(cfa_at(t, 0x130), 24);
	assert_int_equal(cfa_at(t, 0x15f), 24);
	assert_int_equal(cfa_at(t, 0x160), 64);
	assert_int_equal(cfa_at(t, 0x16f), 64);
	assert_int_equal(cfa_at(t, 0x170), 72);
	assert_int_equal(cfa_at(t, 0x17f), 72);
	assert_int_equal(cfa_at(t, 0x180), 0);
	assert_int_equal(refused(t, RECIPE_REFUSED_FDE_OVERLAP), 4);
	recipe_table_free(t);
}

/* .eh_frame has precedence where both cover an address, even if .debug_frame begins earlier. */
static void test_two_sections(void **state)
{
	struct cfi_asm eh = {.is_eh_frame = true}, debug = {0};
	struct recipe_table *t;

	(void)state;
	cfi_asm_usual_cie(&eh);
	put_fde(&eh, 0x120, 0x20, 24);
	put_fde(&eh, 0x200, 0x20, 24);
	cfi_asm_usual_cie(&debug);
	put_fde(&debug, 0x100, 0x80, 32);
	put_fde(&debug, 0x300, 0x10, 40);
	t = compile2(&eh, &debug);
	assert_int_equal(cfa_at(t, 0x0ff), 0);
	assert_int_equal(cfa_at(t, 0x100), 32);
	assert_int_equal(cfa_at(t, 0x11f), 32);
	assert_int_equal(cfa_at(t, 0x120), 24);
	assert_int_equal(cfa_at(t, 0x140), 32);
	assert_int_equal(cfa_at(t, 0x180), 0);
	assert_int_equal(cfa_at(t, 0x21f), 24);
	assert_int_equal(cfa_at(t, 0x220), 0);
	assert_int_equal(cfa_at(t, 0x300), 40);
	assert_int_equal(cfa_at(t, 0x310), 0);
	recipe_table_free(t);
}

/* Functions at, across, and far behind the borders of chunks (file offset = 0x2000 + address). */
static void test_chunks(void **state)
{
	struct cfi_asm a = {.is_eh_frame = true};
	struct recipe_table *t;
	uint32_t first;
	size_t count;

	(void)state;
	cfi_asm_usual_cie(&a);
	put_fde(&a, 0xd000, 0x1000, 24);   /* ends at the border */
	put_fde(&a, 0xe000, 0x20, 32);	   /* begins there */
	put_fde(&a, 0x1d000, 0x21001, 40); /* over two borders, and one byte more */
	put_fde(&a, 0x9d000, 0x1000, 48);  /* ends at a border, the last */
	t = compile(&a);
	recipe_table_chunks(t, &first, &count);
	assert_int_equal(first, 0);
	assert_int_equal(count, 10);
	assert_int_equal(cfa_at(t, 0xdfff), 24);
	assert_int_equal(cfa_at(t, 0xe000), 32);
	assert_int_equal(cfa_at(t, 0xe020), 0);
	assert_int_equal(cfa_at(t, 0x1dfff), 40);
	assert_int_equal(cfa_at(t, 0x1e000), 40);
	assert_int_equal(cfa_at(t, 0x2e123), 40);
	assert_int_equal(cfa_at(t, 0x3e000), 40);
	assert_int_equal(cfa_at(t, 0x3e001), 0);
	assert_int_equal(cfa_at(t, 0x6e000), 0);
	assert_int_equal(cfa_at(t, 0x9cfff), 0);
	assert_int_equal(cfa_at(t, 0x9dfff), 48);
	assert_int_equal(cfa_at(t, 0x9e000), 0);
	recipe_table_free(t);
}

/* The last function reaches one byte into a chunk of its own. */
static void test_one_byte_in_the_last_chunk(void **state)
{
	struct cfi_asm a = {.is_eh_frame = true};
	struct recipe_table *t;

	(void)state;
	cfi_asm_usual_cie(&a);
	put_fde(&a, 0xd000, 0x1001, 24);
	t = compile(&a);
	assert_int_equal(cfa_at(t, 0xe000), 24);
	assert_int_equal(cfa_at(t, 0xe001), 0);
	recipe_table_free(t);
}

/* Random FDEs against a model with a rule for each byte. */
static void test_against_a_model(void **state)
{
	enum { BYTES = 0x30000, FDES = 400 };
	static uint8_t model[BYTES + 16];

	(void)state;
	for (uint64_t seed = 0; seed < 8; seed++) {
		struct {
			uint32_t at, len;
		} fdes[FDES];
		struct cfi_asm a = {.is_eh_frame = true};
		struct recipe_table *t;

		memset(model, 0, sizeof(model));
		cfi_asm_usual_cie(&a);
		for (uint32_t i = 0; i < FDES; i++) {
			uint64_t r = hash_mix64(seed << 32 | i);

			/* Starts differ, and no gap is padding: all is aligned to 32. */
			fdes[i].at = (uint32_t)((i * 1237 + r % 2) % (BYTES / 32)) * 32;
			fdes[i].len = (uint32_t)(1 + (r >> 8) % 40) * 32;
			if (fdes[i].len > BYTES - fdes[i].at)
				fdes[i].len = BYTES - fdes[i].at;
			put_fde(&a, fdes[i].at, fdes[i].len, (uint8_t)(1 + i % 100));
		}
		/* The lowest start has precedence, then the first in the section. */
		for (uint32_t at = 0; at < BYTES; at += 32) {
			for (uint32_t i = 0; i < FDES; i++) {
				for (uint32_t n = 0; fdes[i].at == at && n < fdes[i].len; n++) {
					uint8_t *m = &model[at + n];

					*m = *m ? *m : (uint8_t)(1 + i % 100);
				}
			}
		}
		t = compile(&a);
		for (uint32_t n = 0; n < BYTES + 16; n++) {
			if (cfa_at(t, n) != model[n])
				fail_msg("seed %d: %d at 0x%x, not %d", (int)seed, cfa_at(t, n), n,
					 model[n]);
		}
		recipe_table_free(t);
	}
}

/* --- rules --------------------------------------------------------------------------------- */

static struct recipe_table *compile_rules(uint32_t first, uint32_t count)
{
	struct cfi_asm a = {.is_eh_frame = true};

	cfi_asm_rules(&a, first, count);
	return compile(&a);
}

static void test_more_rules_than_a_row_can_name(void **state)
{
	struct recipe_table *t = compile_rules(1, RECIPE_MAX_RULES);
	size_t count;

	(void)state;
	recipe_table_rules(t, &count);
	assert_int_equal(count, RECIPE_MAX_RULES);
	assert_int_equal(refused(t, RECIPE_REFUSED_RULE_LIMIT), 3);
	assert_int_equal(cfa_at(t, RECIPE_MAX_RULES - 4), RECIPE_MAX_RULES - 3);
	assert_int_equal(rule_at(t, RECIPE_MAX_RULES - 1)->cfa, STACKD_CFA_DAEMON);
	recipe_table_free(t);
}

static void assert_same_rows(const struct recipe_table *t, const struct stackd_row *rows,
			     const struct recipe_rules *all)
{
	size_t n, unused;
	const struct stackd_row *own = recipe_table_rows(t, &n);
	const struct stackd_rule *own_rules = recipe_table_rules(t, &unused);
	const struct stackd_rule *all_rules = recipe_rules_array(all, &unused);

	for (size_t i = 0; i < n; i++) {
		assert_int_equal(rows[i].low, own[i].low);
		assert_memory_equal(&all_rules[rows[i].rule], &own_rules[own[i].rule],
				    sizeof(struct stackd_rule));
	}
}

static void test_rules_are_shared(void **state)
{
	struct recipe_table *one = compile_rules(8, 5000), *two = compile_rules(4008, 5000);
	struct stackd_row *rows = calloc(row_count(two) + row_count(one), sizeof(*rows));
	struct recipe_rules *all;
	uint64_t lost = 1;
	size_t count;

	(void)state;
	assert_int_equal(recipe_rules_new(&all), 0);
	assert_int_equal(recipe_rules_remap(all, one, RECIPE_MAX_RULES, rows, &lost), 0);
	assert_int_equal(lost, 0);
	assert_same_rows(one, rows, all);
	assert_int_equal(recipe_rules_remap(all, two, RECIPE_MAX_RULES, rows, &lost), 0);
	assert_int_equal(lost, 0);
	assert_same_rows(two, rows, all);
	recipe_rules_array(all, &count);
	assert_int_equal(count, 3 + 9000);
	recipe_rules_free(all);
	free(rows);
	recipe_table_free(one);
	recipe_table_free(two);
}

static void test_full_shared_rules(void **state)
{
	struct recipe_table *one = compile_rules(8, 65000), *two = compile_rules(64008, 2000);
	struct stackd_row *rows = calloc(row_count(one) + row_count(two), sizeof(*rows));
	struct recipe_rules *all;
	uint64_t lost;
	size_t n, daemon = 0;

	(void)state;
	assert_int_equal(recipe_rules_new(&all), 0);
	assert_int_equal(recipe_rules_remap(all, one, RECIPE_MAX_RULES, rows, &lost), 0);
	assert_int_equal(lost, 0);
	assert_int_equal(recipe_rules_remap(all, two, RECIPE_MAX_RULES, rows, &lost), 0);
	recipe_rules_array(all, &n);
	assert_int_equal(n, RECIPE_MAX_RULES);
	assert_int_equal(lost, 1000 - (RECIPE_MAX_RULES - 65003));
	recipe_table_rows(two, &n);
	for (size_t i = 0; i < n; i++)
		daemon += rows[i].rule == STACKD_RULE_DAEMON;
	assert_int_equal(daemon, lost);
	recipe_rules_free(all);
	free(rows);
	recipe_table_free(one);
	recipe_table_free(two);
}

static void test_limited_share_of_rules(void **state)
{
	struct recipe_table *one = compile_rules(8, 1000), *two = compile_rules(908, 200);
	struct stackd_row *rows = calloc(row_count(one) + row_count(two), sizeof(*rows));
	struct recipe_rules *all;
	uint64_t lost;
	size_t n;

	(void)state;
	assert_int_equal(recipe_rules_new(&all), 0);
	assert_int_equal(recipe_rules_remap(all, one, 950, rows, &lost), 0);
	recipe_rules_array(all, &n);
	assert_int_equal(n, 3 + 950);
	assert_int_equal(lost, 50);
	/* The rules of `two` overlap none of those: 908 to 957 were refused. */
	assert_int_equal(recipe_rules_remap(all, two, 100, rows, &lost), 0);
	recipe_rules_array(all, &n);
	assert_int_equal(n, 3 + 950 + 100);
	assert_int_equal(lost, 50);
	recipe_rules_free(all);
	free(rows);
	recipe_table_free(one);
	recipe_table_free(two);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order_gaps_and_merging),
		cmocka_unit_test(test_padding),
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_two_sections),
		cmocka_unit_test(test_chunks),
		cmocka_unit_test(test_one_byte_in_the_last_chunk),
		cmocka_unit_test(test_against_a_model),
		cmocka_unit_test(test_more_rules_than_a_row_can_name),
		cmocka_unit_test(test_rules_are_shared),
		cmocka_unit_test(test_full_shared_rules),
		cmocka_unit_test(test_limited_share_of_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
