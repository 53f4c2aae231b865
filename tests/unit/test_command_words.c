/* SPDX-License-Identifier: MIT */
/* Which programs a command's words and scripts are taken for. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon/regions/command_words.h"
#include "daemon/regions/shell_words.h"

/* --- words ----------------------------------------------------------------------------------- */

/* Writes a word, in parentheses if it may be no command. `prog` and `mpirun` are programs. */
static int write_word(void *arg, const char *word, bool may_be_command)
{
	fprintf(arg, may_be_command ? "%s " : "(%s) ", word);
	return !strcmp(word, "prog") || !strcmp(word, "mpirun");
}

static void check_words(const char *text, bool is_shell, const char *expected)
{
	char copy[512], got[512] = "";
	FILE *out = fmemopen(got, sizeof(got), "w");

	assert_non_null(out);
	snprintf(copy, sizeof(copy), "%s", text);
	assert_int_equal(shell_words_each(copy, is_shell, write_word, out), 0);
	fclose(out);
	assert_string_equal(got, expected);
	assert_string_equal(copy, text);
}

static void words_at_a_commands_place(void **state)
{
	(void)state;
	check_words("#!/bin/sh\nprog one two\n# prog\nother; third|fourth &&fifth\n", true,
		    "/bin/sh prog other third fourth fifth ");
	check_words("A=1 B=./b prog x\n", true, "(./b) prog ");
	check_words("x=$(prog a) y=`other b`", true, "prog other ");
	check_words("if prog a; then exec ./c 1; else ! other; fi\n. ./env.sh\n", true,
		    "prog ./c other fi ./env.sh ");
	check_words("echo text/of ${A}/x $B \"$C\"\n", true, "echo (text/of) (/x) ");
	check_words("f() { prog a; }", true, "f prog ");
}

static void arguments_of_a_launcher(void **state)
{
	(void)state;
	check_words("mpirun -n 4 -x A=1 prog one\nother", true, "mpirun prog other ");
	check_words("mpirun.openmpi --host a prog one", true, "mpirun.openmpi a prog ");
	check_words("sh -c 'a b; prog c'", true, "sh a b prog ");
	check_words("$RUN prog one", true, "prog ");
	check_words("prog mpirun other", true, "prog ");
}

static void another_languages_text(void **state)
{
	(void)state;
	check_words("import os; os.system('./a b'); x = c/d # e\n", false, "(./a) (c/d) ");
	assert_true(shell_words_is_script("#!/bin/sh\nx"));
	assert_true(shell_words_is_script("#! /usr/bin/env bash\nx"));
	assert_true(shell_words_is_script("x"));
	assert_false(shell_words_is_script("#!/usr/bin/python3\nsh"));
	assert_false(shell_words_is_script("#!/usr/bin/env python3"));
}

/* --- files ----------------------------------------------------------------------------------- */

struct folder {
	char path[64], bin[80], before[256];
};

static void write_file(const char *path, const char *text, mode_t mode)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, mode), 0);
}

/* Goes to a folder with the programs bin/prog, bin/python3, bin/sh and bin/other, and ./here. PATH
 * has bin after ten empty folders. */
static int set_up(void **state)
{
	struct folder *f = calloc(1, sizeof(*f));
	char path[512];
	int len;

	assert_non_null(f);
	snprintf(f->path, sizeof(f->path), "/tmp/test_command_words.XXXXXX");
	assert_non_null(mkdtemp(f->path));
	assert_non_null(getcwd(f->before, sizeof(f->before)));
	assert_int_equal(chdir(f->path), 0);
	assert_int_equal(mkdir("bin", 0755), 0);
	for (size_t i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "bin/%s",
			 (const char *const[]){"prog", "python3", "sh", "other"}[i]);
		write_file(path, "", 0755);
	}
	write_file("here", "", 0755);
	len = snprintf(path, sizeof(path), "/0:/1:/2:/3:/4:/5:/6:/7:/8:/9:%s/bin", f->path);
	assert_true(len > 0 && (size_t)len < sizeof(path));
	assert_int_equal(setenv("PATH", path, 1), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct folder *f = *state;
	static const char *const files[] = {"bin/prog", "bin/python3", "bin/sh", "bin/other",
					    "here",	"script",      "inner"};

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		unlink(files[i]);
	rmdir("bin");
	assert_int_equal(chdir(f->before), 0);
	rmdir(f->path);
	free(f);
	return 0;
}

static int note_path(void *arg, const char *path)
{
	fprintf(arg, "%s ", strrchr(path, '/') + 1);
	return 0;
}

static void check_found(char *const *command, const char *expected)
{
	char got[512] = "";
	FILE *out = fmemopen(got, sizeof(got), "w");

	assert_non_null(out);
	assert_int_equal(command_words_each(command, note_path, out), 0);
	fclose(out);
	assert_string_equal(got, expected);
}

#define FOUND(expected, ...) check_found((char *const[]){__VA_ARGS__, NULL}, expected)

static void programs_of_words(void **state)
{
	(void)state;
	FOUND("other ", "prog", "1", "other", "none");
	FOUND("prog ", "mpirun", "-n", "4", "prog");
	FOUND("here ", "mpirun", "here");
	FOUND("here ", "env", "A=1", "./here");
	FOUND("prog other ", "sh", "-c", "prog x; other prog");
	FOUND("", "python3", "-c", "prog; other");
}

static void programs_of_scripts(void **state)
{
	(void)state;
	write_file("script", "prog 1\n./inner\n", 0644);
	write_file("inner", "#!/usr/bin/env python3\nother\n", 0755);
	FOUND("prog inner env python3 ", "sh", "script");
	FOUND("env python3 ", "./inner");
	write_file("script", "import other\nprog\n./here\n", 0644);
	FOUND("", "python3", "script");
	write_file("script", "import other\nprog\n./here\n", 0755);
	FOUND("script ", "python3", "./script");
	write_file("script", "#!/bin/sh\n./script\n./inner; ./inner\nprog\n", 0755);
	FOUND("sh script inner env python3 prog ", "./script");
}

/* Each word is looked for once, and no more than some hundred of them: only so is a program found
 * behind thousands of equal words, and not behind hundreds of different ones. */
static void few_looks(void **state)
{
	static char text[65000];
	size_t len = 0;

	(void)state;
	while (len < sizeof(text) - 100)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "none%d\n", (int)len % 8);
	snprintf(text + len, sizeof(text) - len, "prog\n");
	write_file("script", text, 0644);
	FOUND("prog ", "sh", "script");
	len = 0;
	for (int i = 0; i < 400; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "./none%d\n", i);
	snprintf(text + len, sizeof(text) - len, "./here\n");
	write_file("script", text, 0644);
	FOUND("", "sh", "script");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_at_a_commands_place),
		cmocka_unit_test(arguments_of_a_launcher),
		cmocka_unit_test(another_languages_text),
		cmocka_unit_test_setup_teardown(programs_of_words, set_up, tear_down),
		cmocka_unit_test_setup_teardown(programs_of_scripts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(few_looks, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
