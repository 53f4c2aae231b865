/* SPDX-License-Identifier: MIT */
/* Perl's interpreter in a file: its version, and from where its loop is called. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <unistd.h>

#include "elf/elf_file.h"
#include "runtime/perl/perl_find.h"

static struct elf_file *open_elf(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;
	struct elf_file *file;

	if (fd < 0)
		skip();
	err = elf_file_open(fd, &file);
	close(fd);
	assert_int_equal(err, 0);
	return file;
}

static void test_perl(void **state)
{
	struct elf_file *file = open_elf("/usr/bin/perl");
	struct runtime_interpreter is;
	const uint8_t *ends;

	(void)state;
	assert_true(perl_is_in(file));
	assert_true(perl_find(file, &is));
	assert_int_equal(is.facts.language, STACKD_RUNTIME_PERL);
	if (is.facts.form == STACKD_INTERPRETER_NONE) {
		elf_file_free(file);
		skip();
	}
	assert_int_equal(is.facts.form, STACKD_INTERPRETER_PERL);
	assert_int_equal(is.facts.version >> 16, 5);
	assert_int_equal(is.n_evals, 1);
	assert_true(is.facts.eval == is.evals[0].start && is.evals[0].end > is.evals[0].start);
	assert_true(is.facts.perl.body_from && is.facts.left_from[0] < is.facts.left_to[0]);
	ends = is.facts.perl.ends;
	/* call_sv(), eval_sv() and amagic_call(); two functions of sort, patterns and defer;
	 * docatch() and two that compute constants; perl_run() */
	assert_true(ends[STACKD_PERL_CALL] >= 3);
	assert_true(ends[STACKD_PERL_BLOCK] >= ends[STACKD_PERL_CALL] + 4);
	assert_true(ends[STACKD_PERL_SCOPE] >= ends[STACKD_PERL_BLOCK] + 3);
	assert_true(ends[STACKD_PERL_RUN] >= ends[STACKD_PERL_SCOPE] + 1);
	elf_file_free(file);
}

static void test_other(void **state)
{
	struct elf_file *file = open_elf("/proc/self/exe");
	struct runtime_interpreter is;

	(void)state;
	assert_false(perl_is_in(file));
	assert_false(perl_find(file, &is));
	elf_file_free(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_perl),
					   cmocka_unit_test(test_other)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
