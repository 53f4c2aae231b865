/* SPDX-License-Identifier: MIT */
/*
 * symbolizer: programs whose names, inlined calls and lines are known, compiled in several ways;
 * symbols of every kind; PLT stubs.
 */
#include "symbolizer_case.h"

#include <dlfcn.h>
#include <link.h>

/* --- inlined calls and lines --------------------------------------------------------------- */

static void test_inlined_calls(void **state)
{
	static const char *const ways[][2] = {
		{"cc", "-g"},
		{"cc", "-gdwarf-4 -no-pie"},
		{"cc", "-gdwarf-5 -gz"},
		{"cc", "-g -static"},
		{"cc", "-g -ffunction-sections -Wl,--build-id=none"},
		{"clang", "-g"},
		{"clang", "-gdwarf-4"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		struct opened o;

		if (program_shell("command -v %s >/dev/null", ways[i][0]))
			continue;
		compile_inlined(ways[i][0], ways[i][1]);
		o = open_with("inlined", &no_debug_files);
		check_chain(&o, program_offset(o.file, "mark"), program_offset(o.file, "outer"));
		close_opened(&o);
	}
}

static void test_few_frames(void **state)
{
	struct symbolizer_frame frames[FRAMES] = {0};
	struct opened o;
	uint64_t mark;

	(void)state;
	compile_inlined("cc", "-g");
	o = open_with("inlined", &no_debug_files);
	mark = program_offset(o.file, "mark");
	assert_int_equal(symbolizer_resolve(o.object, mark, NULL, 0), 3);
	assert_int_equal(symbolizer_resolve(o.object, mark, frames, 2), 3);
	assert_string_equal(frames[1].function, "middle");
	assert_null(frames[2].function);
	close_opened(&o);
}

/* Lines are not requested, or exceed most_bytes. */
static void test_without_lines(void **state)
{
	static const struct symbolizer_options ways[] = {{.with_lines = false},
							 {.with_lines = true, .most_bytes = 1}};
	struct symbolizer_frame frames[FRAMES];

	(void)state;
	compile_inlined("cc", "-g");
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		struct opened o = open_with("inlined", &ways[i]);
		uint64_t mark = program_offset(o.file, "mark");

		assert_int_equal(symbolizer_resolve(o.object, mark, frames, FRAMES), 1);
		assert_string_equal(frames[0].function, "outer");
		assert_null(frames[0].file);
		assert_false(frames[0].is_inlined);
		assert_int_equal(symbolizer_resolve(o.object, UINT64_MAX, frames, FRAMES), 0);
		assert_int_equal(symbolizer_resolve(o.object, 1 << 30, frames, FRAMES), 0);
		close_opened(&o);
	}
}

/* Looking up starts loads no tables of names. */
static void test_starts_alone(void **state)
{
	struct symbolizer_frame frame;
	struct opened o;
	uint64_t outer;

	(void)state;
	compile_inlined("cc", "-g");
	o = open_with("inlined", &no_debug_files);
	outer = program_offset(o.file, "outer");
	assert_int_equal(symbolizer_start(o.object, program_offset(o.file, "mark"), &frame), 1);
	assert_true(frame.start == outer);
	assert_null(frame.function);
	assert_int_equal(symbolizer_object_bytes(o.object), 0);
	assert_int_equal(symbolizer_start(o.object, UINT64_MAX, &frame), 0);
	assert_int_equal(symbolizer_start(o.object, 0, &frame), 0);
	close_opened(&o);
}

/* Without a symbol table, DWARF names the function. */
static void test_dwarf_names_functions(void **state)
{
	uint64_t mark, outer;
	struct opened o;

	(void)state;
	compile_inlined("cc", "-g");
	o = open_with("inlined", &no_debug_files);
	mark = program_offset(o.file, "mark");
	outer = program_offset(o.file, "outer");
	close_opened(&o);
	assert_int_equal(program_shell("objcopy --strip-all --keep-section '.debug*' inlined bare"),
			 0);
	o = open_with("bare", &no_debug_files);
	check_chain(&o, mark, outer);
	close_opened(&o);
}

/* Compiles functions with names as GNAT's to "ada", whose unit has a language by its number in
 * DWARF; 0: C, as it is. */
static void compile_as(unsigned language)
{
	program_write("ada.c", "#define INLINE static inline __attribute__((always_inline))\n"
			       "INLINE int pack__add(int x) {\n"
			       "	__asm__ volatile(\".globl mark; mark: nop\");\n"
			       "	return x + 1;\n"
			       "}\n"
			       "__attribute__((noinline)) int pack__work__2(int x) {\n"
			       "	return pack__add(x) * 3;\n"
			       "}\n"
			       "int main(int c, char **v) { (void)v; return pack__work__2(c); }\n");
	assert_int_equal(program_shell("cc -O2 -g -dA -S -o ada.s ada.c"), 0);
	if (language)
		assert_int_equal(
			program_shell("sed -i '/byte/s/0x[0-9a-f]*\\(.*DW_AT_language\\)/%#x\\1/' "
				      "ada.s",
				      language),
			0);
	assert_int_equal(program_shell("cc -o ada ada.s"), 0);
}

static void check_names(const char *inlined, const char *function)
{
	struct opened o = open_with("ada", &no_debug_files);
	struct symbolizer_frame frames[FRAMES] = {0};
	uint64_t mark = program_offset(o.file, "mark");

	assert_int_equal(symbolizer_resolve(o.object, mark, NULL, 0), 2);
	assert_int_equal(symbolizer_resolve(o.object, mark, frames, 1), 2);
	assert_string_equal(frames[0].function, inlined);
	assert_int_equal(symbolizer_resolve(o.object, mark, frames, FRAMES), 2);
	assert_string_equal(frames[0].function, inlined);
	assert_string_equal(frames[1].function, function);
	assert_true(frames[1].start == program_offset(o.file, "pack__work__2"));
	close_opened(&o);
}

/* GNAT's names are read in units of Ada, whatever its version, and in no others. */
static void test_ada_names(void **state)
{
	static const unsigned versions[] = {3, 13, 0x2e, 0x2f};

	(void)state;
	compile_as(0);
	check_names("pack__add", "pack__work__2");
	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
		compile_as(versions[i]);
		check_names("pack.add", "pack.work");
	}
	assert_int_equal(program_shell("strip -g -o stripped ada && mv stripped ada"), 0);
	{
		struct opened o = open_with("ada", &no_debug_files);
		uint64_t work = program_offset(o.file, "pack__work__2");

		expect_name(&o, work, "pack__work__2", work); /* nothing tells that it is Ada's */
		close_opened(&o);
	}
}

static void test_cxx_linkage_names(void **state)
{
	struct symbolizer_frame frames[FRAMES];
	struct opened o;

	(void)state;
	if (program_shell("command -v g++ >/dev/null"))
		skip();
	program_write("t.cc", "namespace ns { struct S {\n"
			      "  __attribute__((always_inline)) int f(int x) {\n"
			      "    __asm__ volatile(\".globl mark; mark: nop\"); return x; }\n"
			      "  int g(int);\n"
			      "}; }\n"
			      "int ns::S::g(int x) { return f(x) + 1; }\n"
			      "int main(int c, char **) { return ns::S().g(c); }\n");
	assert_int_equal(program_shell("g++ -O1 -g -fno-inline -o cxx t.cc"), 0);
	o = open_with("cxx", &no_debug_files);
	assert_int_equal(symbolizer_resolve(o.object, program_offset(o.file, "mark"), frames, 8),
			 2);
	assert_string_equal(frames[0].function, "_ZN2ns1S1fEi");
	assert_string_equal(frames[1].function, "_ZN2ns1S1gEi");
	assert_int_equal(frames[0].line, 3);
	assert_int_equal(frames[1].line, 6);
	close_opened(&o);
}

/* --- symbols ------------------------------------------------------------------------------- */

static const char assembly[] = ".text\n"
			       ".globl _start, global_alias, label_in_sized, last\n"
			       ".weak aaa_weak_alias\n"
			       ".type _start, @function\n"
			       ".type local_alias, @function\n"
			       ".type global_alias, @function\n"
			       ".type aaa_weak_alias, @function\n"
			       ".type __nested, @function\n"
			       ".type __GI___nested, @function\n"
			       ".globl PMPI_Send, ompi_send\n.weak MPI_Send\n"
			       ".type PMPI_Send, @function\n.type MPI_Send, @function\n"
			       ".type ompi_send, @function\n"
			       ".type table, @object\n"
			       "_start: .skip 32, 0x90\n"
			       ".size _start, 32\n"
			       ".skip 16, 0xcc\n" /* 32: of no function */
			       "local_alias: global_alias: aaa_weak_alias:\n"
			       ".skip 8, 0x90\n" /* 48 */
			       "label_in_sized: .skip 8, 0x90\n"
			       ".size local_alias, 16\n.size global_alias, 16\n"
			       ".size aaa_weak_alias, 16\n"
			       "$x: $x.1: sizeless: .skip 8, 0x90\n" /* 64 */
			       "$d: $x.2: .skip 8, 0x90\n" /* mapping symbols end no function */
			       "table: .skip 16, 0\n"	   /* 80: data, of no size */
			       "outer: .skip 8, 0x90\n"	   /* 96 */
			       "__GI___nested: __nested:\n"
			       ".skip 8, 0x90\n" /* 104 */
			       ".size __nested, 8\n.size __GI___nested, 8\n"
			       ".skip 16, 0x90\n" /* 112: the rest of outer */
			       ".type outer, @function\n.size outer, 32\n"
			       "__start_thing: .skip 16, 0x90\n" /* 128: a mark */
			       ".Lhidden: .skip 16, 0x90\n"
			       "last: .skip 16, 0x90\n" /* 160: to the end */
			       ".section .text.other, \"ax\"\n"
			       ".skip 16, 0x90\n"
			       "ompi_send: PMPI_Send: MPI_Send: .skip 16, 0x90\n"
			       ".size PMPI_Send, 16\n.size MPI_Send, 16\n.size ompi_send, 16\n"
			       ".set lying, _start\n"
			       ".data\n.globl data\ndata: .quad 1\n";

static void test_kinds_of_symbols(void **state)
{
	struct opened o;
	uint64_t text;

	(void)state;
	program_write("s.S", assembly);
	assert_int_equal(program_shell("cc -c -o s.o s.S && ld --unique=.text.other -o s s.o"), 0);
	o = open_with("s", &no_debug_files);
	text = program_offset(o.file, "_start");
	expect_name(&o, text, "_start", text);
	expect_name(&o, text + 31, "_start", text);
	expect_name(&o, text + 32, NULL, 0);
	expect_name(&o, text + 47, NULL, 0);
	expect_name(&o, text + 48, "global_alias", text + 48);
	expect_name(&o, text + 60, "global_alias", text + 48);
	expect_name(&o, text + 64, "sizeless", text + 64);
	expect_name(&o, text + 79, "sizeless", text + 64);
	expect_name(&o, text + 80, NULL, 0);
	expect_name(&o, text + 96, "outer", text + 96);
	expect_name(&o, text + 104, "__nested", text + 104);
	expect_name(&o, text + 112, "outer", text + 96);
	expect_name(&o, text + 127, "outer", text + 96);
	expect_name(&o, text + 128, NULL, 0);
	expect_name(&o, text + 144, NULL, 0);
	expect_name(&o, text + 160, "last", text + 160);
	expect_name(&o, text + 175, "last", text + 160);
	expect_name(&o, text + 176, NULL, 0);		     /* the next section */
	expect_name(&o, text + 192, "MPI_Send", text + 192); /* rather than its second names */
	close_opened(&o);
}

/* One name of each line is shown: the first. */
static const char *const aliases[][4] = {
	{"known", "__known", "__GI_known", "known.localalias"},
	{"weak_name", "__weak_alias", "_longer_weak_alias", NULL}, /* all exported */
	{"shared", "cshared", "xshared", NULL},
	{"__memmove_fast", "__memcpy_fast", NULL, NULL},
	{"plain", "plain_longer.isra.0", "_plain", NULL},
	{"__other_files_use", "local_name", NULL, NULL},
};

#define EXPORTED_ALIASES 3 /* from the third line on, names are local, but for the last's first */

static void write_aliases(void)
{
	char text[4096];
	size_t at = 0;

	for (size_t i = 0; i < sizeof(aliases) / sizeof(*aliases); i++) {
		at += (size_t)snprintf(text + at, sizeof(text) - at, "\n");
		for (int j = 3; j >= 0; j--) {
			const char *name = aliases[i][j], *reach = ".local";

			if (!name)
				continue;
			if (!strncmp(name, "weak", 4))
				reach = ".weak";
			else if ((i < EXPORTED_ALIASES && !strchr(name, '.') &&
				  strncmp(name, "__GI_", 5)) ||
				 !strcmp(name, "__other_files_use"))
				reach = ".globl";
			at += (size_t)snprintf(text + at, sizeof(text) - at,
					       "%s %s\n.type %s, @function\n.size %s, 16\n%s:\n",
					       reach, name, name, name, name);
		}
		at += (size_t)snprintf(text + at, sizeof(text) - at, ".skip 16, 0x90\n");
	}
	program_write("aliases.S", text);
}

static void test_aliases(void **state)
{
	uint64_t at[sizeof(aliases) / sizeof(*aliases)];
	struct opened o;

	(void)state;
	write_aliases();
	assert_int_equal(program_shell("cc -shared -nostdlib -o aliases.so aliases.S"), 0);
	o = open_with("aliases.so", &no_debug_files);
	for (size_t i = 0; i < sizeof(aliases) / sizeof(*aliases); i++) {
		at[i] = program_offset(o.file, aliases[i][0]);
		expect_name(&o, at[i], aliases[i][0], at[i]);
		expect_name(&o, at[i] + 15, aliases[i][0], at[i]);
	}
	close_opened(&o);
	/* What is left are the exported names: of those it is the same one. */
	assert_int_equal(program_shell("strip aliases.so"), 0);
	o = open_with("aliases.so", &no_debug_files);
	for (size_t i = 0; i < EXPORTED_ALIASES; i++)
		expect_name(&o, at[i], aliases[i][0], at[i]);
	close_opened(&o);
}

/* A handler's caller is looked up by the byte before sigreturn's code, which is in the function
 * before it, or in none; but the return address of a call is of the caller. */
static void test_sigreturn(void **state)
{
	struct opened o;
	uint64_t touching, apart, caller;

	(void)state;
	program_write("restore.S", ".text\n.globl before, touching, apart, caller, behind\n"
				   ".type before, @function\n.type touching, @function\n"
				   ".type apart, @function\n.type caller, @function\n"
				   ".type behind, @function\n"
				   "before: .skip 15, 0x90\n ret\n.size before, .-before\n"
				   "touching: mov $15, %rax\n syscall\n"
				   ".size touching, .-touching\n"
				   ".skip 16, 0xcc\n"
				   "apart: mov $15, %rax\n syscall\n"
				   ".size apart, .-apart\n"
				   "caller: .skip 8, 0x90\n call before\n.size caller, .-caller\n"
				   "behind: mov $15, %rax\n syscall\n"
				   ".size behind, .-behind\n");
	assert_int_equal(program_shell("cc -shared -nostdlib -Wl,-Bsymbolic -o restore.so "
				       "restore.S"),
			 0);
	o = open_with("restore.so", &no_debug_files);
	touching = program_offset(o.file, "touching");
	apart = program_offset(o.file, "apart");
	caller = program_offset(o.file, "caller");
	expect_name(&o, touching - 1, "touching", touching);
	expect_name(&o, touching - 2, "before", program_offset(o.file, "before"));
	expect_name(&o, apart - 1, "apart", apart);
	expect_name(&o, apart - 2, NULL, 0);
	expect_name(&o, program_offset(o.file, "behind") - 1, "caller", caller);
	close_opened(&o);
}

/* In a stripped library a symbol without a size ends where its unwind entry does. */
static void test_sizeless_in_stripped_library(void **state)
{
	struct opened o;
	uint64_t visible;

	(void)state;
	program_write("lib.S", ".text\n.globl visible\n"
			       "visible: .cfi_startproc\n.skip 4, 0x90\n"
			       ".cfi_adjust_cfa_offset 8\n.skip 12, 0x90\n.cfi_endproc\n"
			       "hidden: .cfi_startproc\n.skip 16, 0x90\n.cfi_endproc\n");
	assert_int_equal(program_shell("cc -shared -nostdlib -o lib.so lib.S"), 0);
	o = open_with("lib.so", &no_debug_files);
	visible = program_offset(o.file, "visible");
	expect_name(&o, visible + 16, "hidden", visible + 16);
	close_opened(&o);
	assert_int_equal(program_shell("strip lib.so"), 0);
	o = open_with("lib.so", &no_debug_files);
	expect_name(&o, visible, "visible", visible);
	expect_name(&o, visible + 15, "visible", visible);
	expect_name(&o, visible + 16, NULL, 0);
	close_opened(&o);
}

/* --- PLT stubs ----------------------------------------------------------------------------- */

static const char calls[] = "#include <string.h>\n"
			    "#include <unistd.h>\n"
			    "int main(int c, char **v) {\n"
			    "	getpid(); getuid(); memcpy(v, v + 1, c);\n"
			    "	__asm__ volatile(\".globl mark; mark: call getppid@PLT\");\n"
			    "	return strlen(v[0]);\n"
			    "}\n";

static void check_stub(const char *name, const char *at, const char *expected)
{
	struct opened o = open_with(name, &no_debug_files);
	uint64_t mark = program_offset(o.file, at), vaddr, stub;
	uint8_t code[5];
	int32_t distance;

	assert_int_equal(elf_file_read(o.file, mark, code, 5), 5);
	assert_int_equal(code[0], 0xe8);
	memcpy(&distance, code + 1, 4);
	assert_true(elf_file_offset_to_vaddr(o.file, mark, &vaddr));
	vaddr += 5 + (uint64_t)(int64_t)distance;
	assert_true(elf_file_vaddr_to_offset(o.file, vaddr, &stub));
	expect_name(&o, stub, expected, stub);
	expect_name(&o, stub + 4, expected, stub);
	close_opened(&o);
}

static void test_plt_stubs(void **state)
{
	static const char *const flags[] = {
		"-Wl,-z,lazy",
		"-Wl,-z,now",
		"-fcf-protection=full -Wl,-z,lazy,-z,ibtplt",
		"-fcf-protection=full -Wl,-z,now,-z,ibtplt",
		"-no-pie -Wl,-z,lazy",
		"-fuse-ld=lld",
		"-fuse-ld=gold",
	};

	(void)state;
	program_write("calls.c", calls);
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		if (program_shell("cc -O1 %s -o calls calls.c", flags[i])) {
			assert_non_null(strstr(flags[i], "-fuse-ld")); /* not installed */
			continue;
		}
		check_stub("calls", "mark", "getppid@plt");
	}
}

/* A second PLT's first one: pushes the relocation's index. */
static void test_lazy_ibt_plt(void **state)
{
	struct symbolizer_frame frame;
	size_t names, found = 0;
	struct opened o;
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	Elf *elf;

	(void)state;
	program_write("calls.c", calls);
	assert_int_equal(program_shell("cc -O1 -fcf-protection=full -Wl,-z,lazy,-z,ibtplt "
				       "-o calls calls.c"),
			 0);
	o = open_with("calls", &no_debug_files);
	elf = elf_file_libelf(o.file);
	elf_getshdrstrndx(elf, &names);
	while ((scn = elf_nextscn(elf, scn))) {
		gelf_getshdr(scn, &shdr);
		if (strcmp(elf_strptr(elf, names, shdr.sh_name), ".plt"))
			continue;
		expect_name(&o, shdr.sh_offset, NULL, 0);
		for (uint64_t at = 16; at < shdr.sh_size; at += 16, found++) {
			assert_int_equal(
				symbolizer_resolve(o.object, shdr.sh_offset + at, &frame, 1), 1);
			assert_true(ends_with(frame.function, "@plt"));
		}
	}
	assert_true(found >= 3);
	close_opened(&o);
}

static void test_static_ifunc(void **state)
{
	(void)state;
	program_write("ifunc.c",
		      "static int one(void) { return 1; }\n"
		      "static void *resolve(void) { return one; }\n"
		      "int indirect(void) __attribute__((ifunc(\"resolve\")));\n"
		      "int main(void) {\n"
		      "	__asm__ volatile(\".globl mark; mark: call indirect@PLT\"); return 0; }\n");
	assert_int_equal(program_shell("cc -O1 -static -no-pie -o ifunc ifunc.c"), 0);
	check_stub("ifunc", "mark", "indirect@plt");
}

/* --- real files ---------------------------------------------------------------------------- */

static int find_libc(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	if (!strstr(info->dlpi_name, "/libc.so.6"))
		return 0;
	*(struct dl_phdr_info *)arg = *info;
	return 1;
}

static void test_libc(void **state)
{
	static const struct symbolizer_options options = {.debug_root = "/usr/lib/debug",
							  .with_lines = true};
	struct symbolizer_frame frames[FRAMES];
	struct dl_phdr_info info = {0};
	struct opened o = {0};
	uint64_t offset;
	int fd, n;

	(void)state;
	if (!dl_iterate_phdr(find_libc, &info))
		skip();
	fd = open(info.dlpi_name, O_RDONLY | O_CLOEXEC);
	assert_int_equal(elf_file_open(fd, &o.file), 0);
	close(fd);
	assert_int_equal(symbolizer_new(&options, &o.sym), 0);
	assert_int_equal(symbolizer_object_new(o.sym, o.file, NULL, &o.object), 0);
	assert_true(elf_file_vaddr_to_offset(o.file, (uintptr_t)getppid - info.dlpi_addr, &offset));
	n = symbolizer_resolve(o.object, offset, frames, FRAMES);
	assert_true(n >= 1 && n <= FRAMES);
	assert_non_null(strstr(frames[n - 1].function, "getppid"));
	assert_true(frames[n - 1].start == offset);
	close_opened(&o);
}

static void test_free_nothing(void **state)
{
	(void)state;
	symbolizer_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inlined_calls),
		cmocka_unit_test(test_few_frames),
		cmocka_unit_test(test_without_lines),
		cmocka_unit_test(test_starts_alone),
		cmocka_unit_test(test_dwarf_names_functions),
		cmocka_unit_test(test_cxx_linkage_names),
		cmocka_unit_test(test_ada_names),
		cmocka_unit_test(test_kinds_of_symbols),
		cmocka_unit_test(test_aliases),
		cmocka_unit_test(test_sigreturn),
		cmocka_unit_test(test_sizeless_in_stripped_library),
		cmocka_unit_test(test_plt_stubs),
		cmocka_unit_test(test_lazy_ibt_plt),
		cmocka_unit_test(test_static_ifunc),
		cmocka_unit_test(test_libc),
		cmocka_unit_test(test_free_nothing),
	};

	return cmocka_run_group_tests(tests, program_setup, program_teardown);
}
