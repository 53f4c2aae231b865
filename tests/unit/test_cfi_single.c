/* SPDX-License-Identifier: MIT */
/*
 * Rules made of one entry, which the linker's search table led to, are those that all of a file's
 * call frame information has: in real libraries, at and around the ends of entries, where nothing
 * covers the code, and with the search table damaged.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cfi/cfi_index.h"
#include "damage.h"
#include "unwind/walk_rule.h"

#define COUNT(a)   (sizeof(a) / sizeof((a)[0]))
#define MAX_PATHS  64
#define PER_FILE   400 /* entries, about */
#define TABLE_HEAD 12  /* bytes of .eh_frame_hdr before its rows */

struct library {
	char path[256];
	struct elf_file *file;
	struct cfi_index *index;
};

struct tally {
	uint64_t same, untold, found;
};

static int collect(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct library *libraries = arg;
	size_t i = 0;

	(void)size;
	while (i < MAX_PATHS && libraries[i].path[0])
		i++;
	if (i < MAX_PATHS && info->dlpi_name[0] == '/')
		snprintf(libraries[i].path, sizeof(libraries[i].path), "%s", info->dlpi_name);
	return 0;
}

static void open_library(struct library *library)
{
	int fd = open(library->path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(elf_file_open(fd, &library->file), 0);
	assert_int_equal(cfi_index_new(library->file, &library->index), 0);
	close(fd);
}

static void close_library(struct library *library)
{
	cfi_index_free(library->index);
	elf_file_free(library->file);
}

static void assert_same_rule(const struct cfi_index *index, const struct cfi_index *near,
			     uint64_t vaddr)
{
	struct walk_rule expected, rule;

	assert_int_equal(walk_rule_compile(index, vaddr, &expected), 0);
	assert_int_equal(walk_rule_compile(near, vaddr, &rule), 0);
	assert_memory_equal(&rule.fast, &expected.fast, sizeof(rule.fast));
	assert_int_equal(rule.is_signal, expected.is_signal);
	assert_int_equal(rule.is_entry, expected.is_entry);
	assert_int_equal(rule.slow != NULL, expected.slow != NULL);
	if (rule.slow && rule.slow->bytes)
		assert_int_equal(rule.slow->bytes, expected.slow->bytes);
	walk_rule_free(&expected);
	walk_rule_free(&rule);
}

/* Compares the rules at an address that the one entry covers. */
static void check_at(const struct library *library, uint64_t vaddr, struct tally *tally)
{
	uint64_t start = 0, end = 0, near_start = 0, near_end = 0;
	struct cfi_index *near = NULL;
	bool found = cfi_index_find(library->index, vaddr, &start, &end);
	int err = cfi_index_new_at(library->file, vaddr, &near);

	if (err) {
		assert_int_equal(err, -ENODATA);
		assert_null(near);
		tally->untold++;
		return;
	}
	assert_int_equal(cfi_index_find(near, vaddr, &near_start, &near_end), found);
	assert_int_equal(near_start, start);
	assert_int_equal(near_end, end);
	assert_same_rule(library->index, near, vaddr);
	cfi_index_free(near);
	tally->same++;
	tally->found += found;
}

static void check_library(const struct library *library, struct tally *tally)
{
	size_t count = cfi_index_count(library->index), stride = count / PER_FILE + 1;

	for (size_t i = 0; i < count; i += stride) {
		uint64_t start, end;

		cfi_index_range(library->index, i, &start, &end);
		const uint64_t at[] = {start - 1, start, start + (end - start) / 2, end - 1, end};

		for (size_t k = 0; k < COUNT(at); k++)
			check_at(library, at[k], tally);
	}
}

static void test_real_libraries(void **state)
{
	static struct library libraries[MAX_PATHS];
	struct tally tally = {0};

	(void)state;
	dl_iterate_phdr(collect, libraries);
	for (size_t i = 0; i < MAX_PATHS && libraries[i].path[0]; i++) {
		open_library(&libraries[i]);
		check_library(&libraries[i], &tally);
		close_library(&libraries[i]);
	}
	assert_true(tally.found > 2000);
	assert_true(tally.untold * 20 < tally.same);
}

/* --- damage -------------------------------------------------------------------------------- */

static const Elf64_Phdr *table_of(const uint8_t *bytes)
{
	const Elf64_Ehdr *ehdr = (const Elf64_Ehdr *)bytes;
	const Elf64_Phdr *phdr = (const Elf64_Phdr *)(bytes + ehdr->e_phoff);

	for (unsigned i = 0; i < ehdr->e_phnum; i++)
		if (phdr[i].p_type == PT_GNU_EH_FRAME)
			return &phdr[i];
	return NULL;
}

/* Requests an index for every byte, and uses those that are returned. */
static void use_damaged(const uint8_t *bytes, size_t size, uint64_t around)
{
	struct elf_file *file;

	if (elf_file_open_memory(bytes, size, &file))
		return;
	for (int i = 0; i < 50; i++) {
		uint64_t vaddr = around + damage_random() % 65536 - 32768;
		struct cfi_index *near = NULL;
		struct walk_rule rule;

		if (cfi_index_new_at(file, vaddr, &near))
			continue;
		assert_int_equal(walk_rule_compile(near, vaddr, &rule), 0);
		walk_rule_free(&rule);
		cfi_index_free(near);
	}
	elf_file_free(file);
}

static void test_damaged_table(void **state)
{
	static struct library libraries[MAX_PATHS];
	uint8_t *bytes, *damaged;
	const Elf64_Phdr *table;
	size_t size;

	(void)state;
	dl_iterate_phdr(collect, libraries);
	bytes = damage_load(libraries[0].path, &size);
	table = table_of(bytes);
	assert_non_null(table);
	assert_true(table->p_filesz > TABLE_HEAD);
	damaged = malloc(size);
	assert_non_null(damaged);
	for (int round = 0; round < 60; round++) {
		size_t len = round % 2 ? TABLE_HEAD : table->p_filesz;

		memcpy(damaged, bytes, size);
		for (int i = 0; i < 1 + round; i++)
			damaged[table->p_offset + damage_random() % len] = (uint8_t)damage_random();
		use_damaged(damaged, round % 5 ? size : table->p_offset + len / 2, table->p_vaddr);
		use_damaged(damaged, size, ((const Elf64_Ehdr *)bytes)->e_entry + 4096);
	}
	free(damaged);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_real_libraries),
		cmocka_unit_test(test_damaged_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
