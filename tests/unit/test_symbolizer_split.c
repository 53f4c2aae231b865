/* SPDX-License-Identifier: MIT */
/*
 * symbolizer on split DWARF: gcc's and clang's, DWARF 5 and 4, .dwo files where they were made and
 * beside a program that was moved, .dwp files, compressed ones, those that are missing or of
 * another build, and damaged ones.
 */
#include "symbolizer_case.h"

#include <sys/stat.h>

static const struct symbolizer_options here = {.debug_root = "/nowhere", .with_lines = true};

static bool has_command(const char *name)
{
	return !program_shell("command -v %s >/dev/null", name);
}

/* Compiles in the folder `obj`, so that its .dwo file stays there, and links to "inlined". Returns
 * whether the compiler can. */
static bool build(const char *compiler, const char *flags)
{
	program_write("inlined.c", program_inlined);
	return !program_shell(
		"rm -rf obj inlined inlined.dwp && mkdir obj && cd obj && %s -O2 %s "
		"-gsplit-dwarf -c -o inlined.o ../inlined.c && %s -o ../inlined inlined.o",
		compiler, flags, compiler);
}

static void offsets(uint64_t *ret_mark, uint64_t *ret_outer)
{
	struct elf_file *file = program_open("inlined");

	*ret_mark = program_offset(file, "mark");
	*ret_outer = program_offset(file, "outer");
	elf_file_free(file);
}

static void check(const char *name)
{
	uint64_t mark, outer;
	struct opened o;

	offsets(&mark, &outer);
	o = open_with(name, &here);
	check_chain(&o, mark, outer);
	close_opened(&o);
}

/* The line is known all the same, and the enclosing function by its symbol. */
static void check_missing(bool is_other)
{
	struct symbolizer_frame frame = {0};
	struct buf text = {0};
	uint64_t mark, outer;
	struct opened o;

	offsets(&mark, &outer);
	o = open_with("inlined", &here);
	assert_int_equal(symbolizer_resolve(o.object, mark, &frame, 1), 1);
	assert_string_equal(frame.function, "outer");
	assert_true(ends_with(frame.file, "/inlined.c"));
	assert_int_equal(frame.line, 3);
	assert_true(symbolizer_object_missing(o.object, &text));
	buf_put_u8(&text, 0);
	assert_memory_equal(text.data, "inlined.dwo", 11);
	assert_int_equal(!!strstr((char *)text.data, "of another build"), is_other);
	buf_free(&text);
	close_opened(&o);
}

static const char *const compilers[] = {"gcc", "clang"};
static const char *const versions[] = {"-gdwarf-5", "-gdwarf-4"};

static void test_dwo_files(void **state)
{
	(void)state;
	for (size_t i = 0; i < 4; i++) {
		if (!has_command(compilers[i / 2]))
			continue;
		assert_true(build(compilers[i / 2], versions[i % 2]));
		check("inlined");
		/* moved away with the program */
		assert_int_equal(
			program_shell("rm -rf moved && mkdir moved && mv obj/*.dwo moved/ && "
				      "cp inlined moved/"),
			0);
		check("moved/inlined");
		check_missing(false);
	}
}

/* Functions in several sections: ranges are lists, and addresses have no base. */
static void test_many_sections(void **state)
{
	(void)state;
	for (size_t i = 0; i < 4; i++) {
		char flags[100];

		if (!has_command(compilers[i / 2]))
			continue;
		snprintf(flags, sizeof(flags), "%s -ffunction-sections -fdata-sections",
			 versions[i % 2]);
		assert_true(build(compilers[i / 2], flags));
		check("inlined");
	}
}

static void test_compressed(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char flags[100];

		snprintf(flags, sizeof(flags), "%s -gz", versions[i]);
		assert_true(build("gcc", flags));
		check("inlined");
		assert_true(build("gcc", versions[i]));
		if (program_shell("objcopy --compress-debug-sections=zstd obj/inlined.dwo && "
				  "objcopy --compress-debug-sections=zstd inlined"))
			continue;
		check("inlined");
	}
}

static void test_packages(void **state)
{
	bool is_any = false;

	(void)state;
	for (size_t i = 0; i < 8; i++) {
		static const char *const tools[] = {"llvm-dwp", "dwp"};
		const char *tool = tools[i / 4], *compiler = compilers[i / 2 % 2];

		if (!has_command(tool) || !has_command(compiler))
			continue;
		assert_true(build(compiler, versions[i % 2]));
		/* binutils' dwp takes DWARF 4 alone, and LLVM 14's never ends with gcc's DWARF 5 */
		if (program_shell("timeout 5 %s -e inlined -o inlined.dwp", tool))
			continue;
		assert_int_equal(program_shell("rm -rf obj"), 0);
		check("inlined");
		is_any = true;
	}
	if (!is_any)
		skip();
}

/* A package of many units: each has offsets of its own. */
static void test_package_of_many(void **state)
{
	uint64_t mark, outer;
	struct opened o;

	(void)state;
	if (!has_command("llvm-dwp") || !has_command("clang"))
		skip();
	for (size_t i = 0; i < 2; i++) {
		program_write("inlined.c", program_inlined);
		program_write(
			"others.sh",
			"for i in 1 2 3 4 5 6 7 8 9; do\n"
			"echo \"static inline __attribute__((always_inline)) void in$i(void) "
			"{ __asm__ volatile(\\\".globl m$i; m$i: nop\\\"); } void f$i(void) { "
			"in$i(); }\" >f$i.c\n"
			"clang -O2 $1 -gsplit-dwarf -c f$i.c || exit 1\ndone\n"
			"clang -O2 $1 -gsplit-dwarf -c $PWD/inlined.c || exit 1\n"
			"gcc -o inlined f[1-5].o inlined.o f[6-9].o &&"
			"llvm-dwp -e inlined -o inlined.dwp && rm *.dwo\n");
		assert_int_equal(program_shell("sh others.sh %s", versions[i]), 0);
		check("inlined");
		offsets(&mark, &outer);
		o = open_with("inlined", &here);
		for (char k = '1'; k <= '9'; k++) {
			struct symbolizer_frame frames[FRAMES];
			char name[] = {'f', k, 0}, inner[] = {'i', 'n', k, 0},
			     at_name[] = {'m', k, 0};
			uint64_t at = program_offset(o.file, at_name);

			assert_int_equal(symbolizer_resolve(o.object, at, frames, FRAMES), 2);
			assert_string_equal(frames[0].function, inner);
			assert_string_equal(frames[1].function, name);
		}
		close_opened(&o);
	}
}

static void test_of_another_build(void **state)
{
	(void)state;
	assert_true(build("gcc", "-gdwarf-5"));
	assert_int_equal(program_shell("mv obj other"), 0);
	program_write("inlined.c", "int other(int x) { return x; }\n");
	assert_int_equal(
		program_shell("mkdir obj && cd obj && gcc -O2 -g -gsplit-dwarf -c -o inlined.o "
			      "../inlined.c"),
		0);
	program_write("inlined.c", program_inlined);
	check_missing(true);
}

static void test_is_a_pipe(void **state)
{
	(void)state;
	assert_true(build("gcc", "-gdwarf-5"));
	assert_int_equal(program_shell("rm obj/inlined.dwo && mkfifo obj/inlined.dwo && "
				       "mkfifo inlined.dwp inlined.dwo"),
			 0);
	check_missing(false);
	assert_int_equal(program_shell("rm obj/inlined.dwo inlined.dwp inlined.dwo"), 0);
}

/* --- damaged files --------------------------------------------------------------------------- */

static uint8_t whole[1 << 20], damaged[1 << 20];

static size_t read_file(const char *name)
{
	char path[256];
	size_t size;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", program_dir, name);
	f = fopen(path, "r");
	assert_non_null(f);
	size = fread(whole, 1, sizeof(whole), f);
	fclose(f);
	assert_true(size > 100 && size < sizeof(whole));
	return size;
}

static void write_file(const char *name, size_t size)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", program_dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(damaged, 1, size, f), size);
	fclose(f);
}

/* Every call returns, and no sanitizer reports an error. */
static void ask(uint64_t mark)
{
	struct symbolizer_frame frames[FRAMES];
	struct opened o = open_with("inlined", &here);

	for (uint64_t at = mark - 64; at < mark + 64; at += 4)
		assert_true(symbolizer_resolve(o.object, at, frames, FRAMES) >= 0);
	close_opened(&o);
}

static int rounds(void)
{
	const char *wanted = getenv("STACKD_TEST_ROUNDS");

	return wanted ? atoi(wanted) : 300;
}

static void damage(const char *name)
{
	static const uint8_t interesting[] = {0x00, 0xff, 0x7f, 0x80, 0x01, 0xfe};
	uint64_t mark, outer, seed = 1;
	size_t size = read_file(name);

	offsets(&mark, &outer);
	for (size_t cut = 0; cut < size; cut += size / 50 + 1) {
		memcpy(damaged, whole, cut);
		write_file(name, cut);
		ask(mark);
	}
	for (int round = 0; round < rounds(); round++) {
		memcpy(damaged, whole, size);
		for (int i = 0; i < 1 + round % 8; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			damaged[(seed >> 33) % size] = interesting[(seed >> 20) % 6];
		}
		write_file(name, size);
		ask(mark);
	}
}

static void test_damaged_dwo(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		assert_true(build("gcc", versions[i]));
		damage("obj/inlined.dwo");
	}
}

static void test_damaged_dwp(void **state)
{
	(void)state;
	if (!has_command("llvm-dwp") || !has_command("clang"))
		skip();
	for (size_t i = 0; i < 2; i++) {
		assert_true(build("clang", versions[i]));
		assert_int_equal(
			program_shell("llvm-dwp -e inlined -o inlined.dwp && rm obj/*.dwo"), 0);
		damage("inlined.dwp");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dwo_files),	cmocka_unit_test(test_many_sections),
		cmocka_unit_test(test_compressed),	cmocka_unit_test(test_packages),
		cmocka_unit_test(test_package_of_many), cmocka_unit_test(test_of_another_build),
		cmocka_unit_test(test_is_a_pipe),	cmocka_unit_test(test_damaged_dwo),
		cmocka_unit_test(test_damaged_dwp),
	};

	setenv("CCACHE_DISABLE", "1", 1); /* it may give files that name another folder's .dwo */
	return cmocka_run_group_tests(tests, program_setup, program_teardown);
}
