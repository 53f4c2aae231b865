/* SPDX-License-Identifier: MIT */
/*
 * The CFI of real libraries: that it becomes rules of the fixed form, and that with bytes flipped,
 * cut or lying it costs bounded time and memory.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <link.h>
#include <sys/resource.h>
#include <time.h>

#include "cfi/cfi_index.h"
#include "cfi/cfi_section.h"
#include "unwind/walk_rule.h"
#include "unwind/walk_step.h"
#include "damage.h"
#include "walk_self.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* --- real libraries ------------------------------------------------------------------------ */

static struct elf_file *open_file(const char *path)
{
	struct elf_file *file = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		elf_file_open(fd, &file);
	if (fd >= 0)
		close(fd);
	return file;
}

static int collect_path(struct dl_phdr_info *info, size_t size, void *arg)
{
	char(*paths)[256] = arg;

	(void)size;
	while (**paths)
		paths++;
	if (info->dlpi_name[0] == '/')
		snprintf(*paths, sizeof(*paths), "%s", info->dlpi_name);
	return 0;
}

struct rule_counts {
	uint64_t all, slow, bad;
};

/* Rules of the start, the middle and the end of every `stride`th entry. */
static void compile_all(const struct cfi_index *index, size_t stride, struct rule_counts *counts)
{
	for (size_t i = 0; i < cfi_index_count(index); i += stride) {
		uint64_t start, end;

		cfi_index_range(index, i, &start, &end);
		for (int k = 0; k < 3; k++) {
			uint64_t at[] = {start, start + (end - start) / 2, end - 1};
			struct walk_rule rule;

			assert_int_equal(walk_rule_compile(index, at[k], &rule), 0);
			assert_int_not_equal(rule.fast.cfa, STACKD_CFA_NONE);
			counts->slow += rule.slow != NULL;
			counts->bad += rule.fast.cfa == STACKD_CFA_DAEMON && !rule.slow;
			counts->all++;
			walk_rule_free(&rule);
		}
	}
}

/* Nearly every rule of the libraries that this test is linked with fits the fixed form. */
static void test_real_libraries(void **state)
{
	static char paths[64][256];
	struct rule_counts counts = {0};

	(void)state;
	dl_iterate_phdr(collect_path, paths);
	for (size_t i = 0; i < COUNT(paths) && paths[i][0]; i++) {
		struct elf_file *file = open_file(paths[i]);
		struct cfi_index *index = NULL;

		assert_non_null(file);
		assert_int_equal(cfi_index_new(file, &index), 0);
		compile_all(index, cfi_index_count(index) / 3000 + 1, &counts);
		cfi_index_free(index);
		elf_file_free(file);
	}
	assert_true(counts.all > 5000);
	assert_true(counts.slow * 1000 < counts.all);
	assert_true(counts.bad * 1000 < counts.all);
}

/* --- hostile bytes ------------------------------------------------------------------------- */

/* Finds where a section is in a file in memory; 0 for none. */
static size_t find_section(const uint8_t *file, const char *name, size_t *ret_len)
{
	const Elf64_Ehdr *ehdr = (const Elf64_Ehdr *)file;
	const Elf64_Shdr *shdr = (const Elf64_Shdr *)(file + ehdr->e_shoff);
	const char *names = (const char *)file + shdr[ehdr->e_shstrndx].sh_offset;

	for (unsigned i = 1; i < ehdr->e_shnum; i++) {
		if (strcmp(names + shdr[i].sh_name, name))
			continue;
		*ret_len = shdr[i].sh_size;
		return shdr[i].sh_offset;
	}
	return 0;
}

/* One round: what can be opened is compiled, and every rule takes a step over random memory. */
static void use_bytes(const uint8_t *bytes, size_t size)
{
	uint64_t stack[64];
	struct cfi_index *index = NULL;
	struct elf_file *file = NULL;

	if (elf_file_open_memory(bytes, size, &file))
		return;
	if (!cfi_index_new(file, &index)) {
		size_t n = cfi_index_count(index);

		for (size_t i = 0; i < COUNT(stack); i++)
			stack[i] = 0x7000 + damage_random() % 512;
		for (int k = 0; k < 100; k++) {
			struct stack_walk s = {.walk.valid = WALK_KNOWN_ALL,
					       .memory = {(uint8_t *)stack, 0x7000, sizeof(stack),
							  false, 0, 0, NULL, 0, 0}};
			enum stackd_end_reason reason = WALK_GO_ON;
			struct walk_rule rule;
			uint64_t start, end;

			cfi_index_range(index, damage_random() % n, &start, &end);
			for (int i = 0; i < WALK_REGS; i++)
				s.walk.r[i] = 0x7000 + damage_random() % 256;
			start += damage_random() % (end - start);
			assert_int_equal(walk_rule_compile(index, start, &rule), 0);
			if (rule.fast.cfa != STACKD_CFA_NONE)
				reason = walk_step_by_rule(&s, &rule);
			assert_true(reason == WALK_GO_ON || reason < STACKD_END_COUNT);
			walk_rule_free(&rule);
		}
	}
	cfi_index_free(index);
	elf_file_free(file);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Flips bits of .eh_frame, or of its section header, of a real file. */
static void test_flipped_bytes(void **state)
{
	size_t size, len = 0, at, headers;
	uint8_t *good = damage_load_self(&size), *bad = malloc(size);
	double end = now() + 1.5;

	(void)state;
	at = find_section(good, ".eh_frame", &len);
	headers = ((Elf64_Ehdr *)good)->e_shoff;
	assert_true(at && len > 256 && headers);
	for (int round = 0; round < 3000 && now() < end; round++) {
		unsigned flips = 1u << damage_random() % 10;

		memcpy(bad, good, size);
		for (unsigned i = 0; i < flips; i++)
			bad[at + damage_random() % len] ^= (uint8_t)(1u << damage_random() % 8);
		if (round % 16 == 0)
			bad[headers + damage_random() % (size - headers)] ^=
				(uint8_t)damage_random();
		use_bytes(bad, size);
	}
	free(bad);
	free(good);
}

/* Every entry of a real file cut short at random: nothing is read beyond. */
static void test_cut_files(void **state)
{
	size_t size, len = 0, at;
	uint8_t *good = damage_load_self(&size);

	(void)state;
	at = find_section(good, ".eh_frame", &len);
	for (int round = 0; round < 40; round++) {
		size_t cut = at + damage_random() % len;
		uint8_t *bad = malloc(cut);

		memcpy(bad, good, cut);
		use_bytes(bad, cut);
		free(bad);
	}
	free(good);
}

/* A section that says it is huge costs no memory. */
static void test_forged_size(void **state)
{
	size_t size;
	uint8_t *bytes = damage_load_self(&size);
	Elf64_Ehdr *ehdr = (Elf64_Ehdr *)bytes;
	Elf64_Shdr *shdr = (Elf64_Shdr *)(bytes + ehdr->e_shoff);
	struct rusage before, after;

	(void)state;
	for (unsigned i = 1; i < ehdr->e_shnum; i++)
		shdr[i].sh_size |= CFI_SECTION_MAX_BYTES - 1;
	getrusage(RUSAGE_SELF, &before);
	use_bytes(bytes, size);
	getrusage(RUSAGE_SELF, &after);
	assert_true(after.ru_maxrss - before.ru_maxrss < 64 * 1024);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_real_libraries),
		cmocka_unit_test(test_forged_size),
		cmocka_unit_test(test_cut_files),
		cmocka_unit_test(test_flipped_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
