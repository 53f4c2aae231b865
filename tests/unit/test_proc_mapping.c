/* SPDX-License-Identifier: MIT */
/* Mapping sets against a model that knows every page by itself. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "proc/mapping_set.h"

#define PAGES 64

struct page {
	const struct object *object; /* NULL: nothing is mapped */
	uint64_t offset;
};

static struct object objects[3];

static void check_order(const struct mapping_set *set)
{
	for (uint32_t i = 0; i < set->count; i++) {
		const struct mapping *map = &set->maps[i];
		assert_true(map->start < map->end);
		if (!i)
			continue;
		const struct mapping *before = map - 1;
		assert_true(before->end <= map->start);
		/* Neighbours that continue each other are one. */
		assert_false(before->end == map->start && before->object == map->object &&
			     before->offset + (before->end - before->start) == map->offset);
	}
}

static void check_model(const struct mapping_set *set, const struct page *model)
{
	uint32_t hint = 0;

	check_order(set);
	for (unsigned i = 0; i < PAGES; i++) {
		uint64_t address = i * 0x1000 + 0x123;
		const struct mapping *map = mapping_set_find(set, address, &hint);
		if (!model[i].object) {
			assert_null(map);
			continue;
		}
		assert_non_null(map);
		assert_ptr_equal(map->object, model[i].object);
		assert_true(map->offset + (address - map->start) == model[i].offset + 0x123);
	}
}

static void test_against_model(void **state)
{
	struct mapping_set *set = mapping_set_new();
	struct page model[PAGES] = {{0}};
	(void)state;

	srand(1);
	for (int round = 0; round < 20000; round++) {
		unsigned start = (unsigned)rand() % PAGES;
		unsigned end = start + (unsigned)rand() % (PAGES - start + 1);
		const struct object *object = &objects[rand() % 3];
		/* A mapping that often continues an existing one. */
		uint64_t offset = (uint64_t)(rand() % 3 ? start : (unsigned)rand() % 9) * 0x1000;
		if (rand() % 4 == 0) {
			assert_int_equal(mapping_set_cut(set, start * 0x1000, end * 0x1000), 0);
			object = NULL;
		} else {
			struct mapping map = {start * 0x1000, end * 0x1000, offset,
					      object,	      false,	    0};
			assert_int_equal(mapping_set_insert(set, &map), 0);
		}
		for (unsigned i = start; i < end; i++)
			model[i] = (struct page){object, offset + (i - start) * 0x1000};
		check_model(set, model);
	}
	mapping_set_unref(set);
}

static void insert(struct mapping_set *set, uint64_t start, uint64_t end, uint64_t offset,
		   const struct object *object)
{
	struct mapping map = {start, end, offset, object, false, 0};

	assert_int_equal(mapping_set_insert(set, &map), 0);
}

static void test_split(void **state)
{
	struct mapping_set *set = mapping_set_new();
	uint32_t hint = 0;
	(void)state;

	insert(set, 0x1000, 0x9000, 0x5000, &objects[0]);
	insert(set, 0x3000, 0x4000, 0, &objects[1]);
	assert_int_equal(set->count, 3);
	assert_true(mapping_set_find(set, 0x4000, &hint)->offset == 0x8000);
	assert_true(mapping_set_find(set, 0x2fff, &hint)->start == 0x1000);
	insert(set, 0, UINT64_MAX, 0, &objects[2]);
	assert_int_equal(set->count, 1);
	assert_non_null(mapping_set_find(set, UINT64_MAX - 1, &hint));
	assert_null(mapping_set_find(set, UINT64_MAX, &hint));
	insert(set, 0x5000, 0x5000, 0, &objects[1]); /* empty */
	insert(set, 0x6000, 0x5000, 0, &objects[1]); /* upside down */
	assert_int_equal(set->count, 1);
	mapping_set_unref(set);
}

static void test_jit_pages_are_one(void **state)
{
	struct mapping_set *set = mapping_set_new();
	(void)state;

	for (uint64_t at = 0; at < 100000; at++)
		insert(set, at << 12, (at + 1) << 12, at << 12, &objects[0]);
	assert_int_equal(set->count, 1);
	insert(set, 0x5000, 0x7000, 0x5000, &objects[0]);
	assert_int_equal(set->count, 1);
	mapping_set_unref(set);
}

static void test_sharing(void **state)
{
	struct mapping_set *parent = mapping_set_new();
	uint32_t hint = 0;
	(void)state;

	insert(parent, 0x1000, 0x2000, 0, &objects[0]);
	struct mapping_set *child = mapping_set_ref(parent);
	assert_int_equal(mapping_set_own(&child), 0);
	assert_ptr_not_equal(child, parent);
	insert(child, 0x1000, 0x2000, 0, &objects[1]);
	assert_ptr_equal(mapping_set_find(parent, 0x1000, &hint)->object, &objects[0]);
	assert_ptr_equal(mapping_set_find(child, 0x1000, &hint)->object, &objects[1]);
	struct mapping_set *same = child;
	assert_int_equal(mapping_set_own(&child), 0);
	assert_ptr_equal(child, same);
	mapping_set_unref(child);
	mapping_set_unref(parent);
	mapping_set_unref(NULL);
	assert_null(mapping_set_find(NULL, 1, &hint));
}

static void test_keep(void **state)
{
	struct mapping_set *set = mapping_set_new(), *kept = mapping_set_new();
	uint32_t hint = 0;
	(void)state;

	for (uint64_t i = 0; i < 10; i++)
		insert(set, i * 0x2000, i * 0x2000 + 0x1000, 0, &objects[0]);
	insert(kept, 0x2800, 0x4800, 0, NULL);
	insert(kept, 0xa000, 0xa001, 0, NULL);
	mapping_set_keep(set, kept);
	assert_int_equal(set->count, 3);
	assert_non_null(mapping_set_find(set, 0x2000, &hint));
	assert_non_null(mapping_set_find(set, 0x4000, &hint));
	assert_non_null(mapping_set_find(set, 0xafff, &hint));
	mapping_set_unref(set);
	mapping_set_unref(kept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_model),
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_jit_pages_are_one),
		cmocka_unit_test(test_sharing),
		cmocka_unit_test(test_keep),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
