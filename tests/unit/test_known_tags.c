/* SPDX-License-Identifier: MIT */
/* The dictionary of tags: daemon/tags/known_tags.c, with a kernel half that is a list here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <bpf/bpf.h>
#include <string.h>

#include "daemon/tags/known_tags.h"

#define ROOM 5

/* The map of the kernel half. */
static struct stackd_known_tag known[64];
static size_t n_known;

static size_t where(const void *key)
{
	size_t at = 0;

	while (at < n_known && memcmp(&known[at], key, sizeof(known[at])) != 0)
		at++;
	return at;
}

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	(void)value;
	(void)flags;
	assert_int_equal(fd, 7);
	assert_true(n_known < ROOM);
	known[n_known++] = *(const struct stackd_known_tag *)key;
	return 0;
}

int bpf_map_delete_elem(int fd, const void *key)
{
	size_t at = where(key);

	assert_int_equal(fd, 7);
	assert_true(at < n_known);
	known[at] = known[--n_known];
	return 0;
}

static bool kernel_knows(uint32_t program, uint64_t tag)
{
	const struct stackd_known_tag key = {.tag = tag, .program = program};

	return where(&key) < n_known;
}

static void teach(struct known_tags *book, uint32_t program, uint64_t tag, uint32_t caller)
{
	const struct tag_meaning meaning = {.caller = caller};

	assert_int_equal(known_tags_teach(book, program, tag, &meaning), 0);
}

static void learned_tag_is_known(void **state)
{
	struct known_tags *book = NULL;

	(void)state;
	n_known = 0;
	assert_int_equal(known_tags_new(7, ROOM, &book), 0);
	assert_null(known_tags_find(book, 1, 10));
	teach(book, 1, 10, 100);
	teach(book, 2, 10, 200); /* another program's */
	teach(book, 1, 10, 300); /* stays as it is */
	assert_int_equal(known_tags_find(book, 1, 10)->caller, 100);
	assert_int_equal(known_tags_find(book, 2, 10)->caller, 200);
	assert_null(known_tags_find(book, 1, 200));
	assert_true(kernel_knows(1, 10) && kernel_knows(2, 10) && !kernel_knows(1, 200));
	assert_int_equal(known_tags_count(book), 2);
	known_tags_free(book);
}

/* Never more than there is room for, and what is on its way is still understood. */
static void full_book_is_emptied(void **state)
{
	struct known_tags *book = NULL;

	(void)state;
	n_known = 0;
	assert_int_equal(known_tags_new(7, ROOM, &book), 0);
	for (uint32_t tag = 1; tag <= 40; tag++) {
		teach(book, 1, tag, tag);
		assert_true(kernel_knows(1, tag));
		assert_int_equal(known_tags_find(book, 1, tag)->caller, tag);
		for (uint32_t old = tag > ROOM ? tag - ROOM : 1; old < tag; old++)
			assert_int_equal(known_tags_find(book, 1, old)->caller, old);
		assert_true(n_known <= ROOM);
	}
	for (size_t i = 0; i < n_known; i++)
		assert_non_null(known_tags_find(book, known[i].program, known[i].tag));
	assert_int_equal(known_tags_count(book), 40);
	assert_in_range(known_tags_forgotten(book), 40 - 2 * ROOM, 40 - ROOM - 1);
	teach(book, 1, 1, 77); /* forgotten, learned again */
	assert_int_equal(known_tags_find(book, 1, 1)->caller, 77);
	known_tags_free(book);
}

static void book_works_without_kernel_half(void **state)
{
	struct known_tags *book = NULL;

	(void)state;
	n_known = 0;
	assert_int_equal(known_tags_new(-1, 1000, &book), 0);
	for (uint32_t tag = 1; tag < 900; tag++)
		teach(book, 3, tag, tag);
	assert_int_equal(known_tags_find(book, 3, 555)->caller, 555);
	assert_int_equal(n_known, 0);
	known_tags_free(book);
	known_tags_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(learned_tag_is_known),
		cmocka_unit_test(full_book_is_emptied),
		cmocka_unit_test(book_works_without_kernel_half),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
