/* SPDX-License-Identifier: MIT */
/* Arrays grow, keep their elements, zero the new ones if asked, and refuse sizes that overflow. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/vec.h"

static void test_grows(void **state)
{
	VEC(uint32_t) v = {0};
	size_t moves = 0;

	(void)state;
	for (uint32_t i = 0; i < 100000; i++) {
		size_t cap = v.cap;

		assert_int_equal(VEC_RESERVE(&v, 1), 0);
		moves += v.cap != cap;
		v.items[v.count++] = i;
	}
	assert_true(moves < 30);
	for (uint32_t i = 0; i < v.count; i++)
		assert_int_equal(v.items[i], i);
	free(v.items);
}

static void test_new_elements_are_zero(void **state)
{
	uint64_t *items = NULL;
	size_t cap = 0, before;

	(void)state;
	assert_int_equal(VEC_GROW_ZEROED(items, cap, 5), 0);
	assert_true(cap >= 5);
	for (size_t i = 0; i < cap; i++) {
		assert_int_equal(items[i], 0);
		items[i] = ~i;
	}
	before = cap;
	assert_int_equal(VEC_GROW_ZEROED(items, cap, 1), 0);
	assert_int_equal(cap, before);
	assert_int_equal(VEC_GROW_ZEROED(items, cap, 3 * before), 0);
	for (size_t i = 0; i < cap; i++)
		assert_true(items[i] == (i < before ? ~i : 0));
	free(items);
}

/* A sanitizer's allocator ends the program at a size that overflows unless it is asked not to. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static void test_overflow(void **state)
{
	volatile size_t too_many = SIZE_MAX / 4; /* The compiler would warn about a constant. */
	uint64_t *items = NULL;
	size_t cap = 0;

	(void)state;
	assert_int_equal(VEC_GROW(items, cap, too_many), -ENOMEM);
	assert_null(items);
	assert_int_equal(cap, 0);
	assert_null(vec_alloc(too_many, sizeof(*items)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grows),
		cmocka_unit_test(test_new_elements_are_zero),
		cmocka_unit_test(test_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
