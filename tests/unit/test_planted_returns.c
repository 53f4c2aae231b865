/* SPDX-License-Identifier: MIT */
/* Return addresses of which the file's bytes cannot be read: truncated, it has none any more, as a
 * file on a file system that would have to be waited for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/recorder/planted_returns.h"
#include "proc/resident_memory.h"

#define PATH "/tmp/test_planted_returns_XXXXXX"
#define PAGE 4096
static const struct memory_source here = {.proc = "/proc"};

#define PAGES  3
#define PUT    256 /* in the pages of code: ret is before, */
#define CALLED 512 /* call *%rax is */
#define PROBED 768 /* a breakpoint is in the place of a call */

static struct object_table *objects;
static struct process_table *processes;
static struct location_table *locations;
static struct locator *locator;
static struct planted_returns put;
static char path[sizeof(PATH)];
static int fd;
static uint8_t *code;  /* pages of the file; made anew, of memory */
static uint64_t first; /* their file offset */

static void write_code(uint8_t *page)
{
	memset(page, 0x90, PAGE);
	page[PUT - 1] = 0xc3;
	memcpy(page + CALLED - 2, "\xff\xd0", 2);
	memcpy(page + PROBED - 5, "\xcc\0\0\0\0", 5);
}

/* Copies a program that this process does not map, with other code where it begins. */
static void copy_program(void)
{
	int from = open("/bin/sh", O_RDONLY | O_CLOEXEC);
	static uint8_t bytes[PAGE];
	struct elf_file *elf;

	memcpy(path, PATH, sizeof(path));
	fd = mkstemp(path);
	assert_true(fd >= 0 && from >= 0);
	for (ssize_t n; (n = read(from, bytes, sizeof(bytes))) > 0;)
		assert_int_equal(write(fd, bytes, (size_t)n), n);
	assert_int_equal(elf_file_open(from, &elf), 0);
	assert_true(elf_file_vaddr_to_offset(elf, elf_file_entry_vaddr(elf), &first));
	elf_file_free(elf);
	close(from);
	first &= ~(uint64_t)(PAGE - 1);
	write_code(bytes);
	for (size_t i = 0; i < PAGES; i++)
		assert_int_equal(pwrite(fd, bytes, PAGE, (off_t)(first + i * PAGE)), PAGE);
}

static int set_up(void **state)
{
	(void)state;
	copy_program();
	code = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, (off_t)first);
	assert_ptr_not_equal(code, MAP_FAILED);
	assert_int_equal(object_table_new("/proc", &objects), 0);
	assert_int_equal(process_table_new(objects, "/proc", &processes), 0);
	assert_int_equal(location_table_new(&locations), 0);
	assert_int_equal(locator_new(&(struct locator_options){.objects = objects,
							       .processes = processes,
							       .locations = locations},
				     &locator),
			 0);
	assert_int_equal(process_table_load(processes, getpid()), 0);
	put = (struct planted_returns){
		.locator = locator, .objects = objects, .locations = locations};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	planted_returns_fini(&put);
	locator_free(locator);
	location_table_free(locations);
	process_table_free(processes);
	object_table_free(objects);
	munmap(code, PAGES * PAGE);
	close(fd);
	return unlink(path);
}

/* Notes the return address at `at` in the pages. Returns its location. */
static uint32_t note(size_t at)
{
	const struct object *object;
	uint32_t number, known = location_count(locations);
	uint64_t offset;

	assert_true(locator_find(locator, getpid(), (uint64_t)(uintptr_t)code + at - 1, &object,
				 &offset));
	assert_int_equal(object->kind, OBJECT_ELF);
	assert_int_equal(location_intern(locations,
					 &(struct location){.file_id = object->file_id,
							    .offset = offset,
							    .object = object->number,
							    .is_return = true},
					 &number),
			 0);
	planted_returns_note(&put, getpid(), known);
	return number;
}

static int put_of(uint32_t number)
{
	return location_at(locations, number)->put;
}

static void by_the_file(void **state)
{
	(void)state;
	assert_int_equal(put_of(note(PUT)), LOCATION_PUT);
	assert_int_equal(put_of(note(CALLED)), LOCATION_CALLED);
	assert_int_equal(planted_returns_unchecked(&put), 0);
}

/* Takes the file's bytes away. The pages become memory that has nothing yet. */
static void lose_file(void)
{
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_ptr_equal(mmap(code, PAGES * PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 code);
	/* Or one large page would bring all of them. */
	madvise(code, PAGES * PAGE, MADV_NOHUGEPAGE);
}

static void by_memory(void **state)
{
	uint32_t later;

	(void)state;
	lose_file();
	write_code(code);
	assert_int_equal(put_of(note(PUT)), LOCATION_PUT);
	assert_int_equal(put_of(note(CALLED)), LOCATION_CALLED);
	assert_int_equal(planted_returns_unchecked(&put), 0);
	later = note(PAGE + PUT);
	assert_int_equal(put_of(later), LOCATION_CALLED);
	assert_int_equal(planted_returns_unchecked(&put), 1);
	assert_false(planted_returns_look_again(&put));
	write_code(code + PAGE);
	assert_true(planted_returns_look_again(&put));
	assert_int_equal(put_of(later), LOCATION_PUT);
	assert_int_equal(planted_returns_unchecked(&put), 0);
}

/* What cannot be looked at is given up at some time, and counted once. */
static void by_nothing(void **state)
{
	uint32_t number;

	(void)state;
	lose_file();
	write_code(code);
	assert_int_equal(put_of(note(PROBED)), LOCATION_CALLED);
	assert_int_equal(planted_returns_unchecked(&put), 1);
	number = note(2 * PAGE + PUT);
	for (int i = 0; i < 2 * PLANTED_RETURNS_LOOKS; i++) {
		assert_false(planted_returns_look_again(&put));
		assert_int_equal(planted_returns_unchecked(&put), 2);
	}
	assert_int_equal(put.later.count, 0);
	write_code(code + 2 * PAGE);
	assert_false(planted_returns_look_again(&put));
	assert_int_equal(put_of(number), LOCATION_CALLED);
	planted_returns_begin_anew(&put);
	assert_int_equal(planted_returns_unchecked(&put), 2);
}

/* A page that is not in memory is not brought there. */
static void resident_alone(void **state)
{
	uint8_t *pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t at = (uint64_t)(uintptr_t)pages;
	uint8_t bytes[16];

	(void)state;
	assert_ptr_not_equal(pages, MAP_FAILED);
	madvise(pages, PAGES * PAGE, MADV_NOHUGEPAGE);
	assert_false(resident_memory_read(&here, getpid(), at, bytes, 16));
	memset(pages, 7, PAGE);
	assert_true(resident_memory_read(&here, getpid(), at + PAGE - 16, bytes, 16));
	assert_int_equal(bytes[15], 7);
	assert_false(resident_memory_read(&here, getpid(), at + PAGE - 8, bytes, 16));
	pages[PAGE] = 8;
	assert_true(resident_memory_read(&here, getpid(), at + PAGE - 8, bytes, 16));
	assert_int_equal(bytes[8], 8);
	assert_false(resident_memory_read(&here, getpid(), at, bytes, 0));
	assert_false(resident_memory_read(&here, -1, at, bytes, 16));
	munmap(pages, PAGES * PAGE);
}

/* A page of a file that is in memory is not the process's own until it writes to it. */
static void own_alone(void **state)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	uint8_t *pages, bytes[16];
	uint64_t at;

	(void)state;
	assert_true(fd >= 0 && ftruncate(fd, 2 * PAGE) == 0);
	pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(pages, MAP_FAILED);
	at = (uint64_t)(uintptr_t)pages;
	assert_int_equal(*(volatile uint8_t *)(pages + PAGE), 0);
	pages[0] = 7;
	assert_true(resident_memory_read(&here, getpid(), at + PAGE - 8, bytes, 16));
	assert_int_equal(resident_memory_read_own_some(&here, getpid(), at, bytes, 16), 16);
	assert_int_equal(bytes[0], 7);
	assert_int_equal(resident_memory_read_own_some(&here, getpid(), at + PAGE - 8, bytes, 16),
			 8);
	assert_int_equal(resident_memory_read_own_some(&here, getpid(), at + PAGE, bytes, 16), 0);
	munmap(pages, 2 * PAGE);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(by_the_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(by_memory, set_up, tear_down),
		cmocka_unit_test_setup_teardown(by_nothing, set_up, tear_down),
		cmocka_unit_test(resident_alone),
		cmocka_unit_test(own_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
