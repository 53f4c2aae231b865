/* SPDX-License-Identifier: MIT */
/* Perl's interpreter in a file: its version, and from where its loop is called. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "elf/elf_export.h"
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

/* --- files that lie --------------------------------------------------------------------------- */

#define TURNS	100
#define CHANGES 3

/* A copy of perl in memory. */
static int copy_perl(off_t *ret_size)
{
	int fd = open("/usr/bin/perl", O_RDONLY | O_CLOEXEC);
	int copy = memfd_create("perl", MFD_CLOEXEC);
	struct stat st;

	if (fd < 0)
		skip();
	assert_int_equal(fstat(fd, &st), 0);
	assert_true(copy >= 0);
	for (off_t left = st.st_size; left;) {
		uint8_t bytes[65536];
		ssize_t n = read(fd, bytes, sizeof(bytes));

		assert_true(n > 0 && write(copy, bytes, (size_t)n) == n);
		left -= n;
	}
	close(fd);
	*ret_size = st.st_size;
	return copy;
}

/* Where what is looked for can lie: the headers, the symbols behind them, the code of the loop, and
 * anything. */
static off_t place(uint64_t random, off_t loop, off_t size)
{
	const off_t ranges[][2] = {{32, 900}, {900, 131072}, {loop, loop + 64}, {0, size - 8}};
	const off_t *range = ranges[random % 4];

	return range[0] + (off_t)((random >> 8) % (uint64_t)(range[1] - range[0]));
}

/* What is found in a file holds together, or nothing is. */
static void check_found(const struct runtime_interpreter *is)
{
	const uint8_t *ends = is->facts.perl.ends;

	assert_int_equal(is->facts.language, STACKD_RUNTIME_PERL);
	if (is->facts.form == STACKD_INTERPRETER_NONE) {
		assert_int_equal(is->n_evals, 0);
		return;
	}
	assert_int_equal(is->facts.form, STACKD_INTERPRETER_PERL);
	assert_int_equal(is->n_evals, 1);
	assert_true(is->evals[0].end - is->evals[0].start <= 512);
	for (int i = 1; i < STACKD_PERL_SITE_KINDS; i++)
		assert_true(ends[i - 1] <= ends[i]);
	assert_true(ends[STACKD_PERL_RUN] <= STACKD_PERL_SITES);
}

/* Changes words of the file, looks for the interpreter, and puts the words back. */
static void try_changed(int fd, off_t loop, off_t size, uint64_t seed)
{
	uint64_t words[CHANGES];
	off_t at[CHANGES];
	struct runtime_interpreter is;
	struct elf_file *file;

	for (int i = 0; i < CHANGES; i++) {
		uint64_t random = hash_mix64(seed * CHANGES + (uint64_t)i);
		uint64_t word = random % 3 ? hash_mix64(random) : 0 - (random >> 60);

		at[i] = place(random >> 2, loop, size);
		assert_int_equal(pread(fd, &words[i], 8, at[i]), 8);
		assert_true(pwrite(fd, &word, 1 + (random >> 40) % 8, at[i]) > 0);
	}
	if (!elf_file_open(fd, &file)) {
		(void)perl_is_in(file);
		if (perl_find(file, &is))
			check_found(&is);
		elf_file_free(file);
	}
	for (int i = CHANGES; i--;)
		assert_int_equal(pwrite(fd, &words[i], 8, at[i]), 8);
}

static void test_changed(void **state)
{
	off_t size;
	int fd = copy_perl(&size);
	uint64_t vaddr, loop;
	struct elf_file *file;

	(void)state;
	assert_int_equal(elf_file_open(fd, &file), 0);
	if (elf_export_find(file, "Perl_runops_standard", &vaddr))
		skip();
	assert_true(elf_file_vaddr_to_offset(file, vaddr, &loop));
	elf_file_free(file);
	for (uint64_t seed = 0; seed < TURNS; seed++)
		try_changed(fd, (off_t)loop, size, seed);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_perl),
					   cmocka_unit_test(test_changed),
					   cmocka_unit_test(test_other)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
