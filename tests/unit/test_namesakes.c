/* SPDX-License-Identifier: MIT */
/* Functions of one name in one object: what tells them apart, and which are one function. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "fake_store.h"
#include "model/namesakes.h"
#include "model/profile.h"

/* A function's code at an offset: its start is where the page of 0x100 bytes begins. */
static void put(struct store_reader *f, uint32_t object, uint64_t offset, const char *name,
		const char *file)
{
	fake_function(f, object, offset, true, name);
	f->lines[f->tables.n_lines - 1].file = file;
}

/* Frees the reader. The suffixes of its lines are as wanted, in order. */
static void check(struct store_reader *f, const char *const *wanted)
{
	struct namesakes *n;
	uint32_t i;

	fake_done(f);
	assert_int_equal(namesakes_find(&f->tables, &n), 0);
	for (i = 0; i < f->tables.n_lines; i++) {
		const char *suffix = namesakes_suffix(n, i);

		assert_string_equal(suffix ? suffix : "", wanted[i]);
	}
	assert_null(wanted[i]);
	namesakes_free(n);
	fake_free(f);
}

#define SUFFIXES(...)                                                                              \
	(const char *const[])                                                                      \
	{                                                                                          \
		__VA_ARGS__, NULL                                                                  \
	}

static void test_files(void **state)
{
	struct store_reader *f = fake_new();
	uint32_t prog = fake_object(f, OBJECT_ELF, "/bin/prog");

	(void)state;
	put(f, prog, 0x1010, "parse", "/src/lexer.c");
	put(f, prog, 0x1020, "parse", "/usr/include/list.h"); /* an inlined call that was dropped */
	put(f, prog, 0x1030, "parse", "/src/lexer.c");
	put(f, prog, 0x1110, "parse", "/usr/include/list.h");
	put(f, prog, 0x1120, "parse", "/src/reader.c");
	put(f, prog, 0x1130, "parse", "/src/reader.c");
	put(f, prog, 0x1210, "other", "/src/reader.c");
	check(f, SUFFIXES(" (lexer.c)", " (lexer.c)", " (lexer.c)", " (reader.c)", " (reader.c)",
			  " (reader.c)", ""));
}

static void test_starts(void **state)
{
	struct store_reader *f = fake_new();
	uint32_t prog = fake_object(f, OBJECT_ELF, "/bin/prog");
	uint32_t kernel = fake_object(f, OBJECT_KERNEL, "[kernel.kallsyms]");
	uint32_t module = fake_object(f, OBJECT_MODULE, "[nf_tables]");

	(void)state;
	put(f, prog, 0x1010, "parse", "/a/util.c");
	put(f, prog, 0x1110, "parse", "/b/util.c");
	put(f, prog, 0x1210, "parse", NULL);
	put(f, prog, 0x1310, "parse", "");
	put(f, prog, 0x1410, "parse", "lexer.c");
	put(f, kernel, 0x7010, "cmp", NULL);
	put(f, kernel, 0x7110, "cmp", NULL);
	put(f, module, 0x210, "cmp", NULL);
	put(f, module, 0x310, "cmp", NULL);
	check(f, SUFFIXES(" [prog+0x1000]", " [prog+0x1100]", " [prog+0x1200]", " [prog+0x1300]",
			  " (lexer.c)", " [kernel.kallsyms+0x7000]", " [kernel.kallsyms+0x7100]",
			  " [nf_tables+0x200]", " [nf_tables+0x300]"));
}

static void test_one_function(void **state)
{
	struct store_reader *f = fake_new();
	uint32_t prog = fake_object(f, OBJECT_ELF, "/bin/prog");
	uint32_t lib = fake_object(f, OBJECT_ELF, "/lib/lib.so");
	uint32_t jit = fake_object(f, OBJECT_JIT, "[jit]");
	uint32_t kernel = fake_object(f, OBJECT_KERNEL, "[kernel.kallsyms]");

	(void)state;
	put(f, prog, 0x1010, "parse", "lexer.c"); /* one start: generated code */
	put(f, prog, 0x1020, "parse", "lexer.l");
	put(f, prog, 0x2010, "parse.cold", "lexer.c");
	put(f, lib, 0x3010, "parse", "reader.c"); /* another object */
	put(f, prog, 0x4010, "free@plt", NULL);	  /* .plt and .plt.sec */
	put(f, prog, 0x4110, "free@plt", NULL);
	put(f, jit, 0x5010, "hot", NULL); /* compiled again */
	put(f, jit, 0x5110, "hot", NULL);
	put(f, prog, 0x6010, "_ZN1AC1Ev", "a.cc"); /* clones of one constructor */
	put(f, prog, 0x6110, "_ZN1AC2Ev", "a.cc");
	put(f, kernel, 0x7010, "bpf_prog_6deef7357e7b4530_sd_devices", NULL);
	put(f, kernel, 0x7110, "bpf_prog_6deef7357e7b4530_sd_devices", NULL);
	put(f, prog, 0x10, "parse", "reader.c"); /* its start is not known */
	check(f, SUFFIXES("", "", "", "", "", "", "", "", "", "", "", "", ""));
}

static void test_inlined(void **state)
{
	static const char *const files[] = {"/src/lexer.c", "/src/vector.h", NULL};
	struct store_reader *f = fake_new();
	uint32_t prog = fake_object(f, OBJECT_ELF, "/bin/prog");

	(void)state;
	put(f, prog, 0x1010, "parse", "lexer.c");
	put(f, prog, 0x1110, "parse", "reader.c");
	for (int i = 0; i < 3; i++) {
		fake_location(f, prog, 0x1210 + (uint64_t)i, true);
		fake_line(f, "parse", 0, true);
		f->lines[f->tables.n_lines - 1].file = files[i];
		fake_line(f, "run", 0x1200, false);
	}
	fake_location(f, prog, 0x1310, true);
	fake_line(f, "only_inlined", 0, true); /* of two files, perhaps: no start tells */
	fake_line(f, "run", 0x1200, false);
	check(f, SUFFIXES(" (lexer.c)", " (reader.c)", " (lexer.c)", "", "", "", "", "", "", ""));
}

/* A file that was made anew has its functions at other places, and the same names for them. */
static void test_versions(void **state)
{
	struct store_reader *f = fake_new();
	uint32_t old = fake_object(f, OBJECT_ELF, "/bin/prog");
	uint32_t new = fake_object(f, OBJECT_ELF, "/bin/prog");

	(void)state;
	put(f, old, 0x1010, "parse", "lexer.c");
	put(f, old, 0x2010, "twice", "lexer.c");
	put(f, new, 0x1110, "parse", "lexer.c");
	put(f, new, 0x1210, "parse", "reader.c");
	put(f, new, 0x2110, "twice", "lexer.c");
	check(f, SUFFIXES(" (lexer.c)", "", " (lexer.c)", " (reader.c)", ""));
}

/* Symbols have both names, and patterns find them by either. */
static void test_symbols(void **state)
{
	static const char *const shown[] = {"parse(int) (lexer.c)", "parse(int) (reader.c)"};
	struct store_reader *f = fake_new();
	uint32_t prog = fake_object(f, OBJECT_ELF, "/bin/prog"), of;
	struct profile *p;

	(void)state;
	put(f, prog, 0x1010, "_ZL5parsei", "/src/lexer.c");
	put(f, prog, 0x1110, "_ZL5parsei", "/src/reader.c");
	of = fake_thread(f, fake_process(f, 12, "prog"), 12, "prog");
	for (uint32_t i = 0; i < 2; i++)
		fake_samples(f, of, fake_node(f, 0, i), STACKD_END_ENTRY, 1);
	assert_int_equal(profile_new(fake_done(f), NULL, &p), 0);
	for (uint32_t i = 0; i < 2; i++) {
		size_t n;
		const struct profile_symbol *symbol = profile_location_frames(p, i, &n)->symbol;

		assert_string_equal(symbol->name, shown[i]);
		assert_string_equal(profile_symbol_plain(symbol), "parse(int)");
		assert_true(profile_symbol_matches(symbol, "parse"));
		assert_true(profile_symbol_matches(symbol, "parse(int)"));
		assert_int_equal(profile_symbol_matches(symbol, shown[0]), i == 0);
		assert_int_equal(profile_symbol_matches(symbol, "*(reader.c)"), i == 1);
		assert_false(profile_symbol_matches(symbol, "lexer.c"));
	}
	profile_free(p);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),	     cmocka_unit_test(test_starts),
		cmocka_unit_test(test_one_function), cmocka_unit_test(test_inlined),
		cmocka_unit_test(test_versions),     cmocka_unit_test(test_symbols),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
