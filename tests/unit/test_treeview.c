/* SPDX-License-Identifier: MIT */
/* Names of functions as text shows them: short ones where a demangler has made them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "report/treeview.h"

static void check(const char *name, enum frame_kind kind, bool full, const char *shown)
{
	const struct report_options options = {.utf8 = true, .full_names = full};
	struct buf row = {0};

	treeview_function(&row, name, kind, &options);
	buf_put_u8(&row, '\0');
	assert_false(row.failed);
	assert_string_equal((const char *)row.data, shown);
	buf_free(&row);
}

static void test_demangled(void **state)
{
	(void)state;
	check("int ns::f<int>(int) const", FRAME_NATIVE, false, "ns::f‹…›");
	check("int ns::f<int>(int) const", FRAME_INLINED, false, "ns::f‹…›");
	check("int ns::f<int>(int) const", FRAME_NATIVE, true, "int ns::f<int>(int) const");
}

/* Two functions of different names stay two, and operators are not taken for brackets. */
static void test_managed(void **state)
{
	static const char *const ruby[] = {
		"<<", "<=>", ">", "[]=", "block in <main>", "block in <class:P>", "block in <<"};

	(void)state;
	for (size_t i = 0; i < sizeof(ruby) / sizeof(*ruby); i++)
		check(ruby[i], FRAME_RUBY, false, ruby[i]);
	check("f.<locals>.<lambda>", FRAME_PYTHON, false, "f.<locals>.<lambda>");
	check("A.put(int, B)", FRAME_JAVA, false, "A.put(int, B)");
	check("get size", FRAME_JAVASCRIPT, false, "get size");
	check("a<b>", FRAME_MANAGED, false, "a<b>");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_demangled),
		cmocka_unit_test(test_managed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
