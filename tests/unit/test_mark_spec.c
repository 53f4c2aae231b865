/* SPDX-License-Identifier: MIT */
/* Marks and spans as they are given: what is a function, what a line, and what is neither. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/regions/mark_spec.h"

static void check(const char *text, int expected, const char *name, size_t n_places)
{
	struct mark_spec spec;
	int err = mark_spec_parse(text, &spec);

	assert_int_equal(err, expected);
	if (!err) {
		assert_string_equal(spec.name, name);
		assert_int_equal(spec.n_places, n_places);
	}
	mark_spec_free(&spec);
}

static void check_line(const char *text, size_t at, const char *file, uint32_t line,
		       const char *object)
{
	struct mark_spec spec;

	assert_int_equal(mark_spec_parse(text, &spec), 0);
	assert_string_equal(spec.places[at].file, file);
	assert_int_equal(spec.places[at].line, line);
	if (object)
		assert_string_equal(spec.places[at].spec.object, object);
	else
		assert_null(spec.places[at].spec.object);
	mark_spec_free(&spec);
}

static void check_function(const char *text, const char *function)
{
	struct mark_spec spec;

	assert_int_equal(mark_spec_parse(text, &spec), 0);
	assert_null(spec.places[0].file);
	assert_string_equal(spec.places[0].spec.function, function);
	mark_spec_free(&spec);
}

static void test_lines(void **state)
{
	(void)state;
	check_line("a.c:7", 0, "a.c", 7, NULL);
	check_line("src/../a.c:16777215", 0, "src/../a.c", 16777215, NULL);
	check_line("a:b.c:1@libx.so*", 0, "a:b.c", 1, "libx.so*");
	check("a.c:0", -EINVAL, NULL, 0);
	check("a.c:16777216", -EINVAL, NULL, 0);
	check("a.c:99999999999999999999999", -EINVAL, NULL, 0);
	check(":3", -EINVAL, NULL, 0);
	check("", -EINVAL, NULL, 0);
	check("a.c:3@", -EINVAL, NULL, 0);
}

static void test_functions(void **state)
{
	(void)state;
	check_function("step", "step");
	check_function("ns::step@prog", "ns::step");
	check_function("ns::operator==(int, int)", "ns::operator==(int, int)");
	check_function("a.c:", "a.c:");
	check_function("a.c:7x", "a.c:7x");
}

static void test_spans(void **state)
{
	(void)state;
	check("solve=a.c:7..b.c:9", 0, "solve", 2);
	check_line("solve=a.c:7..b.c:9", 0, "a.c", 7, NULL);
	check_line("solve=a.c:7..b.c:9", 1, "b.c", 9, NULL);
	check_line("s=../a..c:7..../b.c:9", 0, "../a..c", 7, NULL);
	check_line("s=../a..c:7..../b.c:9", 1, "../b.c", 9, NULL);
	check("=a.c:7..a.c:9", -EINVAL, NULL, 0);
	check("s=a.c:7..9", -EINVAL, NULL, 0);
	check("s=a.c:7..f", -EINVAL, NULL, 0);
	check("s=a.c:7..", -EINVAL, NULL, 0);
	assert_false(mark_spec_is_span("operator==(a::b)"));
	assert_false(mark_spec_is_span("a.c:7..b.c:9"));
	assert_false(mark_spec_is_span("s=a.c:..b.c:9"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_spans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
