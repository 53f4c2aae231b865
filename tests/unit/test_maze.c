/* SPDX-License-Identifier: MIT */
/* Code that takes the analysis longer than any sane code does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those above. */
#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/hash.h"

static int count_row(void *arg, uint64_t offset, const struct stackd_rule *rule)
{
	(void)offset;
	(void)rule;
	++*(size_t *)arg;
	return 0;
}

/* push %rbx; je: to anywhere near. Each way has another depth, so each jump changes what is known.
 */
static uint8_t *make_maze(size_t size)
{
	Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			     .e_type = ET_EXEC,
			     .e_machine = EM_X86_64,
			     .e_version = EV_CURRENT,
			     .e_entry = 0x1000,
			     .e_phoff = sizeof(Elf64_Ehdr),
			     .e_ehsize = sizeof(Elf64_Ehdr),
			     .e_phentsize = sizeof(Elf64_Phdr),
			     .e_phnum = 1};
	Elf64_Phdr load = {.p_type = PT_LOAD,
			   .p_flags = PF_R | PF_X,
			   .p_offset = 0x1000,
			   .p_vaddr = 0x1000,
			   .p_filesz = size,
			   .p_memsz = size};
	uint8_t *bytes = calloc(1, 0x1000 + size);

	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + sizeof(header), &load, sizeof(load));
	for (uint32_t i = 0; i + 3 <= size; i += 3) {
		bytes[0x1000 + i] = 0x53;
		bytes[0x1000 + i + 1] = 0x74;
		bytes[0x1000 + i + 2] = (uint8_t)(3 * ((int)(hash_mix64(i) % 80) - 40));
	}
	return bytes;
}

/* Code in which flow never settles is given up. */
static void test_maze(void **state)
{
	enum { SIZE = 3 * 200000 };
	struct analysis_range range = {0x1000, 0x1000 + SIZE, true};
	struct analysis_input in = {.ranges = &range, .range_count = 1};
	struct analysis_stats stats;
	struct elf_file *elf;
	uint8_t *bytes = make_maze(SIZE);
	size_t count = 0;

	(void)state;
	assert_int_equal(elf_file_open_memory(bytes, 0x1000 + SIZE, &elf), 0);
	in.elf = elf;
	assert_int_equal(analysis_run(&in, count_row, &count, &stats), 0);
	assert_int_equal(stats.left_out, SIZE);
	assert_int_equal(count, 0);
	elf_file_free(elf);
	free(bytes);
}

static bool is_due(void *arg)
{
	return ++*(int *)arg == 2;
}

/* The work is given up when it is asked to. */
static void test_stops(void **state)
{
	enum { SIZE = 3 * 200000 };
	int asked = 0;
	struct analysis_range range = {0x1000, 0x1000 + SIZE, true};
	struct analysis_input in = {.stop = {is_due, &asked}, .ranges = &range, .range_count = 1};
	struct analysis_stats stats;
	struct elf_file *elf;
	uint8_t *bytes = make_maze(SIZE);
	size_t count = 0;

	(void)state;
	assert_int_equal(elf_file_open_memory(bytes, 0x1000 + SIZE, &elf), 0);
	in.elf = elf;
	assert_int_equal(analysis_run(&in, count_row, &count, &stats), -ECANCELED);
	assert_int_equal(asked, 2);
	assert_int_equal(count, 0);
	elf_file_free(elf);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_maze),
		cmocka_unit_test(test_stops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
