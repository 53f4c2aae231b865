/* SPDX-License-Identifier: MIT */
/* Text of a library of this process that is copied to memory without a file, changed, and mapped
 * anew. The library is of no use but for its code. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/recorder/copied_text.h"

#define LIBRARY "libzstd.so.1"
#define SECOND	UINT64_C(1000000000)

static struct object_table *objects;
static struct process_table *processes;
static struct locator *locator;
static struct copied_text *copied;
static uint8_t *text; /* of the library, as pages; */
static size_t size;
static const char *name; /* its path */
static uint64_t now = SECOND;

static int find_text(struct dl_phdr_info *info, size_t info_size, void *arg)
{
	(void)info_size;
	(void)arg;
	for (int i = 0; strstr(info->dlpi_name, LIBRARY) && i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		text = (uint8_t *)((info->dlpi_addr + p->p_vaddr) & ~UINT64_C(4095));
		size = (p->p_filesz + 4095) & ~UINT64_C(4095);
		name = info->dlpi_name;
	}
	return 0;
}

/* Copies all of the text to memory without a file, with these rights. */
static void copy(int rights)
{
	uint8_t *bytes = malloc(size);

	assert_non_null(bytes);
	assert_int_equal(mprotect(text, size, PROT_READ | PROT_EXEC), 0);
	memcpy(bytes, text, size);
	assert_ptr_equal(mmap(text, size, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 text);
	memcpy(text, bytes, size);
	free(bytes);
	assert_int_equal(mprotect(text, size, rights), 0);
}

static void change(size_t at)
{
	assert_int_equal(mprotect(text, size, PROT_READ | PROT_WRITE), 0);
	text[at] ^= 1;
	assert_int_equal(mprotect(text, size, PROT_READ | PROT_EXEC), 0);
}

static void load(void)
{
	assert_int_equal(process_table_load(processes, getpid()), 0);
}

static int look(void)
{
	now += 10 * SECOND;
	return copied_text_look(copied, getpid(), now, false);
}

static bool is_text(size_t at)
{
	const struct mapping *m = locator_mapping(locator, getpid(), (uint64_t)(text + at));
	const struct object *object;
	uint64_t offset, vaddr;
	Dl_info info;

	assert_non_null(m);
	assert_true(m->is_copy == (m->object->kind == OBJECT_ELF));
	if (!m->is_copy)
		return false;
	assert_true(locator_find(locator, getpid(), (uint64_t)(text + at), &object, &offset));
	assert_true(elf_file_offset_to_vaddr(object->elf, offset, &vaddr));
	assert_true(dladdr(text + at, &info));
	assert_int_equal(vaddr, (uint64_t)(text + at) - (uint64_t)info.dli_fbase);
	assert_non_null(strstr(object->path, LIBRARY));
	return true;
}

static void test_is_found(void **state)
{
	(void)state;
	copy(PROT_READ | PROT_EXEC);
	load();
	assert_false(is_text(0x3000));
	assert_int_equal(look(), 1);
	assert_true(is_text(0x3000));
	assert_true(is_text(size / 2));
	assert_int_equal(look(), 0);
	assert_true(is_text(0x3000));
}

/* A single bit: the rest is the file's. */
static void test_changed(void **state)
{
	(void)state;
	copy(PROT_READ | PROT_EXEC);
	change(0x3000);
	load();
	assert_int_equal(look(), 1);
	assert_false(is_text(0x3000));
	assert_false(is_text(0x3001));
	assert_true(is_text(size / 2));
	change(0x3000);
}

/* What can be written may change with nobody knowing. */
static void test_writable(void **state)
{
	(void)state;
	copy(PROT_READ | PROT_WRITE | PROT_EXEC);
	load();
	assert_int_equal(look(), 0);
	assert_false(is_text(0x3000));
}

/* The kernel reports each change of rights: the text is compared again. */
static void test_mapped_anew(void **state)
{
	const struct object_mapping m = {
		.start = (uint64_t)text, .end = (uint64_t)(text + size), .path = "//anon"};

	(void)state;
	copy(PROT_READ | PROT_EXEC);
	load();
	assert_int_equal(look(), 1);
	change(0x3000);
	assert_int_equal(process_table_on_mmap(processes, getpid(), &m), 0);
	assert_false(is_text(size / 2));
	assert_int_equal(look(), 1);
	assert_false(is_text(0x3000));
	assert_true(is_text(size / 2));
	change(0x3000);
}

/* mremap() is not reported: the table still has the file. */
static void test_moved(void **state)
{
	struct mapping file;
	const struct mapping *m;

	(void)state;
	copy(PROT_READ | PROT_EXEC);
	load();
	assert_int_equal(look(), 1);
	file = *locator_mapping(locator, getpid(), (uint64_t)(text + 0x3000));
	file.is_copy = false;
	assert_int_equal(locator_set_mapping(locator, getpid(), &file), 0);
	change(0x3000);
	now += SECOND;
	assert_int_equal(copied_text_look(copied, getpid(), now, true), 1);
	m = locator_mapping(locator, getpid(), (uint64_t)(text + 0x3000));
	assert_int_equal(m->object->kind, OBJECT_JIT);
	assert_true(is_text(size / 2));
	change(0x3000);
}

/* Nothing is found, so the next look is put off. */
static void test_pauses(void **state)
{
	(void)state;
	copy(PROT_READ | PROT_WRITE | PROT_EXEC);
	load();
	assert_int_equal(look(), 0);
	assert_int_equal(mprotect(text, size, PROT_READ | PROT_EXEC), 0);
	assert_int_equal(copied_text_look(copied, getpid(), now + 1000, false), 0);
	assert_int_equal(look(), 1);
}

static int set_up(void **state)
{
	(void)state;
	assert_non_null(dlopen(LIBRARY, RTLD_NOW));
	dl_iterate_phdr(find_text, NULL);
	assert_non_null(text);
	assert_true(size > 0x40000);
	assert_int_equal(object_table_new("/proc", &objects), 0);
	assert_int_equal(process_table_new(objects, "/proc", &processes), 0);
	assert_int_equal(
		locator_new(&(struct locator_options){.objects = objects, .processes = processes},
			    &locator),
		0);
	return copied_text_new(locator, "/proc", &copied);
}

static int tear_down(void **state)
{
	(void)state;
	copied_text_free(copied);
	locator_free(locator);
	process_table_free(processes);
	object_table_free(objects);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_is_found), cmocka_unit_test(test_changed),
		cmocka_unit_test(test_writable), cmocka_unit_test(test_mapped_anew),
		cmocka_unit_test(test_moved),	 cmocka_unit_test(test_pauses),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
