/* SPDX-License-Identifier: MIT */
/* Names of functions as users write them, beside those that linkers have; and which of several
 * functions is meant. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/regions/region_choice.h"
#include "daemon/regions/region_name.h"

static void same(const char *pattern, const char *linked)
{
	assert_int_equal(region_name_match(pattern, linked), REGION_SAME);
}

static void like(const char *pattern, const char *linked)
{
	assert_int_equal(region_name_match(pattern, linked), REGION_LIKE);
}

static void other(const char *pattern, const char *linked)
{
	assert_int_equal(region_name_match(pattern, linked), REGION_OTHER);
}

static void test_clones(void **state)
{
	(void)state;
	same("work", "work");
	same("work", "work.constprop.0");
	same("work", "work.isra.0.constprop.1");
	same("work", "work.part.0");
	same("work", "work.lto_priv.0.cold");
	same("inner", "inner.0"); /* a function within another one */
	same("work.isra.0", "work.isra.0");
	other("work", "work.ing");
	other("work", "workshop");
	other("work.isra.0", "work.isra.1");
	other("", ".constprop.0");
	same("ns::f", "_ZN2ns1fEi.constprop.0");
	assert_int_equal(region_name_base("work.part.0"), 4);
	assert_int_equal(region_name_base("work.a"), 6);
	assert_int_equal(region_name_base(""), 0);
	assert_true(region_name_is_part("work.isra.0.part.1"));
	assert_false(region_name_is_part("work.party"));
	assert_false(region_name_is_part("work.isra.0"));
}

static void test_cxx(void **state)
{
	const char *solve = "_ZN2ns5solveIiEET_S1_";	 /* int ns::solve<int>(int) */
	const char *nested = "_ZN2ns3boxIiE3getIdEET_v"; /* double ns::box<int>::get<double>() */
	const char *call = "_ZNK2ns1sclEi";		 /* ns::s::operator()(int) const */
	const char *less = "_ZNK2ns1sltERKS0_";		 /* ns::s::operator<(ns::s const&) const */
	const char *convert = "_ZN2ns1scviEv";		 /* ns::s::operator int() */
	const char *anonymous =
		"_ZN12_GLOBAL__N_11fIiEET_S1_"; /* int (anonymous...)::f<int>(int) */

	(void)state;
	same("ns::solve<int>", solve);
	same("ns::solve<int>(int)", solve);
	same("int ns::solve<int>(int)", solve);
	same("ns::solve*", solve);
	like("ns::solve", solve);
	other("solve", solve);
	other("ns::solve<double>", solve);
	other("ns::sol", solve);
	same("ns::box<int>::get<double>", nested);
	like("ns::box<int>::get", nested);
	other("ns::box", nested);
	other("ns::box<int>", nested);
	same("ns::s::operator()", call);
	other("ns::s::operator", call);
	same("ns::s::operator<", less);
	same("ns::s::operator int", convert);
	other("int", convert);
	same("(anonymous namespace)::f<int>", anonymous);
	other("_ZN2ns5solve", solve);
}

static void test_spaces(void **state)
{
	const char *box = "_ZN2ns3BoxIfLi3EE3mulEf";	       /* ns::Box<float, 3>::mul(float) */
	const char *made = "_ZN2ns4makeIiEENS_3BoxIT_Li2EEEv"; /* ns::Box<int, 2> ns::make<int>() */
	const char *constant = "_ZN2ns1gERKi";		       /* ns::g(int const&) */

	(void)state;
	same("ns::Box<float, 3>::mul", box);
	same("ns::Box<float,3>::mul", box);
	same("ns::Box< float , 3 >::mul( float )", box);
	same("ns::Box<*,3>::mul", box);
	other("ns::Box<float,33>::mul", box);
	other("ns::Box<float,3>", box);
	same("ns::make<int>", made);
	same("ns::make< int >()", made);
	same("ns::g(int const &)", constant);
	other("ns::g(intconst&)", constant);
	other("ns::g(int const)", constant);
}

static void test_fortran(void **state)
{
	(void)state;
	same("solve", "__grid_MOD_solve");
	same("Grid::Solve", "__grid_MOD_solve");
	other("grid", "__grid_MOD_solve");
	other("other::solve", "__grid_MOD_solve");
	like("solve", "solve_");
	like("SOLVE", "solve_");
	other("solv", "solve_");
	other("", "_");
	same("solve", "_QPsolve");
	same("grid::solve", "_QMgridPsolve");
}

static struct found_region region(const char *linked, const char *source, size_t file, bool is_weak)
{
	return (struct found_region){.name = region_name_source(linked),
				     .linked = strdup(linked),
				     .source = source ? strdup(source) : NULL,
				     .file = file,
				     .is_weak = is_weak};
}

/* How many functions are meant, and how many entries of these are left. */
static void choose(struct found_region *all, size_t count, const char *function, size_t meant,
		   size_t left)
{
	const enum region_file files[] = {REGION_FILE_PROGRAM, REGION_FILE_LIBRARY,
					  REGION_FILE_LIBRARY, REGION_FILE_LINKER};
	struct found_regions found = {.found = {.items = all, .count = count}};
	struct region_spec spec;
	size_t n = 0;

	assert_int_equal(region_spec_parse(function, &spec), 0);
	assert_int_equal(region_choice_make(&found, &spec, 0, files), meant);
	for (size_t i = 0; i < count; i++) {
		n += !all[i].is_left_out;
		free(all[i].name);
		free(all[i].linked);
		free(all[i].source);
	}
	assert_int_equal(n, left);
	region_spec_free(&spec);
}

#define CHOOSE(function, meant, left, ...)                                                         \
	do {                                                                                       \
		struct found_region all[] = {__VA_ARGS__};                                         \
		choose(all, sizeof(all) / sizeof(*all), function, meant, left);                    \
	} while (0)

static void test_choice(void **state)
{
	(void)state;
	CHOOSE("f", 1, 1, region("f", NULL, 1, true), region("f", NULL, 0, false));
	CHOOSE("f", 1, 1, region("f", NULL, 1, false), region("f", NULL, 0, true));
	CHOOSE("f", 1, 1, region("f", NULL, 1, true), region("f", NULL, 2, false));
	CHOOSE("f", 2, 2, region("f", NULL, 1, false), region("f", NULL, 2, false));
	CHOOSE("f", 1, 1, region("f", "f.c", 3, false), region("f", NULL, 1, true));
	CHOOSE("f", 1, 1, region("f", "f.c", 3, false));
	CHOOSE("f", 2, 2, region("f", "a.c", 0, false), region("f", "b.c", 0, false));
	CHOOSE("f", 2, 2, region("f", NULL, 0, false), region("f", "b.c", 0, false));
	CHOOSE("f", 1, 2, region("f", NULL, 0, false), region("f.isra.0", "b.c", 0, false));
	CHOOSE("f", 1, 2, region("f.isra.0", "a.c", 0, false),
	       region("f.constprop.0", "a.c", 0, false));
	CHOOSE("C::C", 1, 2, region("_ZN1CC1Ei", NULL, 0, true),
	       region("_ZN1CC2Ei", NULL, 0, true));
	CHOOSE("f", 2, 2, region("_Z1fi", NULL, 0, false), region("_Z1fd", NULL, 0, false));
	CHOOSE("f(int*)", 1, 1, region("_Z1fPi", NULL, 0, false),
	       region("_Z1fPPi", NULL, 0, false));
	CHOOSE("f(int *)", 1, 1, region("_Z1fPi", NULL, 0, false),
	       region("_Z1fPPi", NULL, 0, false));
	CHOOSE("f<int>(int *)", 1, 1, region("_Z1fIiEiPi", NULL, 0, false),
	       region("_Z1fIiEiiPv", NULL, 0, false));
	CHOOSE("f*", 2, 2, region("f", NULL, 0, false), region("fg", NULL, 1, true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clones), cmocka_unit_test(test_cxx),
		cmocka_unit_test(test_spaces), cmocka_unit_test(test_fortran),
		cmocka_unit_test(test_choice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
