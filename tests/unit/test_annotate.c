/* SPDX-License-Identifier: MIT */
/* Samples by source line and instruction. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "fake_store.h"
#include "report/annotate.h"
#include "report/annotate_view.h"

struct made {
	struct store_reader *f;
	struct profile *p;
	struct annotate a;
};

static struct made make(const struct profile_filter *filter, const char *pattern)
{
	struct made m = {.f = fake_small()};

	assert_int_equal(profile_new(m.f, filter, &m.p), 0);
	assert_int_equal(annotate_make(m.p, pattern, 20, &m.a), 0);
	return m;
}

static void unmake(struct made *m)
{
	annotate_free(&m->a);
	profile_free(m->p);
	fake_free(m->f);
}

static void test_counts(void **state)
{
	struct made m = make(NULL, "app::work");
	const struct annotate_function *f = m.a.functions;

	(void)state;
	assert_int_equal(m.a.n, 1);
	/* 40 with inl inlined into it, 20 in memcpy below it, 1 incomplete that hit in it */
	assert_int_equal(f->total, 61);
	assert_int_equal(f->self, 1);
	assert_int_equal(f->n_locations, 2);
	assert_int_equal(f->locations[0].total, 40);
	assert_int_equal(f->locations[0].self, 0);
	assert_int_equal(f->locations[1].total, 21);
	assert_int_equal(f->locations[1].self, 1);
	assert_int_equal(f->n_lines, 2);
	assert_int_equal(f->lines[0].total + f->lines[1].total, 61);
	assert_string_equal(f->lines[0].file, "prog.cc");
	unmake(&m);
}

static void test_inlined(void **state)
{
	struct made m = make(NULL, "inl");

	(void)state;
	assert_int_equal(m.a.functions->self, 40);
	assert_int_equal(m.a.functions->n_locations, 1);
	assert_true(m.a.functions->locations[0].is_inlined);
	unmake(&m);
	/* where inlined functions are not shown, their samples are the enclosing function's */
	m = make(&(struct profile_filter){.no_inlined = true}, "app::work");
	assert_int_equal(m.a.functions->self, 41);
	unmake(&m);
}

/* Four calls of itself on one path: each sample once, and once hit. */
static void test_recursion(void **state)
{
	struct made m = make(NULL, "fact");

	(void)state;
	assert_int_equal(m.a.functions->total, 10);
	assert_int_equal(m.a.functions->self, 10);
	assert_int_equal(m.a.functions->lines[0].total, 10);
	unmake(&m);
}

static void test_choice_of_functions(void **state)
{
	struct made m = make(NULL, NULL);
	struct annotate a;

	(void)state;
	assert_int_equal(m.a.n, 1);
	assert_string_equal(m.a.functions->symbol->name, "inl");
	assert_int_equal(m.a.n_more, 0);
	assert_int_equal(annotate_make(m.p, "nothing", 20, &a), -ENOENT);
	assert_int_equal(annotate_make(m.p, "*", 2, &a), 0);
	assert_int_equal(a.n, 2);
	assert_string_equal(a.functions[0].symbol->name, "inl");
	assert_int_equal(a.functions[0].self, 40);
	assert_int_equal(a.functions[1].self, 20);
	assert_int_equal(a.n_more, 7);
	annotate_free(&a);
	unmake(&m);
}

/* Without programs and sources, the contents of the store are shown, and the missing files named.
 */
static void test_missing_files(void **state)
{
	struct made m = make(NULL, "*");
	const struct annotate_code_options code_options = {.root = "/nonexistent"};
	struct report_options options = {0};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size), *full = fopen("/dev/full", "w");

	(void)state;
	assert_int_equal(annotate_write_text(m.p, &m.a, &code_options, &options, out), 0);
	options.width = 20;
	assert_int_equal(annotate_write_text(m.p, &m.a, &code_options, &options, out), 0);
	fclose(out);
	assert_non_null(strstr(text, "No such file or directory"));
	assert_non_null(strstr(text, "its code is in no file"));
	free(text);
	assert_int_equal(annotate_write_text(m.p, &m.a, &code_options, &options, full), -EIO);
	fclose(full);
	full = fopen("/dev/full", "w");
	assert_int_equal(annotate_write_json(m.p, &m.a, &code_options, full), -EIO);
	fclose(full);
	unmake(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),	      cmocka_unit_test(test_inlined),
		cmocka_unit_test(test_recursion),     cmocka_unit_test(test_choice_of_functions),
		cmocka_unit_test(test_missing_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
