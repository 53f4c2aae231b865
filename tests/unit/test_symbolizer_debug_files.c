/* SPDX-License-Identifier: MIT */
/*
 * symbolizer: separate debug files, found by build-id, by link and from debuginfod; files that do
 * not belong to the program are rejected.
 */
#include "symbolizer_case.h"

#include <dlfcn.h>
#include <sys/stat.h>

/* Compiles program_inlined and splits it into "stripped" and "inlined.debug"; returns the offsets
 * of its symbols. */
static void split(const char *flags, uint64_t *ret_mark, uint64_t *ret_outer)
{
	struct elf_file *file;

	compile_inlined("cc", flags);
	file = program_open("inlined");
	*ret_mark = program_offset(file, "mark");
	*ret_outer = program_offset(file, "outer");
	elf_file_free(file);
	assert_int_equal(program_shell("rm -rf debug .debug && mkdir debug .debug && "
				       "objcopy --only-keep-debug inlined inlined.debug && "
				       "strip -o stripped inlined && "
				       "objcopy --add-gnu-debuglink=inlined.debug stripped"),
			 0);
}

/* Writes the program's build-id (SHA-1) in hexadecimal. */
static void build_id_text(const char *name, char ret_hex[41])
{
	struct elf_file *file = program_open(name);
	size_t len;
	const uint8_t *id = elf_file_build_id(file, &len);

	assert_int_equal(len, 20);
	for (int i = 0; i < 20; i++)
		sprintf(ret_hex + 2 * i, "%02x", id[i]);
	elf_file_free(file);
}

/* Debug files are looked up in the folder `debug` of the scratch folder, too. */
static char root[256];
static const struct symbolizer_options with_root = {.debug_root = root, .with_lines = true};

static int setup(void **state)
{
	if (program_setup(state))
		return -1;
	snprintf(root, sizeof(root), "%s/debug", program_dir);
	return 0;
}

static void test_debug_file_by_build_id(void **state)
{
	uint64_t mark, outer;
	struct opened o;
	char hex[41];

	(void)state;
	split("-g -Wl,--build-id=sha1", &mark, &outer);
	build_id_text("stripped", hex);
	assert_int_equal(program_shell("mkdir -p debug/.build-id/%.2s && mv inlined.debug "
				       "debug/.build-id/%.2s/%s.debug",
				       hex, hex, hex + 2),
			 0);
	o = open_with("stripped", &no_debug_files);
	expect_name(&o, mark, NULL, 0);
	close_opened(&o);
	o = open_with("stripped", &with_root);
	check_chain(&o, mark, outer);
	close_opened(&o);
	/* the debug file of another program */
	program_write("other.c", "int main(void) { return 7; }\n");
	assert_int_equal(
		program_shell("cc -g -o debug/.build-id/%.2s/%s.debug other.c", hex, hex + 2), 0);
	o = open_with("stripped", &with_root);
	expect_name(&o, mark, NULL, 0);
	close_opened(&o);
}

static void test_debug_file_by_link(void **state)
{
	static const char *const folders[] = {".", ".debug", "debug/$PWD"};
	static const char *const flags[] = {"-g -Wl,--build-id=sha1", "-g -Wl,--build-id=none"};
	uint64_t mark, outer;
	struct opened o;

	(void)state;
	for (size_t i = 0; i < 6; i++) {
		split(flags[i % 2], &mark, &outer);
		assert_int_equal(program_shell("mkdir -p debug/$PWD && mv inlined.debug x && "
					       "mv x %s/inlined.debug",
					       folders[i / 2]),
				 0);
		o = open_with("stripped", &with_root);
		check_chain(&o, mark, outer);
		close_opened(&o);
		/* One more byte at its end: the checksum differs, a build-id does not. */
		assert_int_equal(program_shell("printf x >>%s/inlined.debug", folders[i / 2]), 0);
		if (i % 2 == 0)
			continue;
		o = open_with("stripped", &with_root);
		expect_name(&o, mark, NULL, 0);
		close_opened(&o);
	}
}

/* A pipe under the debug file's name must not block the symbolizer. */
static void test_debug_file_is_a_pipe(void **state)
{
	uint64_t mark, outer;
	struct opened o;

	(void)state;
	split("-g", &mark, &outer);
	assert_int_equal(program_shell("rm inlined.debug && mkfifo inlined.debug"), 0);
	o = open_with("stripped", &with_root);
	expect_name(&o, mark, NULL, 0);
	close_opened(&o);
	assert_int_equal(program_shell("rm inlined.debug"), 0);
}

/* The file that dwz moves shared DWARF to is found by its build-id; if it is missing, DWARF is not
 * used. */
static void test_shared_debug_file(void **state)
{
	uint64_t mark, outer;
	struct opened o;

	(void)state;
	split("-gdwarf-4", &mark, &outer);
	if (program_shell("command -v dwz >/dev/null && cp inlined one && cp inlined two && "
			  "mkdir -p debug/.dwz && "
			  "dwz -m debug/.dwz/shared -M /usr/lib/debug/.dwz/shared one two"))
		skip();
	o = open_with("one", &with_root);
	check_chain(&o, mark, outer);
	close_opened(&o);
	assert_int_equal(program_shell("rm debug/.dwz/shared"), 0);
	o = open_with("one", &with_root);
	expect_name(&o, mark, "outer", outer);
	close_opened(&o);
}

static void test_debuginfod(void **state)
{
	const struct symbolizer_options options = {.use_debuginfod = true, .with_lines = true};
	uint64_t mark, outer;
	char path[256], hex[41];
	struct opened o;
	void *library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_NODELETE);

	(void)state;
	if (!library)
		skip();
	split("-g -Wl,--build-id=sha1", &mark, &outer);
	build_id_text("stripped", hex);
	assert_int_equal(program_shell("mkdir -p server/buildid/%s && "
				       "mv inlined.debug server/buildid/%s/debuginfo",
				       hex, hex),
			 0);
	snprintf(path, sizeof(path), "%s/cache", program_dir);
	setenv("DEBUGINFOD_CACHE_PATH", path, 1);
	unsetenv("DEBUGINFOD_URLS");
	o = open_with("stripped", &options);
	expect_name(&o, mark, NULL, 0);
	close_opened(&o);
	snprintf(path, sizeof(path), "file://%s/server/", program_dir);
	setenv("DEBUGINFOD_URLS", path, 1);
	o = open_with("stripped", &options);
	check_chain(&o, mark, outer);
	close_opened(&o);
	dlclose(library);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_debug_file_by_build_id),
		cmocka_unit_test(test_debug_file_by_link),
		cmocka_unit_test(test_debug_file_is_a_pipe),
		cmocka_unit_test(test_shared_debug_file),
		cmocka_unit_test(test_debuginfod),
	};

	return cmocka_run_group_tests(tests, setup, program_teardown);
}
