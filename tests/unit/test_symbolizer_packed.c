/* SPDX-License-Identifier: MIT */
/*
 * symbolizer: symbols that are packed into a stripped program (.gnu_debugdata), as Fedora's are,
 * and DWARF that zstd has compressed; damaged ones, and those that unpack without end, have no
 * names.
 */
#include "symbolizer_case.h"

static const char program_hidden[] =
	"static volatile unsigned long sink;\n"
	"__attribute__((noinline)) static void hidden_leaf(unsigned long n) { sink += n; }\n"
	"__attribute__((noinline)) static void hidden_caller(unsigned long n) { hidden_leaf(n); "
	"sink++; }\n"
	"int main(int argc, char **argv) { (void)argv; hidden_caller((unsigned long)argc); "
	"return 0; }\n";

/* "full", and "mini", which is stripped but for its packed symbols. */
static void make_mini(void)
{
	program_write("hidden.c", program_hidden);
	assert_int_equal(
		program_shell("cc -O1 -g -o full hidden.c && objcopy --only-keep-debug full all && "
			      "objcopy -S --remove-section .comment --keep-symbol=hidden_leaf "
			      "--keep-symbol=hidden_caller all symbols && rm -f symbols.xz && "
			      "xz -k symbols && strip -o bare full && "
			      "objcopy --add-section .gnu_debugdata=symbols.xz bare mini"),
		0);
}

static void test_packed_symbols(void **state)
{
	struct elf_file *full;
	uint64_t leaf, caller;
	struct opened o;

	(void)state;
	make_mini();
	full = program_open("full");
	leaf = program_offset(full, "hidden_leaf");
	caller = program_offset(full, "hidden_caller");
	elf_file_free(full);
	o = open_with("bare", &no_debug_files);
	expect_name(&o, leaf, NULL, 0);
	close_opened(&o);
	o = open_with("mini", &no_debug_files);
	expect_name(&o, leaf, "hidden_leaf", leaf);
	expect_name(&o, caller + 1, "hidden_caller", caller);
	close_opened(&o);
	/* with debug files, of which there is none */
	o = open_with("mini",
		      &(struct symbolizer_options){.debug_root = "/nowhere", .with_lines = true});
	expect_name(&o, leaf, "hidden_leaf", leaf);
	close_opened(&o);
}

/* No names, no crash, and in bounded memory. */
static void expect_no_packed_names(const char *make_section)
{
	struct elf_file *full = program_open("full");
	uint64_t leaf = program_offset(full, "hidden_leaf");
	struct opened o;

	elf_file_free(full);
	assert_int_equal(program_shell("%s", make_section), 0);
	assert_int_equal(program_shell("objcopy --add-section .gnu_debugdata=section bare hostile"),
			 0);
	o = open_with("hostile", &no_debug_files);
	expect_name(&o, leaf, NULL, 0);
	close_opened(&o);
}

static void test_hostile_packed_symbols(void **state)
{
	(void)state;
	make_mini();
	/* 200 MiB of zeros in 30 KB; what is no ELF file; cut short; no .xz */
	expect_no_packed_names("head -c 200M /dev/zero | xz -1 >section");
	expect_no_packed_names("echo text | xz >section");
	expect_no_packed_names("head -c 500 symbols.xz >section");
	expect_no_packed_names("head -c 500 /dev/zero >section");
	expect_no_packed_names("cat symbols >section");
	/* several files in one, as `xz` itself takes them: the first counts */
	expect_no_packed_names("(echo text | xz; cat symbols.xz) >section");
	/* symbols that are packed into the packed file are not looked for */
	expect_no_packed_names("objcopy --add-section .gnu_debugdata=symbols.xz bare twice && "
			       "rm -f twice.xz && xz twice && mv twice.xz section");
}

static bool has_zstd(void)
{
	return !program_shell("objcopy --compress-debug-sections=zstd full zstd");
}

static void test_zstd_sections(void **state)
{
	static const char *const flags[] = {"-gdwarf-5", "-gdwarf-4"};
	struct elf_file *file;
	uint64_t mark, outer;
	struct opened o;

	(void)state;
	make_mini();
	if (!has_zstd())
		skip();
	for (size_t i = 0; i < 2; i++) {
		compile_inlined("cc", flags[i]);
		file = program_open("inlined");
		mark = program_offset(file, "mark");
		outer = program_offset(file, "outer");
		elf_file_free(file);
		assert_int_equal(
			program_shell("objcopy --compress-debug-sections=zstd inlined zstd && "
				      "readelf -t zstd | grep -q ZSTD"),
			0);
		for (int times = 0; times < 2; times++) {
			o = open_with("zstd", &no_debug_files);
			check_chain(&o, mark, outer);
			close_opened(&o);
		}
	}
}

/* Each byte of the compressed sections' headers and beginnings is changed. */
static void test_damaged_zstd(void **state)
{
	struct elf_file *file;
	uint8_t *image;
	int64_t size;
	GElf_Shdr shdr;

	(void)state;
	make_mini();
	if (!has_zstd())
		skip();
	file = program_open("zstd");
	image = malloc(1 << 20);
	size = elf_file_read(file, 0, image, 1 << 20);
	assert_true(size > 0 && size < 1 << 20);
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf_file_libelf(file), scn));) {
		gelf_getshdr(scn, &shdr);
		for (size_t i = 0; shdr.sh_flags & SHF_COMPRESSED && i < 64; i++) {
			struct opened o;

			image[shdr.sh_offset + i] ^= 0xff;
			assert_int_equal(elf_file_open_memory(image, (size_t)size, &o.file), 0);
			assert_int_equal(symbolizer_new(&no_debug_files, &o.sym), 0);
			assert_int_equal(symbolizer_object_new(o.sym, o.file, NULL, &o.object), 0);
			for (uint64_t at = 0x1000; at < 0x1100; at += 16) {
				struct symbolizer_frame frame;

				assert_true(symbolizer_resolve(o.object, at, &frame, 1) >= 0);
			}
			close_opened(&o);
			image[shdr.sh_offset + i] ^= 0xff;
		}
	}
	free(image);
	elf_file_free(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_packed_symbols),
		cmocka_unit_test(test_hostile_packed_symbols),
		cmocka_unit_test(test_zstd_sections),
		cmocka_unit_test(test_damaged_zstd),
	};

	return cmocka_run_group_tests(tests, program_setup, program_teardown);
}
