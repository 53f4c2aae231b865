/* SPDX-License-Identifier: MIT */
/*
 * symbolizer on files that were cut short or had bytes changed: names may be missing or wrong, but
 * every call returns, and no sanitizer reports an error.
 */
#include "sym_program.h"

#define FRAMES	  16
#define MAX_IMAGE (256 * 1024)
#define QUESTIONS 24

static uint8_t image[MAX_IMAGE], copy[MAX_IMAGE];

static size_t compile(const char *flags)
{
	struct elf_file *file;
	int64_t size;

	program_write("inlined.c", program_inlined);
	assert_int_equal(
		program_shell("cc -O2 %s -nostartfiles -Wl,-e,main -o inlined inlined.c", flags),
		0);
	file = program_open("inlined");
	size = elf_file_read(file, 0, image, sizeof(image));
	assert_true(size > 1000 && size < MAX_IMAGE);
	elf_file_free(file);
	return (size_t)size;
}

/* Resolves offsets all over the file; returns the number of names. */
static int ask(const uint8_t *bytes, size_t size)
{
	static const struct symbolizer_options options = {.with_lines = true};
	struct symbolizer_frame frames[FRAMES];
	struct symbolizer_object *object;
	struct symbolizer *sym;
	struct elf_file *file;
	size_t named = 0;

	if (elf_file_open_memory(bytes, size, &file))
		return 0;
	assert_int_equal(symbolizer_new(&options, &sym), 0);
	assert_int_equal(symbolizer_object_new(sym, file, "/x", &object), 0);
	for (uint64_t i = 0; i < QUESTIONS; i++) {
		int n = symbolizer_resolve(object, 0x1000 + i * 4, frames, FRAMES);

		assert_true(n >= 0);
		for (int k = 0; k < n && k < FRAMES; k++) {
			named += frames[k].function && strlen(frames[k].function) < MAX_IMAGE;
			named += frames[k].file && strlen(frames[k].file) == SIZE_MAX;
		}
	}
	symbolizer_free(sym);
	elf_file_free(file);
	return (int)named;
}

static void test_every_cut(void **state)
{
	size_t size = compile("-g");

	(void)state;
	assert_true(ask(image, size) >= 4);
	for (size_t cut = 0; cut < size; cut += 61) {
		uint8_t *exact = malloc(cut ? cut : 1);

		memcpy(exact, image, cut);
		ask(exact, cut);
		free(exact);
	}
}

static uint32_t random_below(uint64_t *seed, size_t n)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((*seed >> 33) % n);
}

static void flip_rounds(const char *flags, int rounds, uint64_t seed)
{
	static const uint8_t interesting[] = {0x00, 0xff, 0x7f, 0x80, 0x01, 0xfe};
	size_t size = compile(flags);

	for (int round = 0; round < rounds; round++) {
		uint32_t flips = 1 + random_below(&seed, 16);

		memcpy(copy, image, size);
		while (flips--) {
			uint32_t at = random_below(&seed, size);
			uint32_t how = random_below(&seed, 12);

			copy[at] = how < 6 ? interesting[how] : (uint8_t)random_below(&seed, 256);
		}
		ask(copy, size);
	}
}

static int rounds(void)
{
	const char *wanted = getenv("STACKD_TEST_ROUNDS");

	return wanted ? atoi(wanted) : 400;
}

static void test_flipped_bytes_dwarf_5(void **state)
{
	(void)state;
	flip_rounds("-gdwarf-5", rounds(), 1);
}

static void test_flipped_bytes_dwarf_4(void **state)
{
	(void)state;
	flip_rounds("-gdwarf-4", rounds(), 2);
}

static void test_flipped_bytes_compressed(void **state)
{
	(void)state;
	flip_rounds("-gdwarf-5 -gz", rounds(), 3);
}

/* Section by section: all of its content replaced, its size and offset made absurd. */
static void test_forged_sections(void **state)
{
	static const uint64_t absurd[] = {
		0, 1, UINT32_MAX, INT64_MAX, UINT64_MAX, UINT64_MAX - 24, 0x100000000};
	size_t size = compile("-g");
	Elf64_Ehdr header;

	(void)state;
	memcpy(&header, image, sizeof(header));
	for (unsigned section = 0; section < header.e_shnum; section++) {
		size_t at = header.e_shoff + section * sizeof(Elf64_Shdr);

		for (unsigned field = 0; field < sizeof(Elf64_Shdr); field += 8) {
			for (size_t i = 0; i < sizeof(absurd) / sizeof(*absurd); i++) {
				memcpy(copy, image, size);
				memcpy(copy + at + field, &absurd[i], 8);
				ask(copy, size);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_cut),
		cmocka_unit_test(test_flipped_bytes_dwarf_5),
		cmocka_unit_test(test_flipped_bytes_dwarf_4),
		cmocka_unit_test(test_flipped_bytes_compressed),
		cmocka_unit_test(test_forged_sections),
	};

	return cmocka_run_group_tests(tests, program_setup, program_teardown);
}
