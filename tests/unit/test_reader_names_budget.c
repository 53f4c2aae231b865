/* SPDX-License-Identifier: MIT */
/*
 * reader_names: look-ups keep to their budget of time, and found names are kept from one look to
 * the next, for as long as the recording is the same.
 */
#include "reader_names_fixture.h"

#define LOCATIONS 10 /* in each function */

/* Counts the locations with a name, and those with only the start of their function. */
static void count_named(const struct looker *l, uint32_t *ret_named, uint32_t *ret_started)
{
	*ret_named = *ret_started = 0;
	for (uint32_t i = 0; i < FUNCTIONS * LOCATIONS; i++) {
		const struct store_line *line = line_of(l, i);

		if (!line)
			continue;
		assert_int_equal(line->function_start, starts[i / LOCATIONS]);
		if (line->function)
			assert_string_equal(line->function, names[i / LOCATIONS]);
		*ret_named += line->function != NULL;
		*ret_started += line->function == NULL;
	}
}

/* Each look finds more names, and the starts of functions for more locations. The clock advances by
 * one whenever it is read, which is before each location, so no look does more than its budget
 * allows. */
static void budget_is_kept(void **state)
{
	const uint32_t budget = 24, all = FUNCTIONS * LOCATIONS;
	uint32_t named = 0, started, looks = 0;
	char *path = path_of("prog");
	struct recorded r;
	struct looker l;

	(void)state;
	begin(&r, "budget.db");
	add_file(&r, "prog", path);
	for (uint32_t i = 0; i < all; i++)
		add_place(&r, starts[i / LOCATIONS] + i % LOCATIONS);
	commit(&r, false);
	end(&r);
	look_with(&l, program_dir);
	while (named < all) {
		uint32_t before = named;
		uint64_t asked = l.asked;

		look(&l, "budget.db", budget);
		assert_true(l.asked > asked && l.asked - asked <= budget + 3);
		count_named(&l, &named, &started);
		assert_true(named > before);
		assert_true(started > 0 || named == all);
		assert_int_equal(reader_names_left(l.late), all - named);
		looks++;
	}
	assert_true(looks == 3 || looks == 4); /* three quarters of the budget are for names */
	look_away(&l);
	free(path);
}

/* A budget of zero finds no names, and is no error. */
static void zero_budget_finds_nothing(void **state)
{
	char *path = path_of("prog");
	struct looker l;

	(void)state;
	record_file("late.db", "prog", path, false);
	look_with(&l, program_dir);
	look(&l, "late.db", 0);
	check_nameless(&l);
	assert_int_equal(reader_names_left(l.late), FUNCTIONS);
	look(&l, "late.db", 1000000);
	check_named(&l);
	look_away(&l);
	free(path);
}

/* A location is looked up once: later looks return its name without the file and without spending
 * time. New locations are added to those. */
static void found_names_are_cached(void **state)
{
	char *path = path_of("copy");
	struct recorded r;
	struct looker l;
	uint64_t asked;

	(void)state;
	assert_int_equal(program_shell("cp prog copy"), 0);
	begin(&r, "kept.db");
	add_file(&r, "copy", path);
	add_functions(&r);
	commit(&r, false);
	look_with(&l, program_dir);
	look(&l, "kept.db", 1000000);
	assert_int_equal(unlink(path), 0);
	asked = l.asked;
	look(&l, "kept.db", 0);
	check_named(&l);
	assert_int_equal(l.asked, asked);
	add_place(&r, starts[1] + INSIDE + 1);
	/* A name in the store has precedence over one that was looked up. */
	put_line(&r.made, &(struct store_line){.function = "of stackd"});
	commit(&r, false);
	look(&l, "kept.db", 1000000);
	check_name(&l, 0, "of stackd", 0);
	check_name(&l, 1, names[1], starts[1]);
	check_name(&l, FUNCTIONS, names[1], starts[1]);
	end(&r);
	look_away(&l);
	free(path);
}

/* In another recording of the store, the same numbers mean other locations. */
static void new_recording_clears_cache(void **state)
{
	char *path = path_of("prog");
	struct recorded r;
	struct looker l;

	(void)state;
	record_file("two.db", "prog", path, false);
	look_with(&l, program_dir);
	look(&l, "two.db", 1000000);
	begin(&r, "two.db");
	add_file(&r, "prog", path);
	for (int i = FUNCTIONS; i > 0; i--)
		add_place(&r, starts[i - 1] + INSIDE);
	commit(&r, false);
	end(&r);
	look(&l, "two.db", 1000000);
	for (uint32_t i = 0; i < FUNCTIONS; i++)
		check_name(&l, i, names[FUNCTIONS - 1 - i], starts[FUNCTIONS - 1 - i]);
	look_away(&l);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(budget_is_kept),
		cmocka_unit_test(zero_budget_finds_nothing),
		cmocka_unit_test(found_names_are_cached),
		cmocka_unit_test(new_recording_clears_cache),
	};

	return cmocka_run_group_tests(tests, reader_names_setup, program_teardown);
}
