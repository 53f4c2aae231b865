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
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/recorder/process_memory.h"

#define PAGE 4096

static struct process_memory *open_own(void)
{
	struct process_memory *m = NULL;
	int err = process_memory_new("/proc", getpid(), &m);

	if (err == -EACCES || err == -EPERM)
		skip();
	assert_int_equal(err, 0);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_in_memory),
		cmocka_unit_test(limit_of_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
