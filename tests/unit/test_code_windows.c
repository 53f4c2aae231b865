/* SPDX-License-Identifier: MIT */
/* Bytes of code are kept by process, address and content, and given for that alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "daemon/recorder/code_windows.h"

#define PID	77
#define ADDRESS UINT64_C(0x7f0000010123)

static struct code_windows *windows;

static int set_up(void **state)
{
	(void)state;
	return code_windows_new(&windows);
}

static int tear_down(void **state)
{
	(void)state;
	code_windows_free(windows);
	return 0;
}

/* A record whose words are all `word`. */
static struct stackd_code_bytes bytes_of(uint32_t pid, uint64_t address, uint64_t word)
{
	struct stackd_code_bytes record = {.pid = pid, .mark.address = address};

	for (size_t i = 0; i < STACKD_CODE_BYTES / 8; i++)
		record.words[i] = word;
	for (size_t i = 0; i < STACKD_CODE_BLOCKS; i++)
		record.mark.hashes[i] = stackd_code_hash(&record.words[i * 8]);
	return record;
}

/* Whether these bytes are given for a record's mark. */
static bool has(const struct stackd_code_bytes *record)
{
	uint64_t words[STACKD_CODE_BYTES / 8];

	return code_windows_find(windows, (pid_t)record->pid, &record->mark, (uint8_t *)words) &&
	       !memcmp(words, record->words, sizeof(words));
}

static void versions_of_an_address(void **state)
{
	struct stackd_code_bytes first = bytes_of(PID, ADDRESS, 1), second = first, other;

	(void)state;
	assert_false(has(&first));
	code_windows_keep(windows, &first);
	assert_true(has(&first));
	second = bytes_of(PID, ADDRESS + 1, 2); /* of the same block */
	assert_false(has(&second));
	code_windows_keep(windows, &second);
	code_windows_keep(windows, &second);
	assert_true(has(&first));
	assert_true(has(&second));
	other = bytes_of(PID + 1, ADDRESS, 1);
	assert_false(has(&other));
	other = bytes_of(PID, ADDRESS + STACKD_CODE_BLOCK, 1);
	assert_false(has(&other));
	other = first;
	other.mark.hashes[3] = 0;
	assert_false(has(&other));
}

/* There is room for so many, and those that are used stay. */
static void the_unused_go(void **state)
{
	struct stackd_code_bytes first = bytes_of(PID, ADDRESS, 1), record;
	size_t kept = 0;

	(void)state;
	code_windows_keep(windows, &first);
	for (uint64_t i = 0; i < 3 * CODE_WINDOWS_MOST; i++) {
		record = bytes_of(PID, i * STACKD_CODE_BLOCK, i);
		code_windows_keep(windows, &record);
		assert_true(has(&first));
	}
	for (uint64_t i = 0; i < 3 * CODE_WINDOWS_MOST; i++) {
		record = bytes_of(PID, i * STACKD_CODE_BLOCK, i);
		kept += has(&record);
	}
	assert_in_range(kept, CODE_WINDOWS_MOST * 9 / 10, CODE_WINDOWS_MOST - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(versions_of_an_address, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_unused_go, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
