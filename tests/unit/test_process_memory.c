/* SPDX-License-Identifier: MIT */
/* Memory of this process, read as another's: pages that are there, pages that are not, and how much
 * may be read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/recorder/process_memory.h"

#define PAGE 4096

static struct process_reads reads;

static struct process_memory *open_own(void)
{
	struct process_memory *m = NULL;
	int err = process_memory_new("/proc", getpid(), &reads, &m);

	if (err == -EACCES || err == -EPERM)
		skip();
	assert_int_equal(err, 0);
	process_memory_begin(m, 1, 0);
	return m;
}

/* Begins with no reads counted, and no pages kept. */
static int begin_reads(void **state)
{
	(void)state;
	process_reads_fini(&reads);
	reads = (struct process_reads){0};
	return 0;
}

static int end_reads(void **state)
{
	(void)state;
	process_reads_fini(&reads);
	return 0;
}

/* Reads one word until no more can be read, from memory each time. Returns how often it could. */
static unsigned count_reads(struct process_memory *m)
{
	uint64_t *word = aligned_alloc(sizeof(*word), sizeof(*word)), read = 0;
	unsigned count = 0;

	*word = 5;
	while (process_memory_read(m, (uintptr_t)word, &read, sizeof(read))) {
		assert_int_equal(read, 5);
		count++;
		process_memory_renew(m);
	}
	free(word);
	return count;
}

static uint8_t *map(size_t pages)
{
	uint8_t *at = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	return at;
}

static void pages_in_memory(void **state)
{
	struct process_memory *m = open_own();
	uint8_t *at = map(4), read[16];

	(void)state;
	memset(at, 7, PAGE + 8); /* two pages are there, the others are not */
	assert_true(process_memory_read(m, (uintptr_t)at + PAGE - 8, read, 16));
	assert_int_equal(read[15], 7);
	assert_false(process_memory_read(m, (uintptr_t)at + 2 * PAGE, read, 16));
	assert_false(process_memory_read(m, (uintptr_t)at + 2 * PAGE - 8, read, 16));
	munmap(at, (size_t)4 * PAGE);
	process_memory_begin(m, 2, 1);
	assert_false(process_memory_read(m, (uintptr_t)at, read, 16));
	assert_false(process_memory_read(m, 0, read, 16));
	assert_false(process_memory_read(m, UINT64_MAX - 7, read, 16));
	assert_false(process_memory_read(m, UINT64_C(1) << 47, read, 16));
	assert_false(process_memory_read(m, (uintptr_t)read, read, PAGE + 1));
	assert_true(process_memory_read(m, 0, read, 0));
	process_memory_free(m);
}

static void kinds_of_mappings(void **state)
{
	struct process_memory *m = open_own();
	int fd = memfd_create("test", MFD_CLOEXEC);
	int device = open("/dev/zero", O_RDWR | O_CLOEXEC);
	uint8_t read[16], *at, *shared, *copied;

	(void)state;
	assert_true(device >= 0 && fd >= 0 && ftruncate(fd, PAGE) == 0);
	at = map(1);
	shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	copied = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, device, 0);
	assert_true(shared != MAP_FAILED && copied != MAP_FAILED);
	at[0] = shared[0] = copied[0] = 1; /* all are in memory */
	assert_true(process_memory_read(m, (uintptr_t)at, read, 16));
	assert_true(process_memory_read(m, (uintptr_t)shared, read, 16)); /* a file in memory */
	assert_int_equal(read[0], 1);
	assert_int_equal(process_memory_failed(m), 0);
	assert_false(process_memory_read(m, (uintptr_t)copied, read, 16)); /* a device */
	assert_int_equal(process_memory_failed(m), 1);
	process_memory_begin(m, 2, 1);
	/* A file takes the place of memory, and the list of mappings is not read anew. */
	assert_true(mmap(at, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0) == at);
	assert_int_equal(*(volatile uint8_t *)at, 0);
	assert_false(process_memory_read(m, (uintptr_t)at, read, 16));
	munmap(at, PAGE);
	munmap(shared, PAGE);
	munmap(copied, PAGE);
	close(fd);
	close(device);
	process_memory_free(m);
}

static bool is_present(const uint8_t *at)
{
	uint64_t entry = 0;
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	assert_int_equal(
		pread(fd, &entry, sizeof(entry), (off_t)((uintptr_t)at / PAGE * sizeof(entry))),
		sizeof(entry));
	close(fd);
	return entry >> 63;
}

/* Makes a file in memory of some pages with the same byte in each, and 16 bytes more. */
static int make_file(uint8_t byte, size_t pages)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	for (size_t i = 0; i < pages * PAGE + 16; i += 16) {
		uint8_t bytes[16];

		memset(bytes, byte, sizeof(bytes));
		assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	}
	return fd;
}

#define MS UINT64_C(1000000)

/* Maps memory, or a file's in its place, behind the reading of the list of mappings. Returns
 * whether it can be read before the list would be read anew without a reason. */
static bool is_read_early(struct process_memory *m, uint64_t now_ns, int fd)
{
	uint8_t *at = fd < 0 ? NULL : map(1), read = 0;
	bool is_read;

	process_memory_begin(m, now_ns, now_ns - 1);
	process_memory_read(m, 0, &read, 1); /* nothing is there: so the list is read */
	at = mmap(at, PAGE, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | (fd < 0 ? MAP_ANONYMOUS : MAP_FIXED), fd, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	if (fd < 0)
		at[0] = 9;
	assert_int_equal(*(volatile uint8_t *)at, 9);
	process_memory_begin(m, now_ns + 199 * MS, now_ns + 199 * MS - 1);
	is_read = process_memory_read(m, (uintptr_t)at, &read, 1);
	assert_int_equal(read, is_read ? 9 : 0);
	munmap(at, PAGE);
	return is_read;
}

/* What a process maps is read at once, unless reading the list takes long: then it is tried again.
 */
static void mappings_that_are_new(void **state)
{
	int fds[] = {-1, make_file(9, 1)};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct process_memory *m = open_own();
		uint64_t now_ns = 1000 * MS;

		while (!is_read_early(m, now_ns, fds[i]) && now_ns < 100000 * MS)
			now_ns += 1000 * MS;
		assert_true(now_ns < 100000 * MS);
		process_memory_free(m);
	}
	close(fds[1]);
}

/* A page of a file is read from the file, and never through the process, where another file can be
 * in its place. */
static void pages_of_files(void **state)
{
	struct process_memory *m = open_own();
	int fd = make_file(3, 2), other = make_file(4, 2);
	uint8_t read[16], *at;

	(void)state;
	at = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	assert_true(at != MAP_FAILED);
	madvise(at, 3 * PAGE, MADV_RANDOM);
	at[PAGE] = 9;
	assert_false(is_present(at));
	assert_true(process_memory_read(m, (uintptr_t)at, read, 16));
	assert_int_equal(read[15], 3);
	assert_true(process_memory_read(m, (uintptr_t)at + PAGE, read, 16)); /* was written to */
	assert_int_equal(read[0] * 10 + read[1], 93);
	assert_true(process_memory_read(m, (uintptr_t)at + 2 * PAGE, read, 16));
	assert_int_equal(read[15], 3);
	assert_true(process_memory_read(m, (uintptr_t)at + 2 * PAGE + 16, read, 16));
	assert_int_equal(read[0], 0); /* behind the end */
	assert_false(is_present(at));
	assert_false(is_present(at + 2 * PAGE));
	process_memory_begin(m, 2, 1);
	/* The list of mappings is not read anew. */
	assert_true(mmap(at, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, other, 0) ==
		    at);
	madvise(at, 3 * PAGE, MADV_RANDOM);
	at[PAGE] = 8;
	assert_true(process_memory_read(m, (uintptr_t)at, read, 16));
	assert_int_equal(read[0], 3);
	assert_false(is_present(at));
	assert_true(process_memory_read(m, (uintptr_t)at + PAGE, read, 16));
	assert_int_equal(read[0] * 10 + read[1], 84);
	process_memory_begin(m, UINT64_C(10000000000), UINT64_C(9000000000)); /* it is */
	assert_true(process_memory_read(m, (uintptr_t)at, read, 16));
	assert_int_equal(read[0], 4);
	munmap(at, (size_t)3 * PAGE);
	close(fd);
	close(other);
	process_memory_free(m);
}

/* More files than are open at a time. */
static void many_files(void **state)
{
	enum { FILES = 40 };
	struct process_memory *m = open_own();
	uint8_t *at[FILES], read[16];

	(void)state;
	for (size_t i = 0; i < FILES; i++) {
		int fd = make_file((uint8_t)i, 1);

		at[i] = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
		assert_true(at[i] != MAP_FAILED);
		close(fd);
	}
	for (uint64_t round = 0; round < 2; round++) {
		for (size_t i = 0; i < FILES; i++) {
			assert_true(process_memory_read(m, (uintptr_t)at[i], read, 16));
			assert_int_equal(read[7], i);
		}
		process_memory_begin(m, 3 + round, 2 + round);
	}
	for (size_t i = 0; i < FILES; i++)
		munmap(at[i], PAGE);
	process_memory_free(m);
}

/* What was read serves samples of before, and not those of later. */
static void kept_pages(void **state)
{
	struct process_memory *m = open_own(), *other = open_own();
	uint8_t *at = map(2), read[16];
	uint64_t renewed;

	(void)state;
	memset(at, 7, 2 * PAGE);
	assert_int_equal(process_memory_begin(m, 100, 50), 100);
	assert_true(process_memory_read(m, (uintptr_t)at + PAGE - 8, read, 16));
	memset(at, 8, 2 * PAGE);
	assert_true(process_memory_read(other, (uintptr_t)at, read, 16));
	assert_int_equal(read[0], 8);
	assert_int_equal(process_memory_begin(m, 120, 99), 100);
	assert_true(process_memory_read(m, (uintptr_t)at + PAGE - 8, read, 16));
	assert_int_equal(read[0] + read[15], 14);
	renewed = process_memory_renew(m);
	assert_true(process_memory_read(m, (uintptr_t)at, read, 16));
	assert_int_equal(read[0], 8);
	process_memory_settle(m, renewed);
	assert_true(process_memory_read(m, (uintptr_t)at + PAGE - 8, read, 16));
	assert_int_equal(read[0] + read[15], 8 + 7); /* the second page was not needed anew */
	assert_int_equal(process_memory_begin(m, 130, 100), 130);
	assert_true(process_memory_read(m, (uintptr_t)at + PAGE, read, 16));
	assert_int_equal(read[0], 8);
	munmap(at, (size_t)2 * PAGE);
	process_memory_free(m);
	process_memory_free(other);
}

static void limit_of_reads(void **state)
{
	struct process_memory *m = open_own();

	(void)state;
	assert_int_equal(count_reads(m), PROCESS_MEMORY_BURST);
	assert_true(process_memory_is_spent(m));
	process_memory_begin(m, 1 + UINT64_C(1000000000) / PROCESS_MEMORY_RATE * 3, 0);
	assert_int_equal(count_reads(m), 3);
	process_memory_begin(m, UINT64_C(100000000000), 0);
	assert_false(process_memory_is_spent(m));
	process_memory_free(m);
	process_memory_free(NULL);
}

/* Several processes: what they read counts together. */
static void limit_of_all_reads(void **state)
{
	struct process_memory *some[4];
	unsigned count = 0;

	(void)state;
	for (size_t i = 0; i < 4; i++)
		some[i] = open_own();
	for (size_t i = 0; i < 4; i++) {
		count += count_reads(some[i]);
		assert_true(process_memory_is_spent(some[i]));
	}
	assert_int_equal(count, PROCESS_READS_BURST);
	process_memory_begin(some[3], 1 + UINT64_C(1000000000) / PROCESS_READS_RATE * 3, 0);
	assert_int_equal(count_reads(some[3]), 3);
	for (size_t i = 0; i < 4; i++)
		process_memory_free(some[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(pages_in_memory, begin_reads, end_reads),
		cmocka_unit_test_setup_teardown(kinds_of_mappings, begin_reads, end_reads),
		cmocka_unit_test_setup_teardown(mappings_that_are_new, begin_reads, end_reads),
		cmocka_unit_test_setup_teardown(pages_of_files, begin_reads, end_reads),
		cmocka_unit_test_setup_teardown(many_files, begin_reads, end_reads),
		cmocka_unit_test_setup_teardown(kept_pages, begin_reads, end_reads),
		cmocka_unit_test_setup_teardown(limit_of_reads, begin_reads, end_reads),
		cmocka_unit_test_setup_teardown(limit_of_all_reads, begin_reads, end_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
