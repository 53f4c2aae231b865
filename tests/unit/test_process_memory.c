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
	reads = (struct process_reads){0};
	process_memory_begin(m, 1);
	return m;
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
	process_memory_begin(m, 2);
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
	assert_false(process_memory_read(m, (uintptr_t)shared, read, 16));
	assert_int_equal(process_memory_failed(m), 1);
	assert_false(process_memory_read(m, (uintptr_t)copied, read, 16)); /* a device */
	assert_int_equal(process_memory_failed(m), 2);
	process_memory_begin(m, 2);
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

static void limit_of_reads(void **state)
{
	struct process_memory *m = open_own();
	uint64_t word = 5, read = 0;
	unsigned count = 0;

	(void)state;
	while (process_memory_read(m, (uintptr_t)&word, &read, sizeof(read)))
		count++;
	assert_int_equal(count, PROCESS_MEMORY_BURST);
	assert_true(process_memory_is_spent(m));
	process_memory_begin(m, 1 + UINT64_C(1000000000) / PROCESS_MEMORY_RATE * 3);
	for (count = 0; process_memory_read(m, (uintptr_t)&word, &read, sizeof(read));)
		count++;
	assert_int_equal(count, 3);
	process_memory_begin(m, UINT64_C(100000000000));
	assert_false(process_memory_is_spent(m));
	process_memory_free(m);
	process_memory_free(NULL);
}

/* Several processes: what they read counts together. */
static void limit_of_all_reads(void **state)
{
	struct process_memory *some[4];
	uint64_t word = 5, read = 0;
	unsigned count = 0;

	(void)state;
	for (size_t i = 0; i < 4; i++)
		some[i] = open_own();
	for (size_t i = 0; i < 4; i++) {
		while (process_memory_read(some[i], (uintptr_t)&word, &read, sizeof(read)))
			count++;
		assert_true(process_memory_is_spent(some[i]));
	}
	assert_int_equal(count, PROCESS_READS_BURST);
	process_memory_begin(some[3], 1 + UINT64_C(1000000000) / PROCESS_READS_RATE * 3);
	for (count = 0; process_memory_read(some[3], (uintptr_t)&word, &read, sizeof(read));)
		count++;
	assert_int_equal(count, 3);
	for (size_t i = 0; i < 4; i++)
		process_memory_free(some[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_in_memory),
		cmocka_unit_test(kinds_of_mappings),
		cmocka_unit_test(limit_of_reads),
		cmocka_unit_test(limit_of_all_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
